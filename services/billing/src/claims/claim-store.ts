// Statements on claims beside those of the SQL function `post`, which gives a key to the hold that it places, under the
// lock of the account: so there is never one without the other.
import { OutcomeCode } from "@gr/proto/billing";
import type { Pool } from "@gr/runtime";
import { capRefusal } from "../mirror/spend-mirror.ts";
import type { ReadSpendNumbers } from "../mirror/spend-numbers-store.ts";
import type { LedgerTime } from "../writer/ledger-time.ts";
import type { Claim } from "../writer/operation.ts";
import { codeOf, NO_REFUSAL, type OutcomeName, type Posted } from "../writer/post-store.ts";

/** How long a claim lasts once its hold is resolved. SQL. */
export const CLAIM_LIFETIME = "claim_lifetime()";

/** Claims that are deleted in one statement. */
const SLICE = 500;

/** No row when the key is free; otherwise what `post` would answer: first for the spender, then for the key. */
const JUDGE = `
  WITH t AS MATERIALIZED (SELECT coalesce($5::timestamptz, clock_timestamp()) AS moment)
  SELECT c.hold_id, h.spender_id AS holder_spender_id, h.credits, unix_ms(s.expires_at) AS expires_at,
    coalesce(s.account_id = c.account_id AND s.active AND a.suspended, false) AS suspended, CASE
      WHEN s.account_id IS DISTINCT FROM c.account_id OR NOT s.active OR a.suspended THEN 'spender_inactive'::outcome
      WHEN s.expires_at <= t.moment THEN 'spender_expired'
      ELSE met.outcome END AS outcome
    FROM t CROSS JOIN idempotency c JOIN hold h ON h.id = c.hold_id
    CROSS JOIN LATERAL (SELECT claim_outcome(c, h.state, $3, t.moment) AS outcome) met
    LEFT JOIN spender s ON s.id = $4
    LEFT JOIN account a ON a.id = s.account_id
   WHERE c.account_id = $1 AND c.key = $2 AND met.outcome IS NOT NULL`;

/**
 * SKIP LOCKED: what somebody takes over at this moment is not old any more. An array, because to join the slice PostgreSQL
 * would read the whole table.
 */
const SWEEP = `
  DELETE FROM idempotency WHERE hold_id = ANY (ARRAY (
    SELECT c.hold_id FROM idempotency c JOIN hold h ON h.id = c.hold_id
     WHERE c.claimed_at <= coalesce($1::timestamptz, now()) - ${CLAIM_LIFETIME} AND h.state <> 'open'
     ORDER BY c.claimed_at LIMIT ${SLICE} FOR UPDATE OF c SKIP LOCKED))`;

/** Who would place, and under which key. */
export interface ClaimingSpender {
  readonly accountId: string;
  readonly spenderId: string;
  readonly claim: Claim;
}

interface JudgeRow {
  hold_id: string;
  holder_spender_id: string;
  credits: bigint;
  expires_at: bigint | null;
  suspended: boolean;
  outcome: OutcomeName;
}

/**
 * What a place of this spender with this claim would be answered now, were it of the size of the earlier one; `done` when
 * the key is free. Locks nothing.
 */
export async function judgeClaim(
  pool: Pool,
  readNumbers: ReadSpendNumbers,
  { accountId, spenderId, claim }: ClaimingSpender,
  at: Date | null,
): Promise<Posted> {
  const values = [accountId, claim.key, claim.fingerprint, spenderId, at];
  const { rows } = await pool.query<JudgeRow>(JUDGE, values);
  const [row] = rows;
  if (row === undefined) return { code: OutcomeCode.DONE };
  const code = codeOf(row.outcome);
  switch (code) {
    case OutcomeCode.SPENDER_INACTIVE:
      return { code, refusal: { ...NO_REFUSAL, suspended: row.suspended } };
    case OutcomeCode.SPENDER_EXPIRED:
      return { code, refusal: { ...NO_REFUSAL, expiresAt: row.expires_at ?? 0n } };
    case OutcomeCode.CLAIM_FINISHED: {
      const numbers =
        row.holder_spender_id === spenderId ? undefined : await readNumbers([{ accountId, spenderId }]);
      const own = numbers?.get(spenderId);
      const refusal = own && capRefusal(own, row.credits);
      return refusal ?? { code, earlierHoldId: row.hold_id };
    }
    default:
      return { code };
  }
}

/**
 * Deletes claims that have had their time, in small slices, so that nobody waits for it. Several processes may sweep at once:
 * each takes what the others do not.
 */
export async function sweepClaims(pool: Pool, time: LedgerTime, stopping: AbortSignal): Promise<void> {
  let last = false;
  while (!last && !stopping.aborted) {
    const { rowCount } = await pool.query(SWEEP, [time()]);
    last = rowCount !== SLICE;
  }
}
