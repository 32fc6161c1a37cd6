// Environment to typed config. Each variable stands in exactly one schema; modules that share one (DATABASE_URL)
// share the fragment. All problems of all modules are reported together.
import { z } from "zod";
import { OperatorError } from "./operator-error.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

const MAX_PORT = 65_535;
const NO_PORT = `must be a port, a whole number from 0 to ${MAX_PORT}`;

/** Ports: 0 lets the operating system choose. */
export const port = (byDefault: number) =>
  z.coerce.number(NO_PORT).int(NO_PORT).min(0, NO_PORT).max(MAX_PORT, NO_PORT).default(byDefault);

const NO_MILLISECONDS = "must be milliseconds, a whole number above 0";

/** Positive whole milliseconds. */
export const milliseconds = (byDefault: number) =>
  z.coerce.number(NO_MILLISECONDS).int(NO_MILLISECONDS).min(1, NO_MILLISECONDS).default(byDefault);

const NO_DRAIN = "must be milliseconds, a whole number from 0";

/** Config fragment of every module that keeps tables. */
export const postgresConfig = z.object({
  DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/, error: "must be a postgres:// URL" })
    .describe("PostgreSQL connection URL"),
  DATABASE_POOL_SIZE: z.coerce.number().int().min(2).max(200).default(10),
});

/** Config fragment of whatever is faster with a Redis; nothing needs one. */
export const redisConfig = z.object({
  REDIS_URL: z
    .url({ protocol: /^rediss?$/, error: "must be a redis:// or rediss:// URL" })
    .optional()
    .describe("Redis connection URL; without it, every process counts for itself"),
  REDIS_TIMEOUT_MS: milliseconds(100).describe("how long one command to Redis may take"),
});

/** Config fragment of whatever keeps files. */
export const dataDirConfig = z.object({
  DATA_DIR: z
    .string()
    .min(1)
    .default("./.data")
    .describe("folder for everything that must survive a restart"),
});

/** Config fragment of whatever lets running requests end before it stops. */
export const stopConfig = z.object({
  STOP_GRACE_MS: milliseconds(20_000).describe("how long running requests may go on after SIGTERM"),
  STOP_DRAIN_MS: z.coerce
    .number(NO_DRAIN)
    .int(NO_DRAIN)
    .min(0, NO_DRAIN)
    .default(0)
    .describe("how long after SIGTERM, before that, a process takes one more request from each connection"),
});

/** What is given up when STOP_GRACE_MS are over has so long to say so; then its connection is cut. */
export const LAST_WORDS_MS = 1_000;

/** How long running requests may go on after a stop was asked for. */
export const longestStopMs = (config: { STOP_DRAIN_MS: number; STOP_GRACE_MS: number }): number =>
  config.STOP_DRAIN_MS + config.STOP_GRACE_MS;

/** Config fragment of whatever tells others how it is doing. */
export const telemetryConfig = z.object({
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .url({ protocol: /^https?$/, error: "must be an http:// or https:// URL" })
    .optional()
    .describe("OTLP receiver (http/protobuf) that traces are sent to; without it, nothing is traced"),
  OTEL_EXPORTER_OTLP_HEADERS: z
    .string()
    .optional()
    .describe("headers for the receiver: name=value,name=value, percent-encoded"),
  TRACE_SAMPLE_RATIO: z.coerce
    .number()
    .min(0)
    .max(1)
    .default(0.01)
    .describe("share of the requests that are traced, of those that come without a trace of their own"),
  TRACE_PARENTS: z
    .enum(["follow", "ignore"])
    .default("follow")
    .describe("whether a traceparent header of a client decides about sampling and is gone on with"),
  OTEL_METRICS_EXPORTER: z
    .enum(["none", "otlp"])
    .default("none")
    .describe("otlp: metrics are sent to the receiver, too; /metrics is there all the same"),
  OTEL_METRIC_EXPORT_INTERVAL: milliseconds(60_000).describe("between two exports of metrics"),
});

/** Config of the process itself, whatever modules it runs. */
export const processConfig = z.object({
  ...stopConfig.shape,
  MIGRATE: z
    .enum(["on", "off"])
    .default("on")
    .describe("whether a process migrates its schema when it starts, or waits for somebody who does"),
  ...telemetryConfig.shape,
  LOG_LEVEL: z.enum(["fatal", "error", "warn", "info", "debug", "trace", "silent"]).default("info"),
  INTERNAL_AUTH_SECRET: z
    .string()
    .min(32, "must have at least 32 characters")
    .describe("signs calls between services"),
  INTERNAL_AUTH_SECRET_OTHER: z
    .string()
    .min(32, "must have at least 32 characters")
    .optional()
    .describe("believed like INTERNAL_AUTH_SECRET, and not signed with: while that is changed"),
  SERVICE_HOST: z.string().default("127.0.0.1").describe("address that the two internal ports listen on"),
  SERVICE_HTTP_PORT: port(8081).describe("REST for the gateway, /livez, /readyz, /metrics"),
  SERVICE_RPC_PORT: port(8082).describe("Connect and gRPC, health, reflection"),
});
export type ProcessConfig = z.infer<typeof processConfig>;

/** What a call of another process may be signed with. */
export function believedSecrets(config: ProcessConfig): readonly string[] {
  const { INTERNAL_AUTH_SECRET: ours, INTERNAL_AUTH_SECRET_OTHER: other } = config;
  return other === undefined ? [ours] : [ours, other];
}

/** Reads one schema; problems are sentences such as `DATABASE_URL is required (billing)`. */
export function readConfig<Shape extends z.ZodObject>(
  owner: string,
  shape: Shape,
  env: Environment,
): { config: z.infer<Shape> } | { problems: string[] } {
  const known = Object.fromEntries(
    Object.keys(shape.shape).flatMap((name) => {
      const value = env[name];
      return value === undefined || value === "" ? [] : [[name, value]];
    }),
  );
  const result = shape.safeParse(known);
  if (result.success) return { config: result.data };
  return {
    problems: result.error.issues.map((issue) => {
      const name = issue.path.join(".");
      return name in known ? `${name}: ${issue.message} (${owner})` : `${name} is required (${owner})`;
    }),
  };
}

/** Throws one sentence that lists every problem. */
export function refuseProblems(problems: readonly string[]): void {
  if (problems.length === 0) return;
  throw new OperatorError(`The configuration is not usable: ${[...new Set(problems)].join("; ")}.`);
}
