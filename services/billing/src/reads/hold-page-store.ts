// Hold-page store owns the statements that select a page of holds. Each follows an index from the last hold of the page before, so the
// cost of a page does not grow with the ledger. The holds themselves are read from their accounts.
import type { Id } from "@gr/ledger";
import type { Pool } from "@gr/runtime";
import { findEarlierPlace, listEarlierHolds, placedAtOf } from "../before-steps/earlier-hold-store.ts";
import { bucketOf } from "../chain/bucket.ts";
import { queryByKey } from "../chain/step-store.ts";
import type { NamedHold } from "../follower/open-hold-store.ts";
import type { HoldFilter } from "../holds/hold.ts";
import { BUCKETS } from "../shards/shard-store.ts";

const NAME = (row: string, id: string) => `${row}.account_id AS "accountId", ${row}.${id} AS "holdId"`;

export const OPEN = `SELECT ${NAME("o", "hold_id")} FROM open_hold o
  WHERE (o.placed_at, o.hold_id) > ($1, $2::uuid) ORDER BY o.placed_at, o.hold_id LIMIT $3`;

export const OPEN_OF_ACCOUNT = `SELECT ${NAME("o", "hold_id")} FROM open_hold o
  WHERE o.bucket = $1 AND o.account_id = $2 AND o.place_seq > $3 ORDER BY o.place_seq LIMIT $4`;

/** The end of a hold is near its place, so the search for it follows the account from there. */
const placed = (own: string) => `SELECT ${NAME("s", "id")} FROM step s
  WHERE s.kind = 2 AND ${own}(s.bucket, s.account_id, s.seq) > ($1, $2::uuid, $3)
    AND ($5::smallint[] IS NULL OR (
      SELECT e.kind FROM step e WHERE e.bucket = s.bucket AND e.account_id = s.account_id AND e.seq > s.seq
         AND e.place_seq = s.seq AND e.kind IN (5, 6, 7) ORDER BY e.seq LIMIT 1) = ANY ($5))
  ORDER BY s.bucket, s.account_id, s.seq LIMIT $4`;

export const PLACED = placed("");
export const PLACED_OF_ACCOUNT = placed("s.bucket = $6 AND s.account_id = $7 AND ");

const PLACE_OF = `SELECT s.account_id AS "accountId", s.seq, ${placedAtOf("s")} AS at FROM step s
  WHERE s.bucket = ANY ($1::int[]) AND s.id = $2 AND s.kind = 2`;

const ENDS = { captured: [5], released: [6, 7] } as const;

/** Place of a hold in the orders of lists. */
interface Place {
  readonly accountId: Id;
  /** Number of the step; 0 = the hold ended before the chain. */
  readonly seq: bigint;
  /** Unix milliseconds. */
  readonly at: bigint;
  readonly holdId: Id;
}

const FIRST: Place = {
  accountId: "00000000-0000-0000-0000-000000000000",
  ...{ seq: 0n, at: -1n, holdId: "00000000-0000-0000-0000-000000000000" },
};

/**
 * Lists the holds of an account oldest first, and open holds of all accounts too. Other lists of all accounts are in the order of the
 * accounts. Holds that ended before the chain are before all others.
 * @returns one more hold than the limit if there are more
 */
export async function listHoldIds(pool: Pool, filter: HoldFilter): Promise<NamedHold[]> {
  const { accountId, state, after, limit } = filter;
  const last = after === undefined ? FIRST : await placeOf(pool, after);
  if (last === undefined) return [];
  const most = limit + 1;
  if (state === "open") return await listOpen(pool, accountId, last, most);
  const isBefore = last === FIRST || last.seq === 0n;
  const earlier = isBefore ? await listEarlierHolds(pool, { accountId, state, after, limit: most }) : [];
  if (earlier.length === most) return earlier;
  const { accountId: from, seq } = isBefore ? FIRST : last;
  const ends = state === undefined ? null : ENDS[state];
  const values = [bucketOf(from), from, seq, most - earlier.length, ends];
  const { rows } =
    accountId === undefined
      ? await queryByKey<NamedHold>(pool, PLACED, values)
      : await queryByKey<NamedHold>(pool, PLACED_OF_ACCOUNT, [...values, bucketOf(accountId), accountId]);
  return [...earlier, ...rows];
}

async function listOpen(
  pool: Pool,
  accountId: Id | undefined,
  { seq, at, holdId }: Place,
  most: number,
): Promise<NamedHold[]> {
  const { rows } =
    accountId === undefined
      ? await pool.query<NamedHold>(OPEN, [at, holdId, most])
      : await pool.query<NamedHold>(OPEN_OF_ACCOUNT, [bucketOf(accountId), accountId, seq, most]);
  return rows;
}

async function placeOf(pool: Pool, holdId: Id): Promise<Place | undefined> {
  const [place] = (await pool.query<Omit<Place, "holdId">>(PLACE_OF, [BUCKETS, holdId])).rows;
  const known = place ?? (await findEarlierPlace(pool, holdId));
  return known && { seq: 0n, ...known, holdId };
}
