// How long a mixture of processes is left alone: until it has answered so many orders.
import { until } from "@gr/testing";
import type { RunningLoad } from "./load.ts";

const PATIENCE = { timeoutMs: 120_000 };

/** Waits until so many more have their answers. */
export async function answered(load: RunningLoad, count: number): Promise<void> {
  const wanted = load.sent.length + count;
  await until(() => load.sent.length >= wanted, PATIENCE);
}
