// Owner store owns the search for the account of an id whose caller does not name it, and for earlier reports of a payment. Each
// statement looks into every bucket, so requests that name their account never use it.
import type { DepositStatus, Id } from "@gr/ledger";
import type { Pool, PoolClient } from "@gr/runtime";
import type { Deposit } from "../accounts/deposit.ts";
import { earlierDeposit } from "../before-steps/earlier-credit-store.ts";
import { earlierOwners } from "../before-steps/earlier-hold-store.ts";
import { bucketOf } from "../chain/bucket.ts";
import { readDetail } from "../chain/state-text.ts";
import { BUCKETS } from "../shards/shard-store.ts";

const HOLDS = `SELECT s.id, s.account_id FROM step s
  WHERE s.bucket = ANY ($1::int[]) AND s.id = ANY ($2::uuid[]) AND s.kind = 2`;

/** Places, deposits, refunds and adjustments begin once in a bucket; this finds those of other buckets, too. */
const CREDITS = `SELECT s.account_id, s.kind, s.credits, s.detail FROM step s
  WHERE s.bucket = ANY ($1::int[]) AND s.id = $2 AND s.kind IN (11, 12, 13) ORDER BY s.kind`;

const REPORT = `SELECT account_id, credits, status, source FROM deposit_report WHERE bucket = ANY ($1::int[]) AND id = $2`;

const STORE_REPORT = `INSERT INTO deposit_report (bucket, account_id, id, credits, status, source, created_at, changed_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $7)
  ON CONFLICT (bucket, id) DO UPDATE SET status = excluded.status, changed_at = excluded.changed_at
  WHERE deposit_report.status <> excluded.status`;

/** Reports of one payment, and bookings of one adjustment, wait for each other: their accounts can be in different buckets. */
const LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('deposit ' || $1, 0))";

/** @returns accounts by hold; a hold without a place is absent */
export async function ownersOf(pool: Pool, holdIds: readonly Id[]): Promise<Map<Id, Id>> {
  if (holdIds.length === 0) return new Map();
  const { rows } = await pool.query<{ id: Id; account_id: Id }>(HOLDS, [BUCKETS, holdIds]);
  const owners = new Map(rows.map(({ id, account_id: accountId }) => [id, accountId]));
  const unknown = holdIds.filter((id) => !owners.has(id));
  return new Map([...owners, ...(await earlierOwners(pool, unknown))]);
}

export interface CreditStep {
  readonly accountId: Id;
  readonly kind: "deposit" | "refund" | "adjustment";
  readonly credits: bigint;
  readonly note: string;
}

const KINDS = { 11: "deposit", 12: "refund", 13: "adjustment" } as const;

/** @returns the steps of a deposit or an adjustment in all accounts */
export async function creditSteps(client: Pool | PoolClient, id: Id): Promise<CreditStep[]> {
  const { rows } = await client.query<{
    account_id: Id;
    kind: keyof typeof KINDS;
    credits: bigint;
    detail: string | null;
  }>(CREDITS, [BUCKETS, id]);
  return rows.map(({ account_id: accountId, kind, credits, detail }) => {
    const content = detail === null ? undefined : readDetail(detail);
    const note = content !== undefined && "note" in content ? content.note : "";
    return { accountId, kind: KINDS[kind], credits, note };
  });
}

/** @param id of a deposit or of an adjustment */
export async function lockCredit(client: PoolClient, id: Id): Promise<void> {
  await client.query(LOCK, [id]);
}

/** The steps decide whether a payment is credited: a report can be lost after its step. */
export async function readDeposit(client: PoolClient, id: Id): Promise<Deposit | undefined> {
  const steps = (await creditSteps(client, id)).filter(({ kind }) => kind !== "adjustment");
  const [first] = steps;
  if (first !== undefined) {
    const status: DepositStatus = steps.some(({ kind }) => kind === "refund") ? "REFUNDED" : "COMPLETED";
    const { accountId, kind, credits, note: source } = first;
    // A deposit from before the chain has its refund in the chain alone.
    return { id, accountId, credits: kind === "refund" ? -credits : credits, status, source };
  }
  const { rows } = await client.query<{
    account_id: Id;
    credits: bigint;
    status: DepositStatus;
    source: string;
  }>(REPORT, [BUCKETS, id]);
  const [row] = rows;
  if (row === undefined) {
    const earlier = await earlierDeposit(client, id);
    return earlier && { id, ...earlier };
  }
  return { id, accountId: row.account_id, credits: row.credits, status: row.status, source: row.source };
}

/** @param now Unix milliseconds */
export async function storeReport(
  client: PoolClient,
  { id, accountId, credits, status, source }: Deposit,
  now: number,
): Promise<void> {
  await client.query(STORE_REPORT, [bucketOf(accountId), accountId, id, credits, status, source, now]);
}
