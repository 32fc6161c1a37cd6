// Report reads own the statements of views of an account's money: a page of its steps, and sums from behind the ledger. Each reads
// by an index that begins with the bucket and the account.
import type { Account, Id, StepDetail } from "@gr/ledger";
import { type Pool, pageOf } from "@gr/runtime";
import {
  COSTS,
  LATEST_DAY,
  latestEarlierEntry,
  listEarlierEntries,
  USAGE,
} from "../before-steps/earlier-report-store.ts";
import { bucketOf } from "../chain/bucket.ts";
import { readDetail } from "../chain/state-text.ts";
import type { Follower } from "../follower/follower.ts";
import type {
  CostFilter,
  CostSum,
  Entry,
  EntryFilter,
  EntryKind,
  ReportStore,
  UsageFilter,
  UsageGroup,
  UsageSums,
} from "../reports/report.ts";
import { firstStepSince } from "../seals/seal-store.ts";
import { BUCKETS } from "../shards/shard-store.ts";
import type { AccountReader } from "./account-reader.ts";

/** Kinds of steps that change the credit of an account. */
const KINDS: Readonly<Record<EntryKind, number>> = { charge: 5, deposit: 11, refund: 12, adjustment: 13 };
const KIND_NAMES = new Map(Object.entries(KINDS).map(([name, kind]) => [kind, name as EntryKind]));

/** The page is cut before the places of its charges are looked up. The kinds are spelt out as the index has them. */
const pageOfKinds = (
  kinds: string,
) => `SELECT s.seq, s.kind, s.at, s.id, s.credits, s.charge, s.budget1, s.detail, p.model
  FROM (
    SELECT * FROM step
     WHERE bucket = $1 AND account_id = $2 AND seq >= $3 AND seq < $4 AND kind IN (${kinds}) AND ($5::smallint IS NULL OR kind = $5)
     ORDER BY seq DESC LIMIT $6
  ) s
  LEFT JOIN step p ON s.kind = 5 AND p.bucket = s.bucket AND p.account_id = s.account_id AND p.seq = s.place_seq
  ORDER BY s.seq DESC`;

export const ALL_ENTRIES = pageOfKinds("5, 11, 12, 13");
const CREDIT_ENTRIES = pageOfKinds("11, 12, 13");

interface EntryRow {
  readonly seq: bigint;
  readonly kind: number;
  readonly at: bigint;
  readonly id: Id;
  readonly credits: bigint;
  readonly charge: bigint;
  readonly budget1: number | null;
  readonly detail: string | null;
  readonly model: string | null;
}

const GROUPS: Readonly<Record<UsageGroup, string>> = {
  day: "to_char(day, 'YYYY-MM-DD')",
  spender: "budget_id::text",
  model: "model",
  provider: "provider",
};

/** Sums of sums: the last row of all, which no other hides, is the total. */
export const sumUsageBy = (group: UsageGroup, perDay: boolean): string => `WITH sums AS (
    SELECT ${GROUPS[group]} AS name, ${perDay ? GROUPS.day : "''"} AS day,
           sum(requests)::bigint AS requests, sum(charge)::bigint AS credits
      FROM ${USAGE} u
     WHERE bucket = $7 AND account_id = $1 AND day BETWEEN $2::date AND $3::date
       AND ($4::uuid IS NULL OR budget_id = $4) AND ($5::text IS NULL OR model = $5)
     GROUP BY 1, 2
  )
  SELECT false AS is_total, s.* FROM (
    SELECT * FROM sums ORDER BY ${perDay || group === "day" ? "day, name" : "credits DESC, name"} LIMIT $6
  ) s
  UNION ALL
  SELECT true, '', '', coalesce(sum(requests), 0)::bigint, coalesce(sum(credits), 0)::bigint FROM sums`;

interface UsageRow {
  readonly is_total: boolean;
  readonly name: string;
  readonly day: string;
  readonly requests: bigint;
  readonly credits: bigint;
}

const LAST_USED = `SELECT b.id, ${GROUPS.day} AS day FROM unnest($3::uuid[]) b (id)
  CROSS JOIN LATERAL (
    SELECT greatest((
      SELECT u.day FROM usage_by_day u WHERE u.bucket = $1 AND u.account_id = $2 AND u.budget_id = b.id ORDER BY u.day DESC LIMIT 1),
      ${LATEST_DAY}) AS day) u
 WHERE day IS NOT NULL`;

export const SUM_COSTS = `SELECT ${GROUPS.day} AS day, provider, upstream_model AS "upstreamModel", sum(cost)::text AS cost,
    sum(bookings)::bigint AS entries, sum(charged)::bigint AS charged, sum(lost)::text AS lost
  FROM (
    SELECT day, provider, upstream_model, cost, bookings, charged, lost FROM cost_by_day
     WHERE bucket = ANY ($1::int[]) AND day BETWEEN $2::date AND $3::date AND provider = ANY ($4::text[])
    UNION ALL ${COSTS}) c
 GROUP BY 1, 2, 3 ORDER BY 1, 2, 3 LIMIT $5`;

