// Pages of an account with a million ledger lines, and sums of a year of its usage: each by an index, and no row more read
// than the page has. How long that takes is the machine's affair.
import { randomUUID } from "node:crypto";
import { UsageGroup } from "@gr/proto/billing";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { bucketOf } from "../chain/bucket.ts";
import { BUCKETS } from "../shards/shard-store.ts";
import { type BillingUnderTest, startBilling, THURSDAY } from "../test/start-billing.ts";
import { ALL_ENTRIES, SUM_COSTS, sumUsageBy } from "./report-reads-store.ts";

const LINES = 1_000_000;
const PAGE = 100;

let ledger: BillingUnderTest;
const mine = randomUUID();
const others = randomUUID();

beforeAll(async () => {
  ledger = await startBilling();
  // The followers count no step of a transaction before their first position. The rows of both accounts alternate, as in service.
  await ledger.db.query(
    `INSERT INTO step (tx, bucket, account_id, seq, id, kind, at, credits, charge, cost, place_seq, credited, debited, held,
       attempt, billed_by)
     SELECT 1, get_byte(uuid_send(account_id), 15), account_id, seq, gen_random_uuid(), CASE seq WHEN 1 THEN 1 ELSE 5 END, seq,
         CASE seq WHEN 1 THEN 0 ELSE -1 END, CASE seq WHEN 1 THEN 0 ELSE 1 END, 1, CASE seq WHEN 1 THEN NULL ELSE 1 END, 0, seq, 0, 1, 'p'
       FROM (SELECT i / 2 AS seq, CASE WHEN i % 2 = 0 THEN $1::uuid ELSE $2::uuid END AS account_id
               FROM generate_series(2, 2 * $3::integer + 1) i) line`,
    [mine, others, LINES],
  );
  // A reader continues from the state, so the steps before it need no places.
  await ledger.db.query(
    `INSERT INTO account_state (bucket, account_id, seq, at, credited, debited, held, free_day, free_used, suspended, open_holds)
     SELECT bucket, account_id, seq, at, credited, debited, held, 0, 0, false, '[]' FROM step WHERE seq = $1`,
    [LINES],
  );
  await ledger.db.query(
    `INSERT INTO usage_by_day (bucket, account_id, day, budget_id, model, provider, requests, charge, cost)
     SELECT get_byte(uuid_send(a), 15), a, '2025-01-15'::date + d, md5(s::text)::uuid, 'model ' || m, 'p', 1, 1, 1
       FROM unnest(ARRAY[$1::uuid, $2::uuid]) a, generate_series(1, 365) d, generate_series(1, 20) s, generate_series(1, 10) m`,
    [mine, others],
  );
  await ledger.db.query(
    `INSERT INTO cost_by_day (bucket, day, provider, upstream_model, cost, bookings)
     SELECT b, '2025-01-15'::date + d, 'p', 'm' || m, 1, 1
       FROM generate_series(0, 255) b, generate_series(1, 365) d, generate_series(1, 5) m`,
  );
  await ledger.db.query("VACUUM ANALYZE step, usage_by_day, cost_by_day");
});
afterAll(() => ledger?.stop());

interface Plan {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Actual Rows": number;
  readonly Plans?: readonly Plan[];
}

/** Of the tables that grow; others may be read as PostgreSQL likes. */
async function scansOf(sql: string, values: unknown[]): Promise<Plan[]> {
  const { rows } = await ledger.db.query<{ "QUERY PLAN": [{ Plan: Plan }] }>(
    `EXPLAIN (ANALYZE, FORMAT JSON) ${sql}`,
    values,
  );
  const flat = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(flat)];
  const [{ Plan: root } = { Plan: undefined }] = rows[0]?.["QUERY PLAN"] ?? [];
  if (root === undefined) throw new Error("there is no plan");
  return flat(root).filter((plan) => TABLES.has(plan["Relation Name"] ?? ""));
}

const TABLES = new Set(["step", "usage_by_day", "cost_by_day"]);

test("the first, a middle and the last page read as many lines as they have", async () => {
  for (const before of [2n ** 63n - 1n, BigInt(LINES / 2), 2n * BigInt(PAGE)]) {
    const scans = await scansOf(ALL_ENTRIES, [bucketOf(mine), mine, 1n, before, null, PAGE + 1]);
    expect(scans.length).toBeGreaterThan(0);
    for (const scan of scans) {
      expect(scan["Node Type"]).toMatch(/^Index/);
      expect(scan["Actual Rows"]).toBeLessThanOrEqual(PAGE + 1);
    }
  }
  const { entries, hasMore } = await ledger.reports.listEntries({ accountId: mine, limit: PAGE });
  expect([entries.length, hasMore]).toEqual([PAGE, true]);
});

test("a year of usage is summed from the account's own rows", async () => {
  for (const group of ["day", "spender", "model", "provider"] as const) {
    const values = [mine, "2025-01-16", "2026-01-15", null, null, 1_001, bucketOf(mine)];
    const scans = await scansOf(sumUsageBy(group, false), values);
    expect(scans.length).toBeGreaterThan(0);
    for (const scan of scans) expect(scan["Actual Rows"]).toBeLessThanOrEqual(365 * 20 * 10);
  }
  const sums = await ledger.reports.sumUsage({
    accountId: mine,
    group: UsageGroup.MODEL,
    fromDay: "2025-01-16",
    toDay: new Date(THURSDAY).toISOString().slice(0, 10),
  });
  expect([sums.sums.length, sums.requests]).toEqual([10, BigInt(365 * 20 * 10)]);
});

test("costs of all accounts are summed from the rows of their days", async () => {
  const scans = await scansOf(SUM_COSTS, [BUCKETS, "2025-06-15", "2025-06-15", ["p"], 20_001]);
  expect(scans.length).toBeGreaterThan(0);
  for (const scan of scans) {
    expect(scan["Node Type"]).toMatch(/^(Index|Bitmap Heap)/);
    expect(scan["Actual Rows"]).toBeLessThanOrEqual(256 * 5);
  }
});
