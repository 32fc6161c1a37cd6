// The console module: opens its schema, then serves the web application's API through the gateway, and operators over RPC.
import { join } from "node:path";
import { BillingReportService, BillingService } from "@gr/proto/billing";
import { CatalogService } from "@gr/proto/catalog";
import { KeysService } from "@gr/proto/keys";
import { MediaGenerationService } from "@gr/proto/media";
import { createReadyCheck, defineModule, openPool, startRounds } from "@gr/runtime";
import { createAttempts } from "./attempts.ts";
import { consoleConfig } from "./config.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { createConsoleEvents } from "./events.ts";
import { linksTo } from "./links.ts";
import { createMailer } from "./mailer.ts";
import { createModelKinds } from "./model-kinds.ts";
import { createPeople } from "./people.ts";
import { consoleRest } from "./rest.ts";
import { consoleRpc } from "./rpc.ts";
import { createConsoleStore } from "./store.ts";
import { terminal } from "./terminal.ts";

const READY_FOR_MS = 1_000;
const SWEEP_EVERY_MS = 600_000;

const schema = { name: "console", migrations: join(import.meta.dirname, "../migrations") };

export const consoleModule = defineModule({
  name: "console",
  needs: ["keys", "billing", "catalog", "media-generation"],
  config: consoleConfig,
  schema,
  async create({ config, log, clock, metrics, dial }) {
    const pool = await openPool(config, schema, log);
    const store = createConsoleStore(pool);
    const mailer = createMailer(config, { log, terminal });
    const links = linksTo(config.CONSOLE_URL);
    const deps: ConsoleDeps = {
      config,
      store,
      people: createPeople({ config, pool, mailer, links, log }),
      attempts: createAttempts(store, clock),
      mailer,
      links,
      keys: dial("keys", KeysService),
      billing: dial("billing", BillingService),
      reports: dial("billing", BillingReportService),
      media: dial("media-generation", MediaGenerationService),
      modelKinds: createModelKinds(dial("catalog", CatalogService), clock),
      events: createConsoleEvents(log, metrics),
      clock,
    };
    let stopSweeping: (() => Promise<void>) | undefined;
    return {
      rpc: [consoleRpc(deps)],
      rest: consoleRest(deps),
      start: async () => {
        stopSweeping = startRounds({
          clock,
          pauseMs: SWEEP_EVERY_MS,
          round: () => store.sweep(),
          failed: (err) =>
            log.warn({ err }, "what has expired could not be deleted; the next round tries again"),
        });
      },
      ready: createReadyCheck({
        work: () => store.ping(),
        problem: "PostgreSQL does not answer",
        keptMs: READY_FOR_MS,
        clock,
      }),
      stop: async () => {
        await stopSweeping?.();
        mailer.close();
        await pool.end();
      },
    };
  },
});
