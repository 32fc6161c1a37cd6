// Earlier-hold store owns the reads of holds that ended before the chain of steps. Their rows never change. Costs that a provider
// reported afterwards are steps of the account without a place, and belong to the hold.
import type { Account, Hold, Id } from "@gr/ledger";
import type { Pool, PoolClient } from "@gr/runtime";

const MS = (column: string) => `floor(extract(epoch FROM ${column}) * 1000)`;
const PLACED_AT_IN = (hold: string) => `${MS(`${hold}.placed_at`)}::bigint`;
const PLACED_AT = PLACED_AT_IN("h");

/**
 * Unix milliseconds at which a hold was placed.
 * @param place alias of its first step @param ended alias of its row, if it can have ended before the chain
 */
export const placedAtOf = (place: string, ended?: string) => {
  const earlier = ended === undefined ? "" : `, ${PLACED_AT_IN(ended)}`;
  return `coalesce((${place}.detail::jsonb -> 'carriedHold' ->> 'placedAt')::bigint, ${place}.at${earlier})`;
};

/** Booked costs are those up to the latest step that the account in memory has. */
const HOLDS = `SELECT h.id, h.spender_id AS "spenderId", h.credits, h.state, h.charge, h.cost, h.attempt, h.service, h.provider,
    h.upstream_model AS "upstreamModel", h.model, h.price_version AS "priceVersion", ${MS("h.placed_at")}::float8 AS "placedAt",
    ${MS("h.deadline_at")}::float8 AS "deadlineAt", c.key, c.credits AS "keptCharge", c.cost AS "keptCost", b.attempts, b.costs
  FROM hold h LEFT JOIN idempotency c ON c.hold_id = h.id
  CROSS JOIN LATERAL (
    SELECT array_agg(x.attempt) AS attempts, array_agg(x.cost) AS costs FROM (
      SELECT e.attempt, sum(e.cost)::text AS cost FROM entry e WHERE e.hold_id = h.id GROUP BY e.attempt) x) b
 WHERE h.account_id = $1::uuid AND h.id = ANY ($2::uuid[]) AND h.state <> 'open'`;

/** A statement of its own: the chain can be distributed, and the tables of before are not. */
const LATE_COSTS = `SELECT s.id, s.attempt, sum(s.cost)::bigint AS cost FROM step s
  WHERE s.bucket = get_byte(uuid_send($1::uuid), 15) AND s.account_id = $1 AND s.id = ANY ($2::uuid[]) AND s.kind = 8 AND s.seq <= $3
  GROUP BY s.id, s.attempt`;

const OWNERS = "SELECT id, account_id FROM hold WHERE id = ANY ($1::uuid[]) AND state <> 'open'";

/** Name of the model of the attempt in the alias s, a late cost without a place. Empty if another attempt followed. */
export const EARLIER_UPSTREAM_MODEL = `(
      SELECT CASE WHEN h.attempt = s.attempt THEN h.upstream_model ELSE '' END FROM hold h WHERE h.id = s.id)`;

/** Holds in the order of an index. */
const page = (own: string) => `SELECT h.account_id AS "accountId", h.id AS "holdId" FROM hold h
  WHERE h.state <> 'open' AND ${own}($1::hold_state IS NULL OR h.state = $1)
    AND ($2::uuid IS NULL OR (h.account_id, h.placed_at, h.id) > ($2, $3::timestamptz, $4::uuid))
  ORDER BY h.account_id, h.placed_at, h.id LIMIT $5`;

export const PAGE = page("");
export const PAGE_OF_ACCOUNT = page("h.account_id = $6 AND ");

/** The exact time is a text: a number of milliseconds would be another one. */
const PLACE = `SELECT h.account_id AS "accountId", ${PLACED_AT} AS at, h.placed_at::text AS time FROM hold h
  WHERE h.id = $1 AND h.state <> 'open'`;

interface HoldRow {
  readonly id: Id;
  readonly spenderId: Id;
  readonly credits: bigint;
  readonly state: "captured" | "released";
  readonly charge: bigint;
  readonly cost: bigint;
  readonly attempt: number;
  readonly service: string;
  readonly provider: string;
  readonly upstreamModel: string;
  readonly model: string;
  readonly priceVersion: string;
  readonly placedAt: number;
  readonly deadlineAt: number;
  readonly key: Buffer | null;
  readonly keptCharge: bigint | null;
  readonly keptCost: bigint | null;
  readonly attempts: number[] | null;
  readonly costs: string[] | null;
}