interface CostRow extends Omit<CostSum, "cost" | "lost"> {
  readonly cost: string;
  readonly lost: string;
}

export interface ReportReadsDeps {
  readonly pool: Pool;
  readonly accounts: AccountReader;
  /** Keeps the sums. */
  readonly sums: Pick<Follower, "catchUp">;
}

export function createReportReads({ pool, accounts, sums }: ReportReadsDeps): ReportStore {
  return {
    listEntries: async (filter) => {
      const { accountId, limit } = filter;
      const carriedAt = await accounts.ask(accountId, (account) => ({ answer: account.carriedAt }));
      const earlier = carriedAt === 0 ? 0n : await latestEarlierEntry(pool, accountId);
      const rows = await readEntryRows(pool, filter, earlier);
      const entries = await accounts.ask(accountId, (account) => ({
        answer: rows.map((row) => entryOf(row, account, earlier)),
      }));
      if (earlier > 0n && entries.length <= limit) {
        entries.push(...(await listEarlierEntries(pool, filter, limit + 1 - entries.length)));
      }
      return pageOf(entries, limit);
    },
    sumUsage: async (filter) => {
      await sums.catchUp();
      return await sumUsage(pool, filter);
    },
    lastUsedDays: async (accountId, spenderIds) => {
      await sums.catchUp();
      const values = [bucketOf(accountId), accountId, spenderIds];
      const { rows } = await pool.query<{ id: string; day: string }>(LAST_USED, values);
      return new Map(rows.map(({ id, day }) => [id, day]));
    },
    sumCosts: async ({ fromDay, toDay, providers, limit }: CostFilter) => {
      await sums.catchUp();
      const values = [BUCKETS, fromDay, toDay, providers, limit];
      const { rows } = await pool.query<CostRow>(SUM_COSTS, values);
      return rows.map(({ cost, lost, ...sum }) => ({ ...sum, cost: BigInt(cost), lost: BigInt(lost) }));
    },
  };
}

/** @param earlier id of the latest entry from before the chain; those of steps follow it */
async function readEntryRows(pool: Pool, filter: EntryFilter, earlier: bigint): Promise<EntryRow[]> {
  const { accountId, kind, from, until, after, limit } = filter;
  const bucket = bucketOf(accountId);
  const firstSince = (at: Date) => firstStepSince(pool, { bucket, accountId }, BigInt(at.getTime()));
  const first = from === undefined ? 1n : await firstSince(from);
  const end = until === undefined ? LAST_SEQ : await firstSince(until);
  const next = after === undefined ? end : after - earlier;
  const before = next > end ? end : next;
  const number = kind === undefined ? null : KINDS[kind];
  const text = kind === undefined || kind === "charge" ? ALL_ENTRIES : CREDIT_ENTRIES;
  const values = [bucket, accountId, first, before, number, limit + 1];
  return (await pool.query<EntryRow>(text, values)).rows;
}

const LAST_SEQ = 2n ** 63n - 1n;

function entryOf(row: EntryRow, account: Account, earlier: bigint): Entry {
  const kind = KIND_NAMES.get(row.kind);
  if (kind === undefined) throw new RangeError(`Step ${row.seq} of account ${account.id} changes no credit.`);
  const note = row.detail === null ? null : noteOf(readDetail(row.detail));
  const isCharge = kind === "charge";
  const spender = row.budget1 === null ? undefined : account.budgets[row.budget1 - 1];
  return {
    id: earlier + row.seq,
    kind,
    at: new Date(Number(row.at)),
    credits: isCharge ? -row.charge : row.credits,
    holdId: isCharge ? row.id : null,
    model: row.model,
    spenderId: spender?.definition.id ?? null,
    source: kind === "deposit" || kind === "refund" ? note : null,
    reason: kind === "adjustment" ? note : null,
    bookingId: isCharge ? null : row.id,
  };
}

function noteOf(detail: StepDetail): string | null {
  return "note" in detail ? detail.note : null;
}

async function sumUsage(pool: Pool, filter: UsageFilter): Promise<UsageSums> {
  const { accountId, group, perDay, fromDay, toDay, spenderId, model, limit } = filter;
  const values = [
    ...[accountId, fromDay, toDay, spenderId ?? null, model ?? null],
    ...[limit + 1, bucketOf(accountId)],
  ];
  const { rows } = await pool.query<UsageRow>(sumUsageBy(group, perDay), values);
  const total = rows.find(({ is_total: isTotal }) => isTotal);
  const sums = rows.flatMap(({ is_total: isTotal, name, ...sum }) =>
    isTotal ? [] : [{ group: name, ...sum }],
  );
  const { entries, hasMore } = pageOf(sums, limit);
  return { sums: entries, hasMore, requests: total?.requests ?? 0n, credits: total?.credits ?? 0n };
}
