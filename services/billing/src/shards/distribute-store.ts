// Distribute store owns the switch from one PostgreSQL to Citus: it distributes the chain's tables by bucket, once. Sums, lists and the
// tables of before the chain stay on the coordinator.
import { inTransaction, OperatorError, type Pool } from "@gr/runtime";

/** Few, because a flush is one statement for each shard. More workers than shards are useless. */
const SHARDS = 8;
const TABLES = ["step", "claim", "kept_answer", "account_state", "budget_state"];

const STATE = `SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') AS "hasCitus"`;
const IS_DISTRIBUTED =
  "SELECT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = 'step'::regclass) AS found";

/**
 * Node 0 is the PostgreSQL of before. An argument that is a column makes Citus call a function on the worker and not on the coordinator.
 * The other arguments are never passed: Citus creates the types of arguments on each worker.
 */
const FUNCTIONS = `
  CREATE FUNCTION ledger_node(bucket integer, step_in DEFAULT NULL, claim_in DEFAULT NULL, kept_answer_in DEFAULT NULL)
    RETURNS integer LANGUAGE sql STABLE AS 'SELECT groupid + 1 FROM pg_catalog.pg_dist_local_group';
  CREATE FUNCTION ledger_transaction(bucket integer)
    RETURNS bigint LANGUAGE sql STABLE AS
    'SELECT ((groupid + 1)::bigint << 48) + pg_current_xact_id()::text::bigint FROM pg_catalog.pg_dist_local_group'`;

/** A process that was started before the distribution writes the coordinator's transactions, which followers would not see in order. */
const GUARD =
  "ALTER TABLE step ADD CONSTRAINT step_is_of_a_node CHECK (tx = 0 OR tx >= 281474976710656) NOT VALID";

/** Distributes the ledger if it is not distributed. @throws OperatorError without Citus in this database */
export async function distributeLedger(pool: Pool): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query("SET LOCAL statement_timeout = 0");
    await client.query("SELECT pg_advisory_xact_lock(hashtext('distribute the ledger'))");
    const { rows } = await client.query<{ hasCitus: boolean }>(STATE);
    if (rows[0]?.hasCitus !== true) {
      throw new OperatorError(
        "LEDGER_DISTRIBUTED is set, but this database has no Citus: create the extension citus and add its workers, or delete the setting.",
      );
    }
    const { rows: found } = await client.query<{ found: boolean }>(IS_DISTRIBUTED);
    if (found[0]?.found === true) return;
    await client.query(FUNCTIONS);
    await client.query(
      `SELECT create_distributed_table('ledger_bucket', 'bucket', shard_count => ${SHARDS}, colocate_with => 'none')`,
    );
    for (const table of TABLES) {
      await client.query(
        `SELECT create_distributed_table('${table}', 'bucket', colocate_with => 'ledger_bucket')`,
      );
    }
    await client.query(GUARD);
  });
}