/** Restores holds of the account into memory. An id without such a hold has no effect. */
export async function restoreEarlierHolds(
  client: PoolClient,
  account: Account,
  ids: readonly Id[],
): Promise<void> {
  if (account.carriedAt === 0 || ids.length === 0) return;
  const values = [account.id, ids];
  const { rows } = await client.query<HoldRow>({ name: "earlier_holds", text: HOLDS, values });
  if (rows.length === 0) return;
  const found = rows.map(({ id }) => id);
  const { rows: late } = await client.query<LateCost>({
    name: "late_costs_of_earlier_holds",
    text: LATE_COSTS,
    values: [account.id, found, account.seq],
  });
  for (const row of rows) {
    const own = late.filter(({ id }) => id === row.id);
    account.ended.set(row.id, holdOf(account, row, own));
  }
}

/** @returns accounts by hold; open and unknown holds are absent */
export async function earlierOwners(pool: Pool, holdIds: readonly Id[]): Promise<Map<Id, Id>> {
  if (holdIds.length === 0) return new Map();
  const { rows } = await pool.query<{ id: Id; account_id: Id }>({
    name: "earlier_owners",
    text: OWNERS,
    values: [holdIds],
  });
  return new Map(rows.map(({ id, account_id: accountId }) => [id, accountId]));
}

export interface EarlierPage {
  /** undefined = all accounts */
  readonly accountId: Id | undefined;
  /** undefined = both ends */
  readonly state: "captured" | "released" | undefined;
  /** Hold before the page. */
  readonly after: Id | undefined;
  readonly limit: number;
}

/** Lists ended holds by account, each account's oldest first. */
export async function listEarlierHolds(
  pool: Pool,
  { accountId, state, after, limit }: EarlierPage,
): Promise<{ accountId: Id; holdId: Id }[]> {
  const last = after === undefined ? undefined : await findEarlierPlace(pool, after);
  const values = [state, last?.accountId, last?.time, after, limit];
  const { rows } = await (accountId === undefined
    ? pool.query<{ accountId: Id; holdId: Id }>(PAGE, values)
    : pool.query<{ accountId: Id; holdId: Id }>(PAGE_OF_ACCOUNT, [...values, accountId]));
  return rows;
}

export interface EarlierPlace {
  readonly accountId: Id;
  /** Unix milliseconds. */
  readonly at: bigint;
  /** `at` with microseconds, as text of PostgreSQL: a page continues exactly behind this hold. */
  readonly time: string;
}

/** @returns undefined for a hold that is unknown here */
export async function findEarlierPlace(pool: Pool, holdId: Id): Promise<EarlierPlace | undefined> {
  return (await pool.query<EarlierPlace>(PLACE, [holdId])).rows[0];
}

interface LateCost {
  readonly id: Id;
  readonly attempt: number;
  readonly cost: bigint;
}

/** The window of an ended hold has no meaning: no later step changes its totals. */
function holdOf(account: Account, row: HoldRow, late: readonly LateCost[]): Hold {
  const { service, provider, upstreamModel, model, priceVersion, keptCharge, keptCost } = row;
  const budget = account.budgetNumbers.get(row.spenderId);
  if (budget === undefined) throw new Error(`Hold ${row.id} names a key that account ${account.id} lacks.`);
  const booked = new Map(
    (row.attempts ?? []).map((attempt, index) => [attempt, BigInt(row.costs?.[index] ?? 0)]),
  );
  for (const { attempt, cost } of late) booked.set(attempt, (booked.get(attempt) ?? 0n) + cost);
  return {
    id: row.id,
    seq: 0,
    state: row.state,
    credits: row.credits,
    charge: row.charge,
    cost: row.cost,
    placedAt: row.placedAt,
    deadlineAt: row.deadlineAt,
    leasedUntil: 0,
    attempt: row.attempt,
    tag: { service, provider, upstreamModel, model, priceVersion },
    chain: [{ budget, window: 1 }],
    claim: row.key?.toString("hex"),
    kept: keptCharge === null || keptCost === null ? undefined : { charge: keptCharge, cost: keptCost },
    booked,
  };
}
