// Turns a list of modules into a running process: all configs first, then create and start in the order of needs,
// stop in reverse. Problems become one sentence for the operator and an exit code, never a stack trace.
import type { DescService } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import { buildInfo } from "./build-info.ts";
import { inStartOrder, remoteNeeds } from "./compose.ts";
import type { Module, ModuleInstance } from "./module.ts";
import { Peers, readPeerAddresses } from "./peers.ts";
import { type Clock, systemClock, type Timer } from "./process/clock.ts";
import {
  type Environment,
  longestStopMs,
  type ProcessConfig,
  processConfig,
  readConfig,
  refuseProblems,
  trustedSecrets,
} from "./process/config.ts";
import { createLogger, type Logger } from "./process/logger.ts";
import { memoryShares } from "./process/memory-shares.ts";
import { OperatorError, sentenceOf } from "./process/operator-error.ts";
import { collectWhenQuiet, type ProcessMemory } from "./process/process-memory.ts";
import { answerErrors, requireServiceToken } from "./rpc/rpc-interceptors.ts";
import { healthService, reflectionService } from "./rpc/rpc-introspection.ts";
import { startRpcServer } from "./rpc/rpc-server.ts";
import type { ServiceClient } from "./rpc/service-client.ts";
import { traceAnswers } from "./rpc/trace-calls.ts";
import { awaitSchemas, migrateSchemas, placedSchemas } from "./schema.ts";
import { startServiceHttp } from "./service-http.ts";
import { openTelemetry, type Tracing } from "./telemetry/tracing.ts";

/** Extra time of internal ports, so that the gateway is first to end long requests. */
const PORTS_LATER_MS = 5_000;
/** Time for closing the parts of a process without running work. */
const CLOSING_MS = 10_000;
const SAME_SIGNAL_MS = 1_000;

export interface RunningProcess {
  readonly rpcPort: number;
  readonly httpPort: number;
  readonly log: Logger;
  dial<Desc extends DescService>(module: string, service: Desc): ServiceClient<Desc>;
  /** Returns the public address of a module of this process, if it has one. */
  publicUrl(module: string): string | undefined;
  /** Longest time for running requests after a stop request, in milliseconds. */
  readonly stopGraceMs: number;
  stop(): Promise<void>;
}

export interface StartOptions {
  readonly env: Environment;
  readonly clock?: Timer;
  /** Replaces the limits of the process in tests. */
  readonly memory?: ProcessMemory;
  /** Ends a start that waits for its schema. */
  readonly stopping?: AbortSignal;
}

/** Start that a stop request ended; nothing keeps running. */
class StartStopped extends Error {
  override readonly name = "StartStopped";
}

