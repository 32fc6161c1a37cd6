// Pages of holds: each statement follows an index and reads as many rows as its page has, on both sides of the carry.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { PAGE, PAGE_OF_ACCOUNT } from "../before-steps/earlier-hold-store.ts";
import { bucketOf } from "../chain/bucket.ts";
import { PLAN_BY_KEY } from "../chain/step-store.ts";
import { ChainRig } from "../test/chain/chain-rig.ts";
import { fillHolds } from "../test/many-holds-store.ts";
import { OPEN, OPEN_OF_ACCOUNT, PLACED, PLACED_OF_ACCOUNT } from "./hold-page-store.ts";

const HOLDS = 5_000;
const MOST = 11;
const FIRST = "00000000-0000-0000-0000-000000000000";

let rig: ChainRig;
const mine = randomUUID();
beforeAll(async () => {
  rig = await ChainRig.start();
  await rig.withClient((client) => fillHolds(client, mine, HOLDS));
});
afterAll(() => rig?.stop());

interface Plan {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Actual Rows": number;
  readonly "Rows Removed by Filter"?: number;
  readonly Plans?: readonly Plan[];
}

async function nodesOf(sql: string, values: unknown[]): Promise<Plan[]> {
  return await rig.withClient(async (client) => {
    await client.query("BEGIN");
    await client.query(PLAN_BY_KEY);
    const { rows } = await client.query<{ "QUERY PLAN": [{ Plan: Plan }] }>(
      `EXPLAIN (ANALYZE, FORMAT JSON) ${sql}`,
      values,
    );
    const flat = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(flat)];
    return (rows[0]?.["QUERY PLAN"] ?? []).flatMap(({ Plan: root }) => flat(root));
  });
}

const own = [bucketOf(mine), mine];

test.each([
  ["open holds of all accounts", OPEN, [-1, FIRST, MOST]],
  ["open holds of an account", OPEN_OF_ACCOUNT, [...own, 0, MOST]],
  ["holds of all accounts", PLACED, [0, FIRST, 0, MOST, null]],
  ["holds of an account", PLACED_OF_ACCOUNT, [0, FIRST, 0, MOST, null, ...own]],
  ["captured holds of an account", PLACED_OF_ACCOUNT, [0, FIRST, 0, MOST, [5], ...own]],
  ["later holds of an account", PLACED_OF_ACCOUNT, [...own, HOLDS, MOST, null, ...own]],
  ["holds of before the chain", PAGE, [null, null, null, null, MOST]],
  ["holds of an account before the chain", PAGE_OF_ACCOUNT, [null, null, null, null, MOST, mine]],
])("a page of %s reads its own rows, in order", async (_name, sql, values) => {
  const nodes = await nodesOf(sql, values);
  const scans = nodes.filter((node) => node["Relation Name"] !== undefined);
  expect(scans.length).toBeGreaterThan(0);
  expect(nodes.map((node) => node["Node Type"])).not.toContain("Sort");
  for (const scan of scans) {
    expect(scan["Node Type"]).toMatch(/^Index/);
    // The page lists places, and each place has an end behind it.
    expect(scan["Actual Rows"] + (scan["Rows Removed by Filter"] ?? 0)).toBeLessThanOrEqual(2 * MOST);
  }
  expect(nodes[0]?.["Actual Rows"]).toBe(MOST);
});
