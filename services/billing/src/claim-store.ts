// Statements on claims. Who has a key of an account is read and written under the lock of the account, in the
// transaction that places the claiming hold, so there is never one without the other.
import { OutcomeCode } from "@gr/proto/billing";
import type { Pool, PoolClient } from "@gr/runtime";
import type { LedgerTime } from "./ledger-time.ts";
import type { ClaimingPlace, Operation } from "./operation.ts";
import { NO_REFUSAL, type Posted } from "./post-store.ts";

/** How long a claim lasts once its hold is resolved. SQL. */
export const CLAIM_LIFETIME = "interval '24 hours'";

/** Claims that are deleted in one statement. */
const SLICE = 500;

const LOCK = "SELECT lock_for_posts($1, $2, $3)";

/**
 * In the order of the contract: the hold that is placed again, a key that is to be had, a spender that may not even
 * know, and then what became of the key. A released hold was free, so its key may be used again, unless its answer
 * was kept and may have been seen.
 */
const JUDGE = `
  WITH t AS MATERIALIZED (SELECT coalesce($6::timestamptz, clock_timestamp()) AS moment)
  SELECT c.hold_id, unix_ms(s.expires_at) AS expires_at, CASE
      WHEN own.id IS NOT NULL THEN 'placed_before'
      WHEN c.hold_id IS NULL OR h.state = 'released' AND c.content_type IS NULL THEN 'free'
      WHEN h.state <> 'open' AND c.claimed_at <= t.moment - ${CLAIM_LIFETIME} THEN 'free'
      WHEN s.account_id IS DISTINCT FROM o.account OR NOT s.active THEN 'spender_inactive'
      WHEN s.expires_at <= t.moment THEN 'spender_expired'
      WHEN c.fingerprint <> o.fingerprint THEN 'mismatch'
      WHEN h.state = 'open' THEN 'in_progress'
      ELSE 'finished' END AS verdict
    FROM t CROSS JOIN unnest($1::uuid[], $2::bytea[], $3::bytea[], $4::uuid[], $5::uuid[]) WITH ORDINALITY
           AS o (account, key, fingerprint, hold, spender, i)
    LEFT JOIN hold own ON own.id = o.hold
    LEFT JOIN idempotency c ON c.account_id = o.account AND c.key = o.key
    LEFT JOIN hold h ON h.id = c.hold_id
    LEFT JOIN spender s ON s.id = o.spender
   ORDER BY o.i`;

/** What was kept for an earlier owner of the key goes with it. */
const TAKE = `
  INSERT INTO idempotency (account_id, key, fingerprint, hold_id, claimed_at)
    SELECT o.account, o.key, o.fingerprint, h.id, h.placed_at
      FROM unnest($1::uuid[], $2::bytea[], $3::bytea[], $4::uuid[]) AS o (account, key, fingerprint, hold)
      JOIN hold h ON h.id = o.hold
  ON CONFLICT (account_id, key) DO UPDATE
    SET fingerprint = excluded.fingerprint, hold_id = excluded.hold_id, claimed_at = excluded.claimed_at,
        content_type = NULL, body = NULL, credits = NULL, cost = NULL`;

/** SKIP LOCKED: what somebody takes over at this moment is not old any more. */
const SWEEP = `
  DELETE FROM idempotency WHERE (account_id, key) IN (
    SELECT c.account_id, c.key FROM idempotency c JOIN hold h ON h.id = c.hold_id
     WHERE c.claimed_at <= coalesce($1::timestamptz, now()) - ${CLAIM_LIFETIME} AND h.state <> 'open'
     ORDER BY c.claimed_at LIMIT ${SLICE} FOR UPDATE OF c SKIP LOCKED)`;

/** The id of no hold. */
const NO_HOLD = "00000000-0000-0000-0000-000000000000";

/** Who would place, and under which key. */
export type ClaimingSpender = Pick<ClaimingPlace, "claim"> & {
  readonly accountId: string;
  readonly spenderId: string;
};

