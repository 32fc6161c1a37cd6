// Claim sweep owns the deletion of expired Idempotency-Keys and kept answers. A key without a row is free, so the claim of an open hold
// stays, and so does each claim that any process may still count as valid.
import { CLAIM_LIFETIME_MS } from "@gr/ledger";
import type { Pool } from "@gr/runtime";
import { queryByKey } from "../chain/step-store.ts";
import { BUCKETS, groupByShard, shardsOf } from "../shards/shard-store.ts";

/** Hour beside the lifetime, so a process with a clock that is minutes fast deletes no valid claim. */
const SWEPT_AFTER_MS = CLAIM_LIFETIME_MS + 3_600_000;
/** The earlier one of this process's and PostgreSQL's time: a clock that is hours fast deletes no valid claim either. */
const SWEPT_UNTIL = `least($1::bigint, (extract(epoch FROM now()) * 1000)::bigint - ${SWEPT_AFTER_MS})`;
/** Rows that are deleted in one statement. */
const SLICE = 500;

/** Ended is a hold without an open place in the chain. The end of a hold is near its place, so the search follows the account from there. */
const HAS_ENDED = `coalesce((
    SELECT (SELECT e.seq FROM step e WHERE e.bucket = ANY ($2::int[]) AND e.bucket = p.bucket AND e.account_id = p.account_id AND e.seq > p.seq
               AND e.place_seq = p.seq AND e.kind IN (5, 6, 7) ORDER BY e.seq LIMIT 1) IS NOT NULL
      FROM step p WHERE p.bucket = ANY ($2::int[]) AND p.bucket = c.bucket AND p.id = c.hold_id AND p.kind = 2 AND p.account_id = c.account_id), true)`;

const SWEEP_CLAIMS = `DELETE FROM claim WHERE bucket = ANY ($2::int[]) AND ctid = ANY (ARRAY (
    SELECT c.ctid FROM claim c WHERE c.bucket = ANY ($2::int[]) AND c.claimed_at <= ${SWEPT_UNTIL} AND ${HAS_ENDED} ORDER BY c.claimed_at LIMIT ${SLICE} FOR UPDATE SKIP LOCKED))`;

/** An answer is as young as its claim, and an expired claim returns none. */
const SWEEP_ANSWERS = `DELETE FROM kept_answer WHERE bucket = ANY ($2::int[]) AND ctid = ANY (ARRAY (
    SELECT a.ctid FROM kept_answer a WHERE a.bucket = ANY ($2::int[]) AND a.kept_at <= ${SWEPT_UNTIL} ORDER BY a.kept_at LIMIT ${SLICE} FOR UPDATE SKIP LOCKED))`;

/**
 * Deletes expired claims of ended holds, and expired answers, in slices. Several processes may sweep at once.
 * @param now Unix milliseconds
 */
export async function sweepClaims(pool: Pool, now: number, stopping: AbortSignal): Promise<void> {
  for (const buckets of groupByShard(await shardsOf(pool), BUCKETS, (bucket) => bucket)) {
    for (const text of [SWEEP_CLAIMS, SWEEP_ANSWERS]) {
      let deleted: number | null = SLICE;
      while (deleted === SLICE && !stopping.aborted) {
        deleted = (await queryByKey(pool, text, [now - SWEPT_AFTER_MS, buckets])).rowCount;
      }
    }
  }
}
