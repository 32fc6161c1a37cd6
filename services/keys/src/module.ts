// The keys module: opens its schema, then serves RPC to the gateway and operators, and REST to management keys.
import { join } from "node:path";
import { createCatalogCopy } from "@gr/clients";
import { BillingService } from "@gr/proto/billing";
import { BudgetService } from "@gr/proto/budgets";
import { CatalogService } from "@gr/proto/catalog";
import { defineModule, openPool, openRedis, startRounds } from "@gr/runtime";
import { keysRest } from "./api/rest.ts";
import { keysRpc } from "./api/rpc.ts";
import { keysConfig } from "./config.ts";
import { createKeyEvents } from "./events.ts";
import { settleKeys } from "./operations/change-key.ts";
import type { KeyDeps } from "./operations/key-deps.ts";
import { createWebTokens } from "./operations/web-token.ts";
import { createUnknownDigests, digestWith } from "./records/key-digest.ts";
import { createRevocations } from "./records/revocations.ts";
import { createKeyStore } from "./records/store.ts";

const schema = { name: "keys", migrations: join(import.meta.dirname, "../migrations") };

/** Pause between two searches for interrupted changes, in milliseconds. */
export const SETTLE_EVERY_MS = 5_000;

export const keysModule = defineModule({
  name: "keys",
  needs: ["billing", "catalog"],
  config: keysConfig,
  schema,
  async create({ config, log, clock, metrics, dial }) {
    const pool = await openPool(config, schema, log, metrics);
    const redis = await openRedis(config, { name: "generation-router keys", log });
    const { WEB_TOKEN_PRIVATE_KEY: tokenKey, WEB_TOKEN_PRIVATE_KEY_OTHER: otherTokenKey } = config;
    const catalog = createCatalogCopy(dial("catalog", CatalogService), log);
    const otherPepper = config.KEY_PEPPER_OTHER;
    const deps: KeyDeps = {
      store: createKeyStore(pool),
      billing: dial("billing", BillingService),
      budgets: dial("billing", BudgetService),
      catalog,
      clock,
      digestOf: digestWith(config.KEY_PEPPER),
      otherDigestOf: otherPepper === undefined ? undefined : digestWith(otherPepper),
      unknownDigests: createUnknownDigests(clock),
      webTokens: tokenKey === undefined ? undefined : createWebTokens(tokenKey, otherTokenKey),
      revocations: createRevocations(redis, clock, log),
      events: createKeyEvents(log, metrics),
      mostKeys: config.MAX_KEYS_PER_ACCOUNT,
    };
    let stopSettling: (() => Promise<void>) | undefined;
    return {
      rpc: [keysRpc(deps)],
      rest: keysRest(deps),
      // Not part of `ready`: only new allow-lists need the catalogue.
      start: async () => {
        stopSettling = startRounds({
          clock,
          pauseMs: SETTLE_EVERY_MS,
          round: (stopping) => settleKeys(deps, stopping),
          failed: (err) => log.warn({ err }, "interrupted changes of keys cannot be read"),
        });
        await catalog.start();
      },
      ready: async () => {
        try {
          await deps.store.ping();
          return true;
        } catch (error) {
          return `PostgreSQL does not answer (${(error as Error).message})`;
        }
      },
      stop: async () => {
        await stopSettling?.();
        await catalog.stop();
        redis?.disconnect();
        await pool.end();
      },
    };
  },
});
