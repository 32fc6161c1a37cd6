// The text proxy as a module: no tables of its own, the upstreams, a copy of the catalogue, billing by RPC.
import {
  createBilling,
  createCatalogCopy,
  createRouteHealth,
  createSavedTexts,
  createTextLog,
  RouteCondition,
  type RouteStateInit,
} from "@gr/clients";
import { countByProvider, HoldRecord, losingRoutes, lossCalls, PaidRequests } from "@gr/paid-request";
import { BillingService, TextLogService } from "@gr/proto/billing";
import { CatalogService } from "@gr/proto/catalog";
import { RouteHealthService } from "@gr/proto/routes";
import { SavedTextService } from "@gr/proto/saved-texts";
import { TextProxyService } from "@gr/proto/text";
import { type Clock, defineModule, implement, nextTurn } from "@gr/runtime";
import { textUpstreamsOf } from "@gr/text-upstream";
import { type TextProxyConfig, textProxyConfig } from "./config.ts";
import { createTextEvents, type TextEvents } from "./events.ts";
import { inputBudgetOf } from "./input-budget.ts";
import { textRest } from "./rest.ts";
import type { TextKinds } from "./text-kinds.ts";
import { CircuitBreaker } from "./upstream/circuit-breaker.ts";
import { Upstream } from "./upstream/upstream.ts";

const SERVICE = "text-proxy";
const LEASE_ROUNDS = 3;
const SHORTEST_LEASE_MS = 2_000;
/** Number of checks per lease, enough for a renewal before its end. */
const RENEWALS_A_LEASE = 10;

export const textProxyModule = defineModule({
  name: SERVICE,
  needs: ["billing", "catalog"],
  config: textProxyConfig,
  memoryWeight: 1,
  async create({ config, log, clock, metrics, memoryBytes, dial }) {
    const events = createTextEvents(log, metrics, {
      running: () => paid.running.served,
      lossyRoutes: () => countByProvider([...upstreams.keys()], paid.losses.closings()),
      openBreakers: () => [...upstreams.values()].map(({ name, openBreakers }) => [name, openBreakers]),
    });
    const billing = createBilling(dial("billing", BillingService), clock, nextTurn);
    const textLog = createTextLog(dial("billing", TextLogService), { lost: events.linesLost }, clock);
    const savedTexts = createSavedTexts(dial("billing", SavedTextService), events.textsNotSaved, clock);
    const catalog = createCatalogCopy(dial("catalog", CatalogService), log);
    const upstreams = openUpstreams(config, events, clock);
    const health = createRouteHealth(dial("catalog", RouteHealthService), {
      service: SERVICE,
      states: () => [...breakerStates(upstreams), ...losingRoutes(paid.losses)],
      failed: (err) => log.warn({ err }, "the health of routes is not reported; operators see older figures"),
      clock,
    });
    const paid: PaidRequests<TextKinds> = new PaidRequests<TextKinds>({
      service: SERVICE,
      billing,
      health,
      record: new HoldRecord(billing, ({ kept }) => kept, events.notKept),
      lookUp: {
        canAsk: (provider) => upstreams.get(provider)?.kind.generations !== undefined,
        ask: async (provider, billId) => upstreams.get(provider)?.lookUp(billId) ?? "silent",
      },
      events,
      clock,
      attempts: {
        operation: "chat",
        outputOf: () => "text",
        tokensOf: ({ meters }) => ({ input: meters.inputTokens, output: meters.outputTokens }),
      },
      settings: settingsOf(config),
    });
    const inputBytes = config.TEXT_MAX_INPUT_BYTES ?? inputBudgetOf(memoryBytes);
    return {
      rpc: [implement(TextProxyService, lossCalls(paid.losses))],
      rest: textRest({
        config,
        billing,
        catalog,
        upstreams,
        paid,
        events,
        textLog,
        savedTexts,
        clock,
        inputBytes,
      }),
      start: async () => {
        await catalog.start();
        textLog.start();
        savedTexts.start();
        paid.start();
        health.start();
      },
      ready: async () => catalog.version() !== "" || "the catalogue has not arrived yet",
      cancel: () => paid.running.cancelAll("the process stops"),
      stop: async () => {
        await paid.stop();
        await health.stop();
        await textLog.stop();
        await savedTexts.stop();
        await catalog.stop();
        await Promise.all([...upstreams.values()].map((upstream) => upstream.close()));
      },
    };
  },
});

const CONDITIONS = {
  open: RouteCondition.OPEN,
  probing: RouteCondition.PROBING,
  cooling: RouteCondition.COOLING,
} as const;

function breakerStates(upstreams: ReadonlyMap<string, Upstream>): RouteStateInit[] {
  return [...upstreams.values()].flatMap(({ name: provider, conditions }) =>
    conditions.map(({ upstreamModel, name, since, until }) => ({
      ...{ provider, upstreamModel, condition: CONDITIONS[name] },
      ...{ since: BigInt(since ?? 0), until: BigInt(until) },
    })),
  );
}

function settingsOf(config: TextProxyConfig) {
  const { HOLD_LEASE_MS, HOLD_GRACE_MS, RESOLVE_INTERVAL_MS } = config;
  return {
    mostRunning: config.TEXT_MAX_RUNNING,
    graceMs: HOLD_GRACE_MS,
    resolveEveryMs: RESOLVE_INTERVAL_MS,
    leaseMs: Math.max(LEASE_ROUNDS * RESOLVE_INTERVAL_MS, SHORTEST_LEASE_MS),
    renewEveryMs: Math.ceil(HOLD_LEASE_MS / RENEWALS_A_LEASE),
    holdForMs: HOLD_LEASE_MS + HOLD_GRACE_MS,
  };
}

/** Opens the configured upstreams, by their name in the models' routes. */
function openUpstreams(
  config: TextProxyConfig,
  events: TextEvents,
  clock: Clock,
): ReadonlyMap<string, Upstream> {
  const breaker = { failures: config.TEXT_BREAKER_FAILURES, pauseMs: config.TEXT_BREAKER_PAUSE_MS };
  const timers = {
    connectMs: config.TEXT_CONNECT_TIMEOUT_MS,
    headersMs: config.TEXT_HEADERS_TIMEOUT_MS,
    idleMs: config.TEXT_IDLE_TIMEOUT_MS,
    totalMs: config.TEXT_TOTAL_TIMEOUT_MS,
  };
  const opened = textUpstreamsOf(config).map((upstream) => {
    const { name } = upstream;
    const newBreaker = (model: string) =>
      new CircuitBreaker(breaker, () => clock.now(), {
        opened: (pauseMs) => events.breakerOpened(name, model, pauseMs),
        closed: () => events.breakerClosed(name, model),
      });
    return [name, new Upstream(upstream, timers, newBreaker)] as const;
  });
  return new Map(opened);
}
