// Chain checker owns the proof of a ledger at the end of a test: the invariants of production, and cold starts that equal full
// replays. Only the second part runs the code that applies steps.
import { isDeepStrictEqual } from "node:util";
import { type Account, apply, type Id, newAccount, type Step } from "@gr/ledger";
import type { Pool } from "@gr/runtime";
import { bucketOf } from "../../chain/bucket.ts";
import { startCold } from "../../chain/state-store.ts";
import { readStep, type StepRow } from "../../chain/step-row.ts";
import { readTails } from "../../chain/step-store.ts";
import { verifyChains } from "../../verify/verify-chains.ts";

/** Time at which no claim is old enough for a sweep. */
const SWEPT_NOTHING = 0;

/** @returns one sentence for each guarantee that the rows break */
export async function chainProblems(pool: Pool): Promise<string[]> {
  const { differences } = await verifyChains(pool, { now: SWEPT_NOTHING, all: true });
  const problems = differences.map(({ invariant, subject }) => `${subject} breaks: ${invariant}`);
  const { rows } = await pool.query<{ id: Id }>("SELECT DISTINCT account_id AS id FROM step ORDER BY 1");
  for (const { id } of rows) {
    if (!(await startsAsReplayed(pool, id))) problems.push(`a cold start of ${id} differs from its replay`);
  }
  return problems;
}

/** All steps with this id, in order. */
export async function stepsOfHold(pool: Pool, holdId: Id): Promise<Step[]> {
  const { rows } = await pool.query<StepRow>("SELECT * FROM step WHERE id = $1 ORDER BY account_id, seq", [
    holdId,
  ]);
  return rows.map(readStep);
}

/** Latest holds of an account, of any writer. */
export async function recentHolds(pool: Pool, accountId: Id): Promise<Id[]> {
  const { rows } = await pool.query<{ id: Id }>(
    "SELECT id FROM step WHERE bucket = $1 AND account_id = $2 AND kind = 2 ORDER BY seq DESC LIMIT 8",
    [bucketOf(accountId), accountId],
  );
  return rows.map(({ id }) => id);
}

export async function countSteps(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ count: bigint }>("SELECT count(*) FROM step");
  return Number(rows[0]?.count ?? 0);
}

/** Ids and kinds of all stored steps. */
export async function storedKinds(pool: Pool): Promise<Set<string>> {
  const { rows } = await pool.query<{ id: Id; kind: number }>("SELECT DISTINCT id, kind FROM step");
  return new Set(rows.map(({ id, kind }) => `${id} ${kind}`));
}

/** Cuts the connections of the writers but the caller's. @returns cut connections */
export async function cutConnections(pool: Pool): Promise<number> {
  const { rowCount } = await pool.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
      AND query ~ '^(INSERT|WITH|SELECT s|BEGIN|COMMIT)'`,
  );
  return rowCount ?? 0;
}

async function startsAsReplayed(pool: Pool, id: Id): Promise<boolean> {
  const client = await pool.connect();
  try {
    const replayed = newAccount(id);
    for (let more = true; more; ) {
      const steps = await readTails(client, new Map([[id, replayed.seq]]));
      for (const step of steps) apply(replayed, step);
      more = steps.length > 0;
    }
    const cold = (await startCold(client, [id])).get(id)?.account;
    return cold !== undefined && isDeepStrictEqual(durable(cold), durable(replayed));
  } finally {
    client.release();
  }
}

/** Ended holds are read when a decision needs them, so their number in memory has no meaning. */
function durable({ ended: _ended, ...account }: Account): Omit<Account, "ended"> {
  return account;
}
