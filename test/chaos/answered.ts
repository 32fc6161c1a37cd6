// Waits until a load of mixed processes has answered a number of orders.
import { until } from "@gr/testing";
import type { RunningLoad } from "./load.ts";

const PATIENCE = { timeoutMs: 120_000 };

/** Waits until this number of further orders is answered. */
export async function answered(load: RunningLoad, count: number): Promise<void> {
  const wanted = load.sent.length + count;
  await until(() => load.sent.length >= wanted, PATIENCE);
}
