// RouteHealth counts the ends of attempts and reports them to the catalogue service with the states of routes. No request
// waits for a report. A report is repeated until it arrives, under one number, so it counts once.
import { randomUUID } from "node:crypto";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { RouteCondition, type RouteHealthService, type RouteStateSchema } from "@gr/proto/routes";
import { type ServiceClient, startRounds, type Timer } from "@gr/runtime";

export { RouteCondition };
export type RouteStateInit = MessageInitShape<typeof RouteStateSchema>;

/** `failed` speaks of the provider, `refused` of the request. */
export type AttemptResult = "delivered" | "failed" | "refused";

export interface RouteHealth {
  /** Never throws and never waits. @param tookMs duration of the attempt */
  record(provider: string, result: AttemptResult, tookMs: number): void;
  start(): void;
  /** Sends the last report, if the catalogue service answers. */
  stop(): Promise<void>;
}

export interface RouteHealthOptions {
  readonly service: string;
  /** States of routes that are not usual, as of now. */
  readonly states: () => readonly RouteStateInit[];
  /** Reports the first failure of a series. */
  readonly failed: (error: unknown) => void;
  readonly clock: Timer;
}

/** Length of the windows in which attempts are counted, in milliseconds. */
export const ATTEMPT_WINDOW_MS = 300_000;
const REPORT_EVERY_MS = 10_000;
/** Sums in one report, and sums that wait while the catalogue service is away; the oldest are dropped. */
const MOST_SUMS = 500;
const MOST_STATES = 1_000;
const SHORTEST_MS = 100;
/** Counts of durations: from 100 ms in half octaves to 10 minutes, and all longer ones. */
export const TOOK_COUNTS = 27;

interface Sum {
  readonly provider: string;
  readonly beginsAt: bigint;
  delivered: bigint;
  failed: bigint;
  refused: bigint;
  readonly tookCounts: bigint[];
}

export function createRouteHealth(
  client: ServiceClient<typeof RouteHealthService>,
  { service, states, failed, clock }: RouteHealthOptions,
): RouteHealth {
  const processId = randomUUID();
  const sums = new Map<string, Sum>();
  let number = 0n;
  /** Attempts of the report under way, until it arrives. */
  let sent: readonly Sum[] | undefined;
  let isFailing = false;
  let stopRounds: (() => Promise<void>) | undefined;

  function sumOf(provider: string): Sum {
    const beginsAt = BigInt(Math.floor(clock.now() / ATTEMPT_WINDOW_MS) * ATTEMPT_WINDOW_MS);
    const key = `${beginsAt} ${provider}`;
    let sum = sums.get(key);
    if (sum === undefined) {
      const tookCounts = new Array<bigint>(TOOK_COUNTS).fill(0n);
      sum = { provider, beginsAt, delivered: 0n, failed: 0n, refused: 0n, tookCounts };
      sums.set(key, sum);
      const [oldest] = sums.keys();
      if (sums.size > MOST_SUMS && oldest !== undefined) sums.delete(oldest);
    }
    return sum;
  }

  async function report(): Promise<void> {
    if (sent === undefined) {
      sent = [...sums.values()];
      sums.clear();
      number += 1n;
    }
    const attempts = sent.map((sum) => ({ ...sum }));
    await client.reportRoutes({
      ...{ processId, service, number, attempts },
      states: states().slice(0, MOST_STATES),
    });
    sent = undefined;
    isFailing = false;
  }

  function notReported(error: unknown): void {
    if (!isFailing) failed(error);
    isFailing = true;
  }

  return {
    record: (provider, result, tookMs) => {
      const sum = sumOf(provider);
      sum[result] += 1n;
      if (result !== "delivered") return;
      const place = tookCountOf(tookMs);
      sum.tookCounts[place] = (sum.tookCounts[place] ?? 0n) + 1n;
    },
    start: () => {
      stopRounds ??= startRounds({ clock, pauseMs: REPORT_EVERY_MS, round: report, failed: notReported });
    },
    stop: async () => {
      await stopRounds?.();
      await report().catch(notReported);
    },
  };
}

/** Returns the place of a duration in the counts. */
export function tookCountOf(ms: number): number {
  const place = Math.ceil(2 * Math.log2(Math.max(ms, SHORTEST_MS) / SHORTEST_MS));
  return Math.min(place, TOOK_COUNTS - 1);
}
