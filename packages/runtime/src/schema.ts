// Schemas of a process: each module opens a pool on its tables. Before that, this process migrates them, or waits for
// another that does. While it waits, a process is alive and not ready, and reports the reason.
import { Gauge, type Registry } from "prom-client";
import type { z } from "zod";
import { migrate, pendingFiles } from "./database/migrate.ts";
import type { Schema } from "./database/migration-files.ts";
import { connectPostgres, type Pool } from "./database/postgres.ts";
import type { Module } from "./module.ts";
import type { Timer } from "./process/clock.ts";
import {
  type Environment,
  type ProcessConfig,
  postgresConfig,
  readConfig,
  refuseProblems,
  trustedSecrets,
} from "./process/config.ts";
import type { Logger } from "./process/logger.ts";
import { sentenceOf } from "./process/operator-error.ts";
import { startServiceHttp } from "./service-http.ts";

const LOOK_EVERY_MS = 1_000;

export type PostgresConfig = z.infer<typeof postgresConfig>;

/** A module's schema and its database. */
export interface PlacedSchema {
  readonly schema: Schema;
  readonly config: PostgresConfig;
}

/**
 * @param metrics registry that counts the connections
 * @throws OperatorError if the server is not usable.
 */
export async function openPool(
  config: PostgresConfig,
  schema: Schema,
  log: Logger,
  metrics?: Registry,
): Promise<Pool> {
  const { DATABASE_URL: url, DATABASE_POOL_SIZE: poolSize } = config;
  const { name } = schema;
  const pool = await connectPostgres({ url, poolSize, schema: name, log });
  if (metrics !== undefined) countConnections(metrics, name, pool);
  return pool;
}

/** Pools by the registry of their process, and by schema. */
const counted = new WeakMap<Registry, Map<string, Pool>>();

function countConnections(metrics: Registry, schema: string, pool: Pool): void {
  const known = counted.get(metrics);
  if (known !== undefined) {
    known.set(schema, pool);
    return;
  }
  const pools = new Map([[schema, pool]]);
  counted.set(metrics, pools);
  const gauge = (name: string, help: string, read: (pool: Pool) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ["schema"],
      registers: [metrics],
      collect() {
        for (const [each, its] of pools) this.set({ schema: each }, read(its));
      },
    });
  gauge("postgres_connections", "Connections to PostgreSQL", (its) => its.totalCount);
  gauge("postgres_idle_connections", "Connections to PostgreSQL that nobody uses", (its) => its.idleCount);
  gauge("postgres_waiting_queries", "Queries that wait for a connection", (its) => its.waitingCount);
}

/**
 * Returns the schemas of all modules with tables.
 * @throws OperatorError if the environment does not name their database.
 */
export function placedSchemas(modules: readonly Module[], env: Environment): PlacedSchema[] {
  const problems: string[] = [];
  const placed = modules.flatMap(({ name, schema }) => {
    if (schema === undefined) return [];
    const result = readConfig(name, postgresConfig, env);
    if ("config" in result) return [{ schema, config: result.config }];
    problems.push(...result.problems);
    return [];
  });
  refuseProblems(problems);
  return placed;
}

/** @returns a sentence for each. @throws OperatorError at the first that cannot be migrated. */
export async function migrateSchemas(placed: readonly PlacedSchema[], log: Logger): Promise<string[]> {
  const sentences: string[] = [];
  for (const { schema, config } of placed) {
    const applied = await withPool({ schema, config }, log, (pool) => migrate(pool, schema));
    sentences.push(
      `${schema.name}: ${applied.length === 0 ? "nothing to do" : `applied ${applied.join(", ")}`}.`,
    );
  }
  return sentences;
}

export interface SchemaWait {
  readonly config: ProcessConfig;
  readonly log: Logger;
  readonly metrics: Registry;
  readonly clock: Timer;
  /** Ends the wait. */
  readonly stopping: AbortSignal | undefined;
}

/** @returns false if a stop request ended the wait. */
export async function awaitSchemas(placed: readonly PlacedSchema[], waiting: SchemaWait): Promise<boolean> {
  const { config, log, metrics, clock, stopping } = waiting;
  const look = async () => (await Promise.all(placed.map((one) => problemOf(one, log)))).flat();
  let problems = await look();
  if (problems.length === 0) return true;
  log.warn({ problems }, "waiting for the schema");
  const http = await startServiceHttp({
    host: config.SERVICE_HOST,
    port: config.SERVICE_HTTP_PORT,
    modules: [],
    trust: { trustedSecrets: trustedSecrets(config), clock },
    readiness: { problems: async () => problems },
    log,
    metrics,
  });
  try {
    while (problems.length > 0) {
      await clock.sleep(LOOK_EVERY_MS, stopping);
      if (stopping?.aborted) return false;
      problems = await look();
    }
  } finally {
    await http.close(0);
  }
  return true;
}

/** Returns the problem; an unreachable server is one, like a missing migration. */
async function problemOf(placed: PlacedSchema, log: Logger): Promise<string[]> {
  const { name } = placed.schema;
  try {
    const lack = await withPool(placed, log, (pool) => lackOf(pool, placed.schema));
    return lack === undefined ? [] : [lack];
  } catch (error) {
    return [`the schema ${name} cannot be used: ${sentenceOf(error)}`];
  }
}

async function lackOf(pool: Pool, schema: Schema): Promise<string | undefined> {
  const pending = await pendingFiles(pool, schema);
  if (pending.length === 0) return undefined;
  return `the schema ${schema.name} lacks ${pending.join(", ")}; run its service with the argument "migrate"`;
}

/**
 * Checks the schema of a running process: another database may be a restored backup, or a newer version may have
 * removed something.
 * @throws Error that names the fault
 */
export async function requireSchema(pool: Pool, schema: Schema): Promise<void> {
  const lack = await lackOf(pool, schema);
  if (lack !== undefined) throw new Error(lack);
}

async function withPool<T>(
  { schema, config }: PlacedSchema,
  log: Logger,
  work: (pool: Pool) => Promise<T>,
): Promise<T> {
  const pool = await openPool(config, schema, log);
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
}
