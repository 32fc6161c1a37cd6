// Version-before store owns the statements of tests about the version before the chain beside a carry.
import type { Id } from "@gr/ledger";
import type { Pool, PoolClient } from "@gr/runtime";

const TABLES = [
  "account",
  "spender",
  "deposit",
  "adjustment",
  "hold",
  "entry",
  "usage_daily",
  "idempotency",
  "step",
  "claim",
];

/** Rows of each table. */
export async function countRows(pool: Pool): Promise<Record<string, bigint>> {
  const counts = TABLES.map((table) => `(SELECT count(*) FROM ${table}) AS "${table}"`);
  return (await pool.query<Record<string, bigint>>(`SELECT ${counts.join(", ")}`)).rows[0] ?? {};
}

/** Statements of the version before beside its function `post`, each on one of its tables. */
export function writesOfBefore({
  accountId,
  spenderId,
  holdId,
}: {
  readonly accountId: Id;
  readonly spenderId: Id;
  readonly holdId: Id;
}): Record<string, string> {
  return {
    account: `INSERT INTO account (id) VALUES (gen_random_uuid())`,
    suspension: `UPDATE account SET suspended = true WHERE id = '${accountId}'`,
    spender: `UPDATE spender SET active = false WHERE id = '${spenderId}'`,
    deposit: `INSERT INTO deposit (id, account_id, credits, status, source, created_at, changed_at)
      VALUES (gen_random_uuid(), '${accountId}', 5, 'COMPLETED', 'test', now(), now())`,
    adjustment: `INSERT INTO adjustment (id, account_id, credits, reason, created_at) VALUES (gen_random_uuid(), '${accountId}', 5, 'test', now())`,
    lease: `UPDATE hold SET lease_until = now() WHERE id = '${holdId}'`,
    entry: `INSERT INTO entry (at, account_id, credits, kind) VALUES (now(), '${accountId}', 5, 'deposit')`,
    usage: `DELETE FROM usage_daily`,
    answer: `UPDATE idempotency SET content_type = 'text/plain' WHERE hold_id = '${holdId}'`,
  };
}

/** A claim of more than a day ago. */
export async function addOldClaim(pool: Pool, accountId: Id): Promise<void> {
  await pool.query(
    `INSERT INTO idempotency (account_id, key, fingerprint, hold_id, claimed_at)
     VALUES ($1, sha256('key'), sha256('content'), gen_random_uuid(), now() - interval '2 days')`,
    [accountId],
  );
}

export async function lockKey(client: PoolClient, spenderId: Id): Promise<void> {
  await client.query("UPDATE spender SET name = name WHERE id = $1", [spenderId]);
}

/** The account then holds more than its open holds. */
export async function breakHeld(pool: Pool, accountId: Id): Promise<void> {
  await pool.query("UPDATE account SET held = held + 1 WHERE id = $1", [accountId]);
}

/** @returns credits of the account's first carry */
export async function creditSteps(pool: Pool, accountId: Id): Promise<bigint[]> {
  const text = "SELECT credits FROM step WHERE account_id = $1 AND seq = 2";
  return (await pool.query<{ credits: bigint }>(text, [accountId])).rows.map(({ credits }) => credits);
}

/** @returns ids of the account's entries, newest first */
export async function latestEntryIds(pool: Pool, accountId: Id): Promise<bigint[]> {
  const text =
    "SELECT id FROM entry WHERE account_id = $1 AND kind NOT IN ('failed', 'late') ORDER BY id DESC";
  return (await pool.query<{ id: bigint }>(text, [accountId])).rows.map(({ id }) => id);
}

/** The line of a text request in the log. */
export async function addText(
  pool: Pool,
  { accountId, spenderId, holdId, at }: { accountId: Id; spenderId: Id; holdId: Id; at: Date },
): Promise<void> {
  await pool.query(
    `INSERT INTO text_request (id, account_id, spender_id, model, api, stream, began_at, took_ms, finish_reason, user_tag, attempts,
       error_reason, error_message)
     VALUES ($1, $2, $3, 'sandbox/chat', 'chat', false, $4, 5, 'stop', '', '[]', '', '')`,
    [holdId, accountId, spenderId, at],
  );
}

/** Five credits more than the account had. */
export function forgeCarry(accountId: Id): string {
  return `UPDATE step SET credits = CASE seq WHEN 2 THEN credits + 5 ELSE credits END, credited = CASE seq WHEN 1 THEN 0 ELSE credited + 5 END
    WHERE account_id = '${accountId}'`;
}

/** The latest place gets a detail. */
export function forgePlace(accountId: Id): string {
  return `UPDATE step SET detail = '{"carriedHold":{"placedAt":1,"booked":[],"kept":null}}'
    WHERE (account_id, seq) = (SELECT account_id, max(seq) FROM step WHERE account_id = '${accountId}' AND kind = 2 GROUP BY 1)`;
}

/** Works on tampered steps, which are restored afterwards. */
export async function withTampered<Result>(
  pool: Pool,
  forge: string,
  work: () => Promise<Result>,
): Promise<Result> {
  await pool.query("CREATE TABLE genuine AS SELECT * FROM step");
  await pool.query(forge);
  try {
    return await work();
  } finally {
    await pool.query("DELETE FROM step");
    await pool.query("INSERT INTO step SELECT * FROM genuine");
    await pool.query("DROP TABLE genuine");
  }
}
