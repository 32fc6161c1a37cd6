// Health routes show operators the reports of all processes, and the margin of each provider.
import type { ProviderHealth, RouterHealth, RouterMargins, RouteStateRecord } from "@gr/console-api";
import { type Credits, formatCredits, formatPicoUsd, PICO_PER_CREDIT, type PicoUsd } from "@gr/money";
import { HoldState } from "@gr/proto/billing";
import { type ReadRoutesResponse, RouteCondition } from "@gr/proto/routes";
import type { ConsoleDeps } from "../../console-deps.ts";
import type { Handlers } from "../../door/console-call.ts";
import { DAY_MS, dayOf } from "../../requests/days.ts";

const MINUTE_MS = 60_000;
const RANGES = {
  hour: { windowMs: 5 * MINUTE_MS, windows: 12 },
  day: { windowMs: 30 * MINUTE_MS, windows: 48 },
  week: { windowMs: 360 * MINUTE_MS, windows: 28 },
} as const;
/** Processes report every 10 s. */
const ALIVE_MS = 45_000;
const MOST_HOLDS = 1_000;
/** Providers in one call of billing. */
const MOST_PROVIDERS = 20;
const CONDITIONS: Readonly<Partial<Record<RouteCondition, RouteStateRecord["condition"]>>> = {
  [RouteCondition.OPEN]: "open",
  [RouteCondition.PROBING]: "probing",
  [RouteCondition.COOLING]: "cooling",
  [RouteCondition.LOSING]: "losing",
};

export function healthRoutes(deps: ConsoleDeps): Handlers<"readHealth" | "readMargins"> {
  const { billing, routeHealth, clock } = deps;
  return {
    readHealth: async ({ query }) => {
      const { windowMs, windows } = RANGES[query.range];
      const now = clock.now();
      // The running window is the last one.
      const from = (Math.floor(now / windowMs) - windows + 1) * windowMs;
      const [health, { holds }] = await Promise.all([
        routeHealth.readRoutes({ from: BigInt(from), windowMs: BigInt(windowMs) }),
        billing.listHolds({ state: HoldState.OPEN, limit: MOST_HOLDS }),
      ]);
      const overdue = holds.filter(({ deadlineAt }) => Number(deadlineAt) < now);
      const held = overdue.reduce((sum, { credits }) => sum + credits, 0n);
      const begins = Array.from({ length: windows }, (_, index) => from + index * windowMs);
      return {
        from: timeOf(from),
        window_minutes: windowMs / MINUTE_MS,
        ...processesOf(health, now),
        providers: health.providers.map((provider) => providerOf(provider, begins)),
        overdue: { requests: overdue.length, held: formatCredits(held) },
      };
    },
    readMargins: async ({ query }) => readMargins(deps, Number(query.days)),
  };
}

function processesOf(
  { processes }: ReadRoutesResponse,
  now: number,
): Pick<RouterHealth, "processes" | "states"> {
  const isAlive = ({ reportedAt }: { reportedAt: bigint }) => Number(reportedAt) > now - ALIVE_MS;
  const states = new Map<string, RouteStateRecord>();
  for (const state of processes.filter(isAlive).flatMap((process) => process.states)) {
    const { provider, upstreamModel: model, since, until, lossPicoUsd: loss } = state;
    const condition = CONDITIONS[state.condition] ?? "open";
    const key = `${provider}\n${model}\n${condition}`;
    const known = states.get(key);
    states.set(key, {
      ...{ provider, model, condition },
      since: earliest(known?.since ?? null, since === 0n ? null : timeOf(Number(since))),
      until: latest(known?.until ?? null, until === 0n ? null : timeOf(Number(until))),
      loss: loss === 0n ? (known?.loss ?? null) : formatPicoUsd(loss),
      processes: (known?.processes ?? 0) + 1,
    });
  }
  return {
    processes: processes.map((process) => ({
      service: process.service,
      reported_at: timeOf(Number(process.reportedAt)),
      is_alive: isAlive(process),
    })),
    states: [...states.values()],
  };
}

/** Times of one format sort as text. */
const earliest = (one: string | null, other: string | null) =>
  one === null || other === null ? (one ?? other) : one < other ? one : other;
const latest = (one: string | null, other: string | null) =>
  one === null || other === null ? (one ?? other) : one > other ? one : other;

function providerOf(
  { provider, delivered, failed, refused, medianMs, p95Ms, windows }: ReadRoutesResponse["providers"][number],
  begins: readonly number[],
): ProviderHealth {
  const byBegin = new Map(windows.map((window) => [Number(window.beginsAt), window]));
  return {
    name: provider,
    ...{ delivered: Number(delivered), failed: Number(failed), refused: Number(refused) },
    median_ms: Number(medianMs) || null,
    p95_ms: Number(p95Ms) || null,
    windows: begins.map((begin) => {
      const found = byBegin.get(begin);
      return {
        at: timeOf(begin),
        delivered: Number(found?.delivered ?? 0n),
        failed: Number(found?.failed ?? 0n),
        refused: Number(found?.refused ?? 0n),
      };
    }),
  };
}

interface Margin {
  readonly charged: Credits;
  readonly cost: PicoUsd;
  readonly losses: PicoUsd;
  readonly entries: bigint;
}

const NOTHING: Margin = { charged: 0n, cost: 0n, losses: 0n, entries: 0n };

async function readMargins({ reports, catalog, clock }: ConsoleDeps, days: number): Promise<RouterMargins> {
  const now = clock.now();
  const [fromDay, toDay] = [dayOf(now - (days - 1) * DAY_MS), dayOf(now)];
  const { catalog: current } = await catalog.getCatalog({});
  const names = new Set(
    (current?.models ?? []).flatMap(({ routes }) => routes.map(({ provider }) => provider)),
  );
  const providers = [...names].toSorted();
  const margins = new Map<string, Margin>();
  for (let start = 0; start < providers.length; start += MOST_PROVIDERS) {
    const some = providers.slice(start, start + MOST_PROVIDERS);
    const { sums } = await reports.sumCosts({ fromDay, toDay, providers: some });
    for (const { provider, chargedCredits, costPicoUsd, lostPicoUsd, entries } of sums) {
      const lost = BigInt(lostPicoUsd || "0");
      margins.set(
        provider,
        added(margins.get(provider) ?? NOTHING, {
          ...{ charged: chargedCredits, cost: BigInt(costPicoUsd) - lost, losses: lost, entries },
        }),
      );
    }
  }
  const total = [...margins.values()].reduce(added, NOTHING);
  return {
    ...{ from: fromDay, to: toDay, total: sumsOf(total) },
    data: [...margins]
      .toSorted(([, one], [, other]) => Number(other.charged - one.charged))
      .map(([provider, margin]) => ({ provider, ...sumsOf(margin) })),
  };
}

function added(one: Margin, other: Margin): Margin {
  return {
    charged: one.charged + other.charged,
    cost: one.cost + other.cost,
    losses: one.losses + other.losses,
    entries: one.entries + other.entries,
  };
}

function sumsOf({ charged, cost, losses, entries }: Margin): RouterMargins["total"] {
  return {
    charged: formatCredits(charged),
    cost: formatPicoUsd(cost),
    losses: formatPicoUsd(losses),
    margin: formatPicoUsd(charged * PICO_PER_CREDIT - cost - losses),
    entries: Number(entries),
  };
}

function timeOf(unixMs: number): string {
  return new Date(unixMs).toISOString();
}
