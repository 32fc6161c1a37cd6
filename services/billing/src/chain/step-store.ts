// Step store owns the statements on the ledger's rows: the one that writes a batch, and the reads of its writers. Each read
// names the buckets first, as the key does.
import type { Id, Step } from "@gr/ledger";
import { inTransaction, type Pool, type PoolClient } from "@gr/runtime";
import { readByShard, type Shards, shardsOf } from "../shards/shard-store.ts";
import { encodeRows } from "./binary-rows.ts";
import { bucketOf } from "./bucket.ts";
import {
  CLAIM_COLUMNS,
  type ClaimRow,
  claimValues,
  KEPT_ANSWER_COLUMNS,
  type KeptAnswerRow,
  keptAnswerValues,
} from "./claim-store.ts";
import { encodeSteps } from "./encode-steps.ts";
import { STEP_COLUMNS } from "./step-columns.ts";
import { readStep, type StepRow } from "./step-row.ts";

const NAMES = STEP_COLUMNS.map(({ name }) => name);
const listOf = (columns: readonly { readonly name: string }[], prefix = "") =>
  columns.map(({ name }) => `${prefix}${name}`).join(", ");

const INSERT_STEPS = `INSERT INTO step (tx, ${listOf(STEP_COLUMNS)})
  SELECT (SELECT pg_current_xact_id()::text::bigint), ${listOf(STEP_COLUMNS, "s.")} FROM unnest($1::step_in[]) s`;

/**
 * The statements that Citus sends to the worker of their shard. INSERT in WITH is never sent so. ledger_transaction is called on the worker,
 * because its argument is a column.
 */
const ON_SHARD = (table: string, columns: readonly { readonly name: string }[], rows: string) => {
  const names = columns.filter(({ name }) => name !== "bucket");
  const [tx, value] = table === "step" ? ["tx, ", "ledger_transaction(b.bucket), "] : ["", ""];
  return `INSERT INTO ${table} (${tx}bucket, ${listOf(names)}) SELECT ${value}b.bucket, ${listOf(names, "r.")}
    FROM unnest($2::${rows}[]) r JOIN ledger_bucket b ON b.bucket = r.bucket WHERE b.bucket = ANY ($1::int[])`;
};
const SHARD_STEPS = ON_SHARD("step", STEP_COLUMNS, "step_in");
const SHARD_CLAIMS = ON_SHARD("claim", CLAIM_COLUMNS, "claim_in");
const SHARD_ANSWERS = ON_SHARD("kept_answer", KEPT_ANSWER_COLUMNS, "kept_answer_in");

/** One statement is one transaction, so claims and answers are never without their steps. */
const INSERT_ALL = `WITH claims AS (
    INSERT INTO claim (${listOf(CLAIM_COLUMNS)}) SELECT ${listOf(CLAIM_COLUMNS, "c.")} FROM unnest($2::claim_in[]) c),
  answers AS (
    INSERT INTO kept_answer (${listOf(KEPT_ANSWER_COLUMNS)})
      SELECT ${listOf(KEPT_ANSWER_COLUMNS, "a.")} FROM unnest($3::kept_answer_in[]) a)
  ${INSERT_STEPS}`;

const STEP = `s.account_id, ${NAMES.filter((name) => name !== "account_id" && name !== "bucket")
  .map((name) => `s.${name}`)
  .join(", ")}`;

/** Steps of one account that a statement reads behind a number, at most. */
export const LONGEST_TAIL = 2_000;

/** Steps of each account behind a number. */
const TAILS = `SELECT ${STEP} FROM unnest($2::int[], $3::uuid[], $4::bigint[]) AS known (bucket, account_id, seq)
  CROSS JOIN LATERAL (
    SELECT * FROM step t
     WHERE t.bucket = ANY ($1::int[]) AND t.bucket = known.bucket AND t.account_id = known.account_id AND t.seq > known.seq
     ORDER BY t.seq LIMIT ${LONGEST_TAIL}) s
 ORDER BY s.bucket, s.account_id, s.seq`;

