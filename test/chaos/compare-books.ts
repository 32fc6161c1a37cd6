// Compares the books with the upstream's bill, and reports differences as sentences, for programs outside of a test.
import { until } from "@gr/testing";
import { billingOf } from "../e2e/operator.ts";
import type { Upstream } from "./upstream.ts";

export interface BooksCompared {
  /** Differences; empty if all agree. */
  readonly problems: readonly string[];
  /** One sentence of figures. */
  readonly summary: string;
}

/**
 * Waits until no hold is open.
 * @param refused ids of requests that were refused: nothing may have been billed for them
 */
export async function compareBooks(
  dataDir: string,
  upstream: Pick<Upstream, "bill">,
  refused: ReadonlySet<string>,
  timeoutMs: number,
): Promise<BooksCompared> {
  const billing = await billingOf(dataDir);
  await until(async () => (await billing.verifyLedger({})).openHolds === 0n, { timeoutMs });
  const { differences, chargedCostPicoUsd, lostCostPicoUsd, holds } = await billing.verifyLedger({});
  const { total, items } = await upstream.bill();
  const summary = `billed ${total} = charged ${chargedCostPicoUsd} + lost ${lostCostPicoUsd} pico-USD, ${holds} holds`;
  const agree = BigInt(chargedCostPicoUsd) + BigInt(lostCostPicoUsd) === total;
  const billed = items.filter(({ requestId, picoUsd }) => picoUsd > 0n && refused.has(requestId));
  return {
    summary,
    problems: [
      ...differences.map((difference) => `ledger: ${JSON.stringify(difference, printBigint)}`),
      ...(agree ? [] : [`not true: ${summary}`]),
      ...billed.map(({ requestId }) => `refused, and billed all the same: ${requestId}`),
    ],
  };
}

const printBigint = (_name: string, value: unknown) => (typeof value === "bigint" ? String(value) : value);
