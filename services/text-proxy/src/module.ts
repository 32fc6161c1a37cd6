// The text proxy as a module: no tables of its own, one upstream, a copy of the catalogue, billing by RPC.
import { createBilling, createCatalogCopy } from "@gr/clients";
import { BillingService } from "@gr/proto/billing";
import { CatalogService } from "@gr/proto/catalog";
import { defineModule } from "@gr/runtime";
import { textUpstreamOf } from "@gr/text-upstream";
import { type TextProxyConfig, textProxyConfig } from "./config.ts";
import { createTextEvents } from "./events.ts";
import type { TextDeps } from "./exchange.ts";
import { HoldResolver, SERVICE } from "./resolve-holds.ts";
import { textRest } from "./rest.ts";
import { RunningRequests } from "./running-requests.ts";
import { Upstream } from "./upstream.ts";

/** How long requests whose client has left may go on when the process stops. */
const DRAIN_MS = 3_000;
/** How long it may take to tell billing of those that were given up. */
const SETTLE_MS = 1_000;

export const textProxyModule = defineModule({
  name: SERVICE,
  needs: ["billing", "catalog"],
  config: textProxyConfig,
  async create({ config, log, clock, metrics, dial }) {
    const running = new RunningRequests(config.TEXT_MAX_RUNNING);
    const events = createTextEvents(log, metrics, () => running.count);
    const leases = dial("billing", BillingService);
    const billing = createBilling(leases, clock);
    const catalog = createCatalogCopy(dial("catalog", CatalogService), log);
    const upstream = openUpstream(config);
    const intervalMs = config.RESOLVE_INTERVAL_MS;
    const resolver = new HoldResolver({ leases, billing, upstream, events, clock, intervalMs });
    const deps: TextDeps = { config, billing, catalog, upstream, resolver, running, events, clock };
    return {
      rest: textRest(deps),
      start: async () => {
        await catalog.start();
        resolver.start();
      },
      ready: async () => catalog.version() !== "" || "the catalogue has not arrived yet",
      stop: async () => {
        await running.drained(DRAIN_MS);
        upstream?.abortAll(new Error("the process stops"));
        await running.drained(SETTLE_MS);
        await resolver.stop();
        await catalog.stop();
        await upstream?.close();
      },
    };
  },
});

function openUpstream(config: TextProxyConfig): Upstream | undefined {
  const upstream = textUpstreamOf(config);
  if (upstream === undefined) return undefined;
  return new Upstream(upstream, {
    connectMs: config.TEXT_CONNECT_TIMEOUT_MS,
    headersMs: config.TEXT_HEADERS_TIMEOUT_MS,
    idleMs: config.TEXT_IDLE_TIMEOUT_MS,
    totalMs: config.TEXT_TOTAL_TIMEOUT_MS,
  });
}