/** Kinds in the unique index of beginnings. */
const BEGINNINGS = `SELECT ${STEP} FROM unnest($2::int[], $3::uuid[]) AS asked (bucket, id)
  JOIN step s ON s.bucket = asked.bucket AND s.id = asked.id AND s.kind IN (2, 11, 12, 13)
 WHERE s.bucket = ANY ($1::int[])`;

const STEPS_OF_HOLDS = `SELECT ${STEP} FROM step s
  WHERE s.bucket = $1 AND s.account_id = $2 AND s.seq > $3 AND s.seq <= $4 AND s.id = ANY ($5::uuid[]) ORDER BY s.seq`;

const LATE_COSTS = `SELECT ${STEP} FROM step s
  WHERE s.bucket = $1 AND s.account_id = $2 AND s.seq > $3 AND s.seq <= $4 AND s.id = ANY ($5::uuid[]) AND s.kind = 8
  ORDER BY s.seq`;

/** Steps of an account that the first statement searches for the end of a hold. Each further one searches twice as many. */
const FIRST_SLICE = 250;

/** OIDs of the composite types in this database. */
export interface RowTypes {
  readonly step: number;
  readonly claim: number;
  readonly keptAnswer: number;
  readonly shards: Shards;
}

export interface Flush {
  /** By bucket, account and number, so two writers wait for each other in one direction only. */
  readonly steps: readonly Step[];
  readonly claims: readonly ClaimRow[];
  readonly answers: readonly KeptAnswerRow[];
}

/** Plans by key for short statements, also while the statistics of a growing table are old. */
const PLANNER =
  "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off";

/** The planner expects the end of a hold far behind its place, and would sort all steps of the account. */
export const PLAN_BY_KEY =
  "SET LOCAL enable_bitmapscan = off; SET LOCAL enable_seqscan = off; SET LOCAL jit = off";

/** Runs a statement that follows accounts from places to ends. */
export async function queryByKey<Row extends object>(
  pool: Pool,
  text: string,
  values: readonly unknown[],
): Promise<{ readonly rows: Row[]; readonly rowCount: number | null }> {
  return await inTransaction(pool, async (client) => {
    await client.query(PLAN_BY_KEY);
    return await client.query<Row>(text, [...values]);
  });
}

const TYPES = `SELECT 'step_in'::regtype::oid::int AS step, 'claim_in'::regtype::oid::int AS claim,
  'kept_answer_in'::regtype::oid::int AS "keptAnswer"`;

export async function prepareForFlushes(client: PoolClient): Promise<RowTypes> {
  await client.query(PLANNER);
  const { rows } = await client.query<Omit<RowTypes, "shards">>(TYPES);
  const [types] = rows;
  if (types === undefined) throw new Error("PostgreSQL did not name the types of the ledger's rows.");
  return { ...types, shards: await shardsOf(client) };
}

/**
 * Writes all rows or none. On a distributed ledger, all buckets are of one shard.
 * @throws with SQLSTATE 23505 if another writer has used a number, a beginning or a claim
 */
export async function writeFlush(
  client: PoolClient,
  { steps, claims, answers }: Flush,
  types: RowTypes,
): Promise<void> {
  const rows = encodeSteps(steps, types.step);
  if (types.shards.isDistributed) {
    const buckets = [...new Set(steps.map(({ accountId }) => bucketOf(accountId)))];
    const inserts = [{ name: "insert_steps", text: SHARD_STEPS, values: [buckets, rows] }];
    if (claims.length > 0) {
      const values = [buckets, encodeRows(CLAIM_COLUMNS, claims.map(claimValues), types.claim)];
      inserts.unshift({ name: "insert_claims", text: SHARD_CLAIMS, values });
    }
    if (answers.length > 0) {
      const values = [
        buckets,
        encodeRows(KEPT_ANSWER_COLUMNS, answers.map(keptAnswerValues), types.keptAnswer),
      ];
      inserts.unshift({ name: "insert_answers", text: SHARD_ANSWERS, values });
    }
    await inOneTransaction(client, inserts);
    return;
  }
  if (claims.length === 0 && answers.length === 0) {
    await client.query({ name: "insert_steps", text: INSERT_STEPS, values: [rows] });
    return;
  }
  const values = [
    rows,
    encodeRows(CLAIM_COLUMNS, claims.map(claimValues), types.claim),
    encodeRows(KEPT_ANSWER_COLUMNS, answers.map(keptAnswerValues), types.keptAnswer),
  ];
  await client.query({ name: "insert_all", text: INSERT_ALL, values });
}