/** @throws OperatorError with a sentence that names the remedy. */
export async function startProcess(
  modules: readonly Module[],
  options: StartOptions,
): Promise<RunningProcess> {
  const clock = options.clock ?? systemClock;
  const ordered = inStartOrder(modules);
  const { config, moduleConfigs, addresses } = readAllConfigs(ordered, options.env);
  const modulesHere = ordered.map(({ name }) => name);
  const log = createLogger(config.LOG_LEVEL, modulesHere.join("+"));
  const metrics = new Registry();
  const shares = memoryShares(ordered, options.memory);
  collectDefaultMetrics({ register: metrics });
  reportBuild(metrics);
  const placed = placedSchemas(ordered, options.env);
  if (config.MIGRATE === "on") {
    await migrateSchemas(placed, log);
  } else if (!(await awaitSchemas(placed, { config, log, metrics, clock, stopping: options.stopping }))) {
    throw new StartStopped("the process was stopped before its schema was there");
  }
  const telemetry = await openTelemetry({ config, modules: modulesHere, metrics, log });
  const { tracing } = telemetry;
  const interceptors = [traceAnswers(tracing), answerErrors(log)];
  const peers = new Peers({
    addresses,
    interceptors,
    secret: config.INTERNAL_AUTH_SECRET,
    clock,
    callTimeoutMs: config.SERVICE_CALL_TIMEOUT_MS,
  });
  const running: { module: Module; instance: ModuleInstance }[] = [];
  // Last of all, so that the work of stopping modules is exported, too.
  const closers: (() => Promise<void>)[] = [telemetry.close];
  const drains: (() => Promise<void>)[] = [];
  let stopping = false;

  const problems = async (): Promise<string[]> => {
    if (stopping) return ["the process is stopping"];
    const answers = await Promise.all(
      running.map(async ({ module, instance }) => {
        try {
          const answer = (await instance.ready?.()) ?? true;
          return answer === true ? [] : [`${module.name}: ${answer}`];
        } catch (error) {
          return [`${module.name}: ${sentenceOf(error)}`];
        }
      }),
    );
    return answers.flat();
  };
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopping = true;
    stopped ??= drainAll(drains, log).then(() => {
      const cancel = () => {
        for (const { instance } of running) instance.cancel?.();
      };
      const over = setTimeout(cancel, config.STOP_GRACE_MS).unref();
      return stopInReverse(closers, log).finally(() => clearTimeout(over));
    });
    return stopped;
  };

  try {
    for (const module of ordered) {
      const instance = await module.create({
        config: moduleConfigs.get(module.name) as never,
        log: log.child({ module: module.name }),
        clock,
        metrics,
        memoryBytes: shares.get(module.name) ?? 0,
        tracing,
        dial: (name, service) => peers.dial(name, service),
        mount: (app, name, points) => peers.mount(app, name, points),
        describeRest: (name) => peers.describeRest(name),
      });
      peers.addLocal(module.name, instance);
      running.push({ module, instance });
      closers.push(async () => instance.stop?.());
    }
    const ports = await openPorts(running, { config, clock, log, metrics, tracing, interceptors, problems });
    // Ports close first on stop, so that no new work arrives while modules finish theirs.
    closers.push(ports.close);
    drains.push(ports.drain, async () => {
      await Promise.all(running.map(({ instance }) => instance.drain?.()));
    });
    for (const { instance } of running) await instance.start?.();
    return {
      ...ports,
      log,
      dial: (name, service) => peers.dial(name, service),
      publicUrl: (name) => running.find(({ module }) => module.name === name)?.instance.publicUrl?.(),
      stopGraceMs: longestStopMs(config),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function reportBuild(metrics: Registry): void {
  const info = new Gauge({
    name: "generation_router_info",
    help: "Which build this is; always 1",
    labelNames: ["version", "commit"],
    registers: [metrics],
  });
  info.set({ ...buildInfo }, 1);
}

function readAllConfigs(modules: readonly Module[], env: Environment) {
  const problems: string[] = [];
  const moduleConfigs = new Map<string, unknown>();
  const own = readConfig("process", processConfig, env);
  if ("problems" in own) problems.push(...own.problems);
  for (const module of modules) {
    const result = readConfig(module.name, module.config, env);
    if ("problems" in result) problems.push(...result.problems);
    else moduleConfigs.set(module.name, result.config);
  }
  const peers = readPeerAddresses(remoteNeeds(modules), env);
  refuseProblems([...problems, ...peers.problems]);
  return {
    config: (own as { config: ProcessConfig }).config,
    moduleConfigs,
    addresses: peers.addresses,
  };
}

async function openPorts(
  running: readonly { module: Module; instance: ModuleInstance }[],
  shared: {
    config: ProcessConfig;
    clock: Clock;
    log: Logger;
    metrics: Registry;
    tracing: Tracing | undefined;
    interceptors: readonly Interceptor[];
    problems: () => Promise<string[]>;
  },
) {
  const { config, clock, log, metrics, tracing, interceptors, problems } = shared;
  const services = running.flatMap(({ instance }) => instance.rpc ?? []);
  const host = config.SERVICE_HOST;
  const described = [...services, healthService(async () => (await problems()).length === 0)];
  const rpc = await startRpcServer({
    host,
    port: config.SERVICE_RPC_PORT,
    services: [...described, reflectionService(described)],
    interceptors,
    gate: requireServiceToken(trustedSecrets(config), clock),
  });
  try {
    const http = await startServiceHttp({
      host,
      port: config.SERVICE_HTTP_PORT,
      modules: running.map(({ module, instance }) => ({ name: module.name, rest: instance.rest })),
      trust: { trustedSecrets: trustedSecrets(config), clock },
      readiness: { problems },
      log,
      metrics,
      tracing,
    });
    const drain = () => http.drain(config.STOP_DRAIN_MS);
    const close = async () => {
      const graceMs = config.STOP_GRACE_MS + PORTS_LATER_MS;
      await Promise.all([http.close(graceMs), rpc.close(graceMs)]);
    };
    return { rpcPort: rpc.port, httpPort: http.port, drain, close };
  } catch (error) {
    await rpc.close(0);
    throw error;
  }
}

async function drainAll(drains: (() => Promise<void>)[], log: Logger): Promise<void> {
  const results = await Promise.allSettled(drains.map((drain) => drain()));
  for (const result of results) {
    if (result.status === "rejected") log.error({ err: result.reason }, "a part did not drain cleanly");
  }
}

async function stopInReverse(closers: (() => Promise<void>)[], log: Logger): Promise<void> {
  for (const close of closers.toReversed()) {
    try {
      await close();
    } catch (error) {
      log.error({ err: error }, "a part did not stop cleanly");
    }
  }
}

type Stoppable = Pick<RunningProcess, "stop" | "stopGraceMs">;

/**
 * Runs until SIGINT or SIGTERM, then stops gracefully; a second signal ends the process at once.
 * Sets the exit code; prints one sentence when the process cannot start.
 */
export async function runUntilSignal(start: (stopping: AbortSignal) => Promise<Stoppable>): Promise<void> {
  const stopping = new AbortController();
  let signalledAt: number | undefined;
  let started: Stoppable | undefined;
  const stop = async () => {
    if (signalledAt !== undefined) {
      // One Ctrl-C arrives twice if npm forwards it as well; only a later one forces the end.
      if (Date.now() - signalledAt > SAME_SIGNAL_MS) process.exit(130);
      return;
    }
    signalledAt = Date.now();
    stopping.abort();
    // A process that is still starting stops right after its start.
    if (started === undefined) return;
    setTimeout(() => process.exit(1), started.stopGraceMs + CLOSING_MS).unref();
    await started.stop();
    process.exit(0);
  };
  process.on("SIGINT", () => void stop());
  process.on("SIGTERM", () => void stop());
  process.on("SIGHUP", () => void stop());
  // A launcher with a channel to this process has died: no other process would stop it.
  process.on("disconnect", () => void stop());
  collectWhenQuiet();
  try {
    started = await start(stopping.signal);
    if (signalledAt !== undefined) {
      await started.stop();
      process.exit(0);
    }
  } catch (error) {
    if (error instanceof StartStopped) process.exit(0);
    endWith(error);
  }
}

/** Ends the process after a failure. */
function endWith(error: unknown): never {
  process.stderr.write(`${sentenceOf(error)}\n`);
  if (!(error instanceof OperatorError) && process.env["LOG_LEVEL"] === "debug") console.error(error);
  process.exit(1);
}

/**
 * The main of a service process. It serves; with the argument `migrate` it updates the schemas and ends; with
 * `--version` it prints its build.
 */
export async function run(modules: readonly Module[]): Promise<void> {
  const [command, ...others] = process.argv.slice(2);
  if (command === undefined) {
    // Many processes of a service may start at once, with a role that may not change tables: another process migrates.
    const env = { ...process.env, MIGRATE: process.env["MIGRATE"] || "off" };
    return runUntilSignal((stopping) => startProcess(modules, { env, stopping }));
  }
  try {
    if (others.length > 0 || !(command === "migrate" || command === "--version")) {
      const text = [command, ...others].join(" ");
      throw new OperatorError(`"${text}" is no command; use migrate, --version, or no argument to serve.`);
    }
    const sentences = command === "migrate" ? await migrateNow(modules) : [buildSentence()];
    process.stdout.write(`${sentences.join("\n")}\n`);
  } catch (error) {
    endWith(error);
  }
}

export const buildSentence = () => `${buildInfo.version} (${buildInfo.commit})`;

function migrateNow(modules: readonly Module[]): Promise<string[]> {
  const placed = placedSchemas(modules, process.env);
  if (placed.length === 0) return Promise.resolve(["There are no tables to migrate."]);
  return migrateSchemas(placed, createLogger("warn", "migrate"));
}