/** What a place with a claim meets. */
export interface Verdict {
  /** Undefined when the place is decided as one without a claim. */
  readonly refused: Posted | undefined;
  /** The place gets the key if it is done now. */
  readonly isFree: boolean;
  /** The hold that has, or had, the key. */
  readonly holder: string | null;
}

interface JudgeRow {
  verdict: keyof typeof CODES | "placed_before" | "free";
  hold_id: string | null;
  expires_at: bigint | null;
}

const CODES = {
  spender_inactive: OutcomeCode.SPENDER_INACTIVE,
  spender_expired: OutcomeCode.SPENDER_EXPIRED,
  mismatch: OutcomeCode.CLAIM_MISMATCH,
  in_progress: OutcomeCode.CLAIM_IN_PROGRESS,
  finished: OutcomeCode.CLAIM_FINISHED,
} as const;

/** Locks all that these operations touch, in the order that everybody keeps, until the transaction ends. */
export async function lockForPosts(client: PoolClient, operations: readonly Operation[]): Promise<void> {
  const values = [
    operations.map(({ holdId }) => holdId),
    operations.map(({ accountId }) => accountId),
    operations.map(({ spenderId }) => spenderId),
  ];
  await client.query({ name: "lock_for_posts", text: LOCK, values });
}

/** What a place of this spender with this claim would be answered now; `done` when the key is free. Locks nothing. */
export async function judgeClaim(
  pool: Pool,
  { accountId, spenderId, claim }: ClaimingSpender,
  at: Date | null,
): Promise<Posted> {
  const values = [[accountId], [claim.key], [claim.fingerprint], [NO_HOLD], [spenderId], at];
  const { rows } = await pool.query<JudgeRow>({ name: "judge_claims", text: JUDGE, values });
  return rows.map(verdictOf)[0]?.refused ?? { code: OutcomeCode.DONE };
}

/** @returns one verdict per place, in order; each as if it were the next thing to happen. */
export async function judgeClaims(
  client: PoolClient,
  places: readonly ClaimingPlace[],
  at: Date | null,
): Promise<Verdict[]> {
  if (places.length === 0) return [];
  const spenders = places.map(({ spenderId }) => spenderId);
  const values = [...columnsOf(places), spenders, at];
  const { rows } = await client.query<JudgeRow>({ name: "judge_claims", text: JUDGE, values });
  return rows.map(verdictOf);
}

/** Gives each of these places, which were done just now, its key. */
export async function takeClaims(client: PoolClient, places: readonly ClaimingPlace[]): Promise<void> {
  if (places.length === 0) return;
  await client.query({ name: "take_claims", text: TAKE, values: columnsOf(places) });
}

/** Deletes some of the claims that have had their time. @returns true when there may be more. */
export async function sweepClaims(pool: Pool, time: LedgerTime): Promise<boolean> {
  const { rowCount } = await pool.query(SWEEP, [time()]);
  return rowCount === SLICE;
}

function columnsOf(places: readonly ClaimingPlace[]): unknown[][] {
  return [
    places.map(({ accountId }) => accountId),
    places.map(({ claim }) => claim.key),
    places.map(({ claim }) => claim.fingerprint),
    places.map(({ holdId }) => holdId),
  ];
}

function verdictOf({ verdict, hold_id: holder, expires_at: expiresAt }: JudgeRow): Verdict {
  if (verdict === "placed_before" || verdict === "free") {
    return { refused: undefined, isFree: verdict === "free", holder };
  }
  return { refused: refusalOf(CODES[verdict], holder, expiresAt), isFree: false, holder };
}

function refusalOf(code: OutcomeCode, holder: string | null, expiresAt: bigint | null): Posted {
  switch (code) {
    case OutcomeCode.SPENDER_EXPIRED:
      return { code, refusal: { ...NO_REFUSAL, expiresAt: expiresAt ?? 0n } };
    case OutcomeCode.CLAIM_FINISHED:
      return { code, earlierHoldId: holder ?? "" };
    default:
      return { code };
  }
}
