// Pages of an account with a million ledger lines, and sums of a year of its usage: each by an index, and no row more read
// than the page has. How long that takes is the machine's affair.
import { randomUUID } from "node:crypto";
import { UsageGroup } from "@gr/proto/billing";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type BillingUnderTest, startBilling, THURSDAY } from "../test/start-billing.ts";
import { LIST_ENTRIES, SUM_COSTS, sumUsageBy } from "./report-store.ts";

const LINES = 1_000_000;
const PAGE = 100;

let ledger: BillingUnderTest;
const mine = randomUUID();
const others = randomUUID();

beforeAll(async () => {
  ledger = await startBilling();
  await ledger.db.query("INSERT INTO account (id) VALUES ($1), ($2)", [mine, others]);
  // Lines of both alternate, as they come.
  await ledger.db.query(
    `INSERT INTO entry (at, account_id, hold_id, credits, cost, kind, provider, attempt)
     SELECT now(), CASE WHEN i % 2 = 0 THEN $1::uuid ELSE $2::uuid END, gen_random_uuid(), 1, 1, 'charge', 'p', 1
       FROM generate_series(1, 2 * $3::integer) i`,
    [mine, others, LINES],
  );
  await ledger.db.query(
    `INSERT INTO usage_daily (account_id, day, spender_id, model, provider, requests, charge, cost)
     SELECT a, '2025-01-15'::date + d, md5(s::text)::uuid, 'model ' || m, 'p', 1, 1, 1
       FROM unnest(ARRAY[$1::uuid, $2::uuid]) a, generate_series(1, 365) d, generate_series(1, 20) s, generate_series(1, 10) m`,
    [mine, others],
  );
  await ledger.db.query("VACUUM ANALYZE entry, usage_daily, hold");
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
  return flat(root).filter((plan) => ["entry", "usage_daily"].includes(plan["Relation Name"] ?? ""));
}

test("the first, a middle and the last page read as many lines as they have", async () => {
  const { rows } = await ledger.db.query<{ id: bigint }>(
    "SELECT id FROM entry WHERE account_id = $1 ORDER BY id OFFSET $2 LIMIT 1",
    [mine, LINES / 2],
  );
  for (const after of [null, rows[0]?.id, 2n * BigInt(PAGE)]) {
    const scans = await scansOf(LIST_ENTRIES, [mine, null, null, null, after, PAGE + 1]);
    expect(scans).toHaveLength(1);
    expect(scans[0]?.["Node Type"]).toMatch(/^Index/);
    expect(scans[0]?.["Actual Rows"]).toBeLessThanOrEqual(PAGE + 1);
  }
  const { entries, hasMore } = await ledger.reports.listEntries({ accountId: mine, limit: PAGE });
  expect([entries.length, hasMore]).toEqual([PAGE, true]);
});

test("a year of usage is summed from the account's own rows", async () => {
  for (const group of ["day", "spender", "model", "provider"] as const) {
    const values = [mine, "2025-01-16", "2026-01-15", null, null, 1_001];
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

test("costs of all accounts are summed from the entries of their days, found by the index of times", async () => {
  const [from, until] = [new Date("2025-01-15T00:00:00Z"), new Date("2025-01-16T00:00:00Z")];
  const scans = await scansOf(SUM_COSTS, [from, until, ["p"], 20_001]);
  expect(scans.map((scan) => [scan["Node Type"], scan["Actual Rows"]])).toEqual([["Bitmap Heap Scan", 0]]);
});
