// Compares the books with the outside: the upstream's bill, the clients' answers, the accounts' credit. Exact, to the
// last unit, also after the death of processes.
import type { Credits } from "@gr/money";
import { type Hold, HoldState } from "@gr/proto/billing";
import { until } from "@gr/testing";
import { expect } from "@jest/globals";
import { billingOf } from "../e2e/operator.ts";
import type { Sent } from "./send-order.ts";
import type { Upstream } from "./upstream.ts";

/** Limit of ListHolds. */
const MOST_HOLDS = 1_000;

/** Waits until every hold is resolved: by its request, or by the look-up after its deadline. */
export async function noOpenHolds(dataDir: string, timeoutMs: number): Promise<void> {
  const billing = await billingOf(dataDir);
  await until(async () => (await billing.verifyLedger({})).openHolds === 0n, { timeoutMs });
}

/** All holds of an account, by request id. */
export async function holdsOf(dataDir: string, accountId: string): Promise<Map<string, Hold>> {
  const { holds } = await (await billingOf(dataDir)).listHolds({ accountId, limit: MOST_HOLDS });
  // A check of all holds would be void beyond this number.
  expect(holds.length).toBeLessThan(MOST_HOLDS);
  return new Map(holds.map((hold) => [hold.holdId, hold]));
}

/** Once no hold is open: the ledger verifies, and has the upstream's bill, each item under a hold of its own. */
export async function expectExactBooks(
  dataDir: string,
  upstream: Pick<Upstream, "bill">,
  accountIds: readonly string[],
): Promise<void> {
  const verdict = await (await billingOf(dataDir)).verifyLedger({});
  expect(verdict.differences).toEqual([]);
  expect(verdict.openHolds).toBe(0n);
  const { total, items } = await upstream.bill();
  expect(BigInt(verdict.chargedCostPicoUsd) + BigInt(verdict.lostCostPicoUsd)).toBe(total);
  const billed = items.map(({ requestId }) => requestId);
  expect(new Set(billed).size).toBe(billed.length);
  const holds = new Set<string>();
  for (const accountId of accountIds) {
    for (const id of (await holdsOf(dataDir, accountId)).keys()) holds.add(id);
  }
  expect(billed.filter((id) => !holds.has(id))).toEqual([]);
}

/**
 * Checks one account: each client with an answer was charged once, each refused one never, and the credit is the
 * deposits less the charges. @returns the number of charges
 */
export async function expectHonestAnswers(
  dataDir: string,
  accountId: string,
  sent: readonly Sent[],
): Promise<number> {
  const holds = await holdsOf(dataDir, accountId);
  const charged = (id: string) => holds.get(id)?.state === HoldState.CAPTURED;
  const paid = sent.filter(({ conclusion, replayed }) => conclusion === "paid" && !replayed);
  expect(new Set(paid.map(({ requestId }) => requestId)).size).toBe(paid.length);
  expect(paid.filter(({ requestId }) => !charged(requestId))).toEqual([]);
  const refused = sent.filter(({ conclusion }) => conclusion === "refused");
  expect(refused.filter(({ requestId }) => charged(requestId))).toEqual([]);
  const { depositedCredits, remainingCredits, heldCredits } = await (await billingOf(dataDir)).getCredits({
    accountId,
  });
  expect({ remainingCredits, heldCredits }).toEqual({
    remainingCredits: depositedCredits - chargesOf(holds.values()),
    heldCredits: 0n,
  });
  return [...holds.values()].filter(({ state }) => state === HoldState.CAPTURED).length;
}

function chargesOf(holds: Iterable<Hold>): Credits {
  let charges = 0n;
  for (const { state, chargedCredits } of holds)
    charges += state === HoldState.CAPTURED ? chargedCredits : 0n;
  return charges;
}
