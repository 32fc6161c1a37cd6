// RouteHealthService stores the reports of all processes, and sums them for operators. No request path calls it.
import { ServiceError } from "@gr/proto";
import {
  type AttemptSum,
  type ReadRoutesRequest,
  type ReportRoutesRequest,
  RouteHealthService,
} from "@gr/proto/routes";
import { type Clock, implement, isUuid, type RpcService } from "@gr/runtime";
import type { HealthStore } from "./health-store.ts";
import { quantileOf } from "./quantile.ts";

const WINDOW_MS = 300_000;
const MOST_WINDOWS = 400;
const MOST_ROWS = 1_000;
const MOST_CHARACTERS = 300;
const MOST_COUNTS = 64;
const DAY_MS = 86_400_000;
/** Longest range of a reader, and a day. */
export const WINDOWS_KEPT_MS = 8 * DAY_MS;
export const REPORTS_KEPT_MS = DAY_MS;
/** A clock may be ahead by this. */
const AHEAD_MS = 3_600_000;

export function healthRpc(store: HealthStore, clock: Clock): RpcService {
  return implement(RouteHealthService, healthCalls(store, clock));
}

export function healthCalls(store: HealthStore, clock: Clock) {
  return {
    async reportRoutes(request: ReportRoutesRequest) {
      const report = readReport(request, clock.now());
      await store.report(report, clock.now());
      return {};
    },
    async readRoutes(request: ReadRoutesRequest) {
      const now = clock.now();
      const { from, windowMs } = readRange(request, now);
      const [processes, windows, tookCounts] = await Promise.all([
        store.processes(now - REPORTS_KEPT_MS),
        store.windows(from, windowMs),
        store.tookCounts(from),
      ]);
      const byProvider = Map.groupBy(windows, ({ provider }) => provider);
      return {
        processes: processes.map(({ reportedAt, states, ...process }) => ({
          ...process,
          reportedAt: BigInt(reportedAt),
          states: states.map(({ since, until, lossPicoUsd, ...state }) => ({
            ...state,
            ...{ since: BigInt(since), until: BigInt(until), lossPicoUsd: BigInt(lossPicoUsd) },
          })),
        })),
        providers: [...byProvider].map(([provider, rows]) => {
          const sum = (name: "delivered" | "failed" | "refused") =>
            rows.reduce((total, row) => total + row[name], 0n);
          const counts = tookCounts.get(provider) ?? [];
          return {
            ...{ provider, delivered: sum("delivered"), failed: sum("failed"), refused: sum("refused") },
            medianMs: BigInt(quantileOf(counts, 50n)),
            p95Ms: BigInt(quantileOf(counts, 95n)),
            windows: rows.map(({ beginsAt, delivered, failed, refused }) => ({
              ...{ beginsAt: BigInt(beginsAt), delivered, failed, refused },
            })),
          };
        }),
      };
    },
  };
}

/** @throws ServiceError invalid_value */
function readReport({ processId, service, number, states, attempts }: ReportRoutesRequest, now: number) {
  if (!isUuid(processId)) throw invalid("process_id", "It must be a UUID");
  if (number < 1n) throw invalid("number", "It must be at least 1");
  if (states.length > MOST_ROWS) throw invalid("states", `It has at most ${MOST_ROWS} entries`);
  if (attempts.length > MOST_ROWS) throw invalid("attempts", `It has at most ${MOST_ROWS} entries`);
  return {
    ...{ processId, service: nameIn("service", service), number },
    states: states.map(({ provider, upstreamModel, condition, since, until, lossPicoUsd }) => ({
      ...{ provider: nameIn("states.provider", provider), condition },
      upstreamModel: nameIn("states.upstream_model", upstreamModel),
      ...{ since: String(since), until: String(until), lossPicoUsd: String(lossPicoUsd) },
    })),
    attempts: attempts.map((sum) => readSum(sum, now)),
  };
}

function readSum(sum: AttemptSum, now: number) {
  const { delivered, failed, refused, tookCounts } = sum;
  const beginsAt = Number(sum.beginsAt);
  if (beginsAt % WINDOW_MS !== 0 || beginsAt < 0 || beginsAt > now + AHEAD_MS) {
    throw invalid("attempts.begins_at", "It must be the begin of five minutes, and not in the future");
  }
  if ([delivered, failed, refused, ...tookCounts].some((count) => count < 0n)) {
    throw invalid("attempts", "No count may be below zero");
  }
  if (tookCounts.length > MOST_COUNTS) throw invalid("attempts.took_counts", "It has too many counts");
  const provider = nameIn("attempts.provider", sum.provider);
  return { provider, beginsAt, delivered, failed, refused, tookCounts };
}

function readRange({ from, windowMs }: ReadRoutesRequest, now: number) {
  const [first, length] = [Number(from), Number(windowMs)];
  if (length < WINDOW_MS || length % WINDOW_MS !== 0) {
    throw invalid("window_ms", "It must be a multiple of five minutes");
  }
  if (first < now - WINDOWS_KEPT_MS) throw invalid("from", "Windows are kept for eight days");
  if ((now - first) / length > MOST_WINDOWS) {
    throw invalid("window_ms", `At most ${MOST_WINDOWS} windows fit in one answer`);
  }
  return { from: first, windowMs: length };
}

function nameIn(field: string, value: string): string {
  if (value !== "" && value.length <= MOST_CHARACTERS && !value.includes("\0")) return value;
  throw invalid(field, `It must have 1 to ${MOST_CHARACTERS} characters`);
}

function invalid(param: string, message: string): ServiceError {
  return new ServiceError("invalid_value", `${message} (field "${param}").`, { param });
}
