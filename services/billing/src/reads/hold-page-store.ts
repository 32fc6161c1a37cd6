// Hold-page store owns the statement that selects a page of holds, oldest first. The holds themselves are read from their accounts.
import type { Id } from "@gr/ledger";
import type { Pool } from "@gr/runtime";
import { earlierHolds, earlierPlacedAt, placedAtOf } from "../before-steps/earlier-hold-store.ts";
import { bucketOf } from "../chain/bucket.ts";
import { queryByKey } from "../chain/step-store.ts";
import type { NamedHold } from "../follower/open-hold-store.ts";
import type { HoldFilter } from "../holds/hold.ts";

/** Open holds are a short table; resolved ones are found by their places. */
const OPEN = `SELECT account_id AS "accountId", hold_id AS "holdId" FROM open_hold o
  WHERE ($2::uuid IS NULL OR o.bucket = $1 AND o.account_id = $2)
    AND ($3::bigint IS NULL OR (o.placed_at, o.hold_id) > ($3, $4::uuid))
  ORDER BY o.placed_at, o.hold_id LIMIT $5`;

/** The end of a hold is near its place, so the search for it follows the account from there. */
const PLACED = `SELECT s.account_id, s.id, ${placedAtOf("s")} AS placed_at FROM step s
  WHERE s.kind = 2 AND ($2::uuid IS NULL OR s.bucket = $1 AND s.account_id = $2)
    AND ($3::bigint IS NULL OR (${placedAtOf("s")}, s.id) > ($3, $4::uuid))
    AND ($6::smallint[] IS NULL OR (
      SELECT e.kind FROM step e WHERE e.bucket = s.bucket AND e.account_id = s.account_id AND e.seq > s.seq
         AND e.place_seq = s.seq AND e.kind IN (5, 6, 7) ORDER BY e.seq LIMIT 1) = ANY ($6))
  ORDER BY 3, 2 LIMIT $5`;

const ALL = `SELECT account_id AS "accountId", id AS "holdId" FROM ((${PLACED}) UNION ALL (${earlierHolds("$2", "$3", "$4", "$5", "$7")})) h
  ORDER BY placed_at, id LIMIT $5`;

const PLACE_OF = `SELECT ${placedAtOf("s")} AS at FROM step s WHERE s.bucket = ANY ($1::int[]) AND s.id = $2 AND s.kind = 2`;

const BUCKETS = Array.from({ length: 256 }, (_, bucket) => bucket);
const ENDS = { captured: [5], released: [6, 7] } as const;

/** @returns one more hold than the limit if there are more */
export async function listHoldIds(
  pool: Pool,
  { accountId, state, after, limit }: HoldFilter,
): Promise<NamedHold[]> {
  const since = after === undefined ? null : await placedAt(pool, after);
  if (after !== undefined && since === null) return [];
  const bucket = accountId === undefined ? null : bucketOf(accountId);
  const values = [bucket, accountId ?? null, since, after ?? null, limit + 1];
  if (state === "open") return (await pool.query<NamedHold>(OPEN, values)).rows;
  const ends = state === undefined ? null : ENDS[state];
  return (await queryByKey<NamedHold>(pool, ALL, [...values, ends, state ?? null])).rows;
}

async function placedAt(pool: Pool, holdId: Id): Promise<bigint | null> {
  const { rows } = await pool.query<{ at: bigint }>(PLACE_OF, [BUCKETS, holdId]);
  return rows[0]?.at ?? (await earlierPlacedAt(pool, holdId));
}
