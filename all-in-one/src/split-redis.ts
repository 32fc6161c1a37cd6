// Redis for several processes on one machine: as given, else a private one that keeps nothing and is started again,
// empty, when it dies. Where none can be had the router runs without, and each gateway counts its limits alone.
import { fileURLToPath } from "node:url";
import { EmbeddedError, type RedisServer, startRedis } from "@gr/embedded";
import type { Environment } from "@gr/runtime";
import { keepServer } from "./kept-server.ts";

const CACHE = fileURLToPath(new URL("../../.tools", import.meta.url));

export interface SplitRedis {
  /** What the modules need in order to use it. */
  readonly env: Environment;
  close(): Promise<void>;
}

/** @param tell says in one sentence that there is no Redis, and why, or that it has died */
export async function openRedis(outer: Environment, tell: (sentence: string) => void): Promise<SplitRedis> {
  const none = { env: {}, close: async () => undefined };
  if (outer["REDIS_URL"]) return none;
  try {
    const redis = await keepServer("Redis", startAt, tell);
    return { env: { REDIS_URL: redis.url }, close: () => redis.stop() };
  } catch (error) {
    if (!(error instanceof EmbeddedError)) throw error;
    tell(`${error.message} Until then the gateway counts its limits alone.`);
    return none;
  }
}

/** The address says everything that must stay the same: port and password. */
function startAt(url: string | undefined): Promise<RedisServer> {
  if (url === undefined) return startRedis({ cacheDir: CACHE });
  const { port, password } = new URL(url);
  return startRedis({ cacheDir: CACHE, port: Number(port), password });
}
