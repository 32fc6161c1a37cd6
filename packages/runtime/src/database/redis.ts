// Redis connections may be slow, lost or emptied at any moment. Commands fail within their timeout and are never queued
// or sent twice, reconnects run in the background, and no outage ends the process.
import { setTimeout as delay } from "node:timers/promises";
import type { Redis } from "ioredis";
import type { z } from "zod";
import type { redisConfig } from "../process/config.ts";
import type { Logger } from "../process/logger.ts";

export type { Redis };

export interface RedisOptions {
  readonly url: string;
  /** Shown by Redis in its list of clients. */
  readonly name: string;
  readonly log: Logger;
  /**
   * Longest time of one command; 100 ms by default. A process that is suspended for that time fails its own commands.
   */
  readonly commandTimeoutMs?: number;
}

/** Runs a script in one step. Rejects within the command timeout when Redis does not answer. */
export type RedisScript = (keys: readonly string[], values: readonly (string | number)[]) => Promise<unknown>;

const CONNECT_TIMEOUT_MS = 1_000;
const COMMAND_TIMEOUT_MS = 100;
const DISCONNECT_TIMEOUT_MS = 100;
/** Silence after a command, beyond the command's limit, after which a connection is dropped. */
const SILENCE_MS = 1_000;
const RECONNECT_MS = { first: 50, longest: 1_000 };

/**
 * Waits for the connection for at most a second, or for the command timeout if that is longer. Returns in any case,
 * because all callers must work without Redis at any time.
 */
export async function connectRedis(options: RedisOptions): Promise<Redis> {
  const { url, name, log, commandTimeoutMs = COMMAND_TIMEOUT_MS } = options;
  // Loaded on demand: a process without Redis does not load its client.
  const { Redis: Client } = await import("ioredis");
  const redis = new Client(url, {
    lazyConnect: true,
    connectionName: name.replaceAll(" ", "-"),
    connectTimeout: Math.max(CONNECT_TIMEOUT_MS, commandTimeoutMs),
    disconnectTimeout: DISCONNECT_TIMEOUT_MS,
    commandTimeout: commandTimeoutMs,
    socketTimeout: Math.max(SILENCE_MS, commandTimeoutMs),
    // Late commands are useless: an unsent command, or one with a lost connection, fails at once.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(RECONNECT_MS.first * 2 ** (attempt - 1), RECONNECT_MS.longest),
  });
  let usable = true;
  // Without a listener, every failed attempt would be printed; with it, an outage is logged once.
  redis.on("error", (error: NodeJS.ErrnoException) => {
    // After tries of several addresses, the error has no message of its own.
    if (usable) log.warn({ err: error.message || error.code }, "Redis is not usable");
    usable = false;
  });
  redis.on("ready", () => {
    if (!usable) log.info("Redis is usable again");
    usable = true;
  });
  const connected = redis.connect().catch((error: Error) => {
    log.debug({ err: error.message }, "the first attempt to connect to Redis failed");
  });
  const patienceMs = Math.max(CONNECT_TIMEOUT_MS, commandTimeoutMs);
  await Promise.race([connected, delay(patienceMs, undefined, { ref: false })]);
  return redis;
}

/** Connects as connectRedis does, if a URL is configured. */
export async function openRedis(
  { REDIS_URL: url, REDIS_TIMEOUT_MS: commandTimeoutMs }: z.infer<typeof redisConfig>,
  options: Pick<RedisOptions, "name" | "log">,
): Promise<Redis | undefined> {
  return url === undefined ? undefined : connectRedis({ ...options, url, commandTimeoutMs });
}

/** Registers a Lua script; Redis caches it by its digest, and receives it again after a cache miss. */
export function redisScript(redis: Redis, name: string, lua: string): RedisScript {
  redis.defineCommand(name, { lua });
  // The client gets a method of that name, which its type cannot express.
  const commands = redis as unknown as Record<string, (...values: (string | number)[]) => Promise<unknown>>;
  return (keys, values) => {
    const run = commands[name];
    if (run === undefined) throw new Error(`Redis client has no script ${name}`);
    return run.call(redis, keys.length, ...keys, ...values);
  };
}