/** Commits on one worker, without a second phase. */
async function inOneTransaction(
  client: PoolClient,
  statements: readonly { readonly name: string; readonly text: string; readonly values: unknown[] }[],
): Promise<void> {
  const [only, ...others] = statements;
  if (only === undefined) return;
  if (others.length === 0) {
    await client.query(only);
    return;
  }
  await client.query("BEGIN");
  try {
    for (const statement of statements) await client.query(statement);
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK");
    throw error;
  }
}

/**
 * Reads the next steps of accounts, at most `LONGEST_TAIL` of each.
 * @param known number of the latest step that the caller has applied, by account
 */
export async function readTails(client: PoolClient, known: ReadonlyMap<Id, number>): Promise<Step[]> {
  return await readByShard(
    client,
    [...known],
    ([id]) => bucketOf(id),
    async (asked) => {
      const buckets = asked.map(([id]) => bucketOf(id));
      const values = [[...new Set(buckets)], buckets, asked.map(([id]) => id), asked.map(([, seq]) => seq)];
      return await readSteps(client, "tails", TAILS, values);
    },
  );
}

/** Place, deposit, refund or adjustment. */
export interface Beginning {
  readonly accountId: Id;
  readonly id: Id;
}

/** @returns steps with one of these ids in the bucket of its account; an id can belong to another account of the bucket */
export async function readBeginnings(client: PoolClient, asked: readonly Beginning[]): Promise<Step[]> {
  const inBucket = ({ accountId }: Beginning) => bucketOf(accountId);
  return await readByShard(client, asked, inBucket, async (some) => {
    const buckets = some.map(inBucket);
    const values = [[...new Set(buckets)], buckets, some.map(({ id }) => id)];
    return await readSteps(client, "beginnings", BEGINNINGS, values);
  });
}

/**
 * Reads the steps of these holds. The end of a hold is near its place, so the read follows the account from there, in slices.
 * @param places their first steps, all of one account
 * @param latest number of the account's latest step that the caller has applied. The caller replays later steps.
 */
export async function readHoldSteps(
  client: PoolClient,
  places: readonly Step[],
  latest: number,
): Promise<Map<Id, Step[]>> {
  const found = new Map(places.map((place) => [place.id, [place]]));
  const [first] = places;
  if (first === undefined) return found;
  const { accountId } = first;
  const open = new Set(found.keys());
  const add = (steps: readonly Step[]) => {
    for (const step of steps) {
      found.get(step.id)?.push(step);
      if (step.kind === "capture" || step.kind === "release" || step.kind === "abandon") open.delete(step.id);
    }
  };
  let from = Math.min(...places.map(({ seq }) => seq));
  for (let slice = FIRST_SLICE; open.size > 0 && from < latest; slice *= 2) {
    const to = Math.min(from + slice, latest);
    const values = [bucketOf(accountId), accountId, from, to, [...found.keys()]];
    const steps = await readSteps(client, "steps_of_holds", STEPS_OF_HOLDS, values);
    add(steps.filter(({ kind }) => kind !== "place"));
    from = to;
  }
  const values = [bucketOf(accountId), accountId, from, latest, [...found.keys()]];
  add(await readSteps(client, "late_costs", LATE_COSTS, values));
  return found;
}

async function readSteps(client: PoolClient, name: string, text: string, values: unknown[]): Promise<Step[]> {
  const { rows } = await client.query<StepRow>({ name, text, values });
  return rows.map(readStep);
}
