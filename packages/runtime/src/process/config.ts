// Config turns the environment into typed settings. Each variable is in exactly one schema; modules that share one
// (DATABASE_URL) share the fragment. All problems of all modules are reported together.
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

/** Config fragment of every module with tables. */
export const postgresConfig = z.object({
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/, error: "must be a postgres:// URL" }).meta({
    description: "a PostgreSQL server, version 15 or newer; each service uses a schema of its own",
    byDefault: "embedded (launchers)",
  }),
  DATABASE_POOL_SIZE: z.coerce
    .number()
    .int()
    .min(2)
    .max(200)
    .default(10)
    .describe("connections of each service"),
});

/** Config fragment of modules that are faster with a Redis; no module needs one. */
export const redisConfig = z.object({
  REDIS_URL: z
    .url({ protocol: /^rediss?$/, error: "must be a redis:// or rediss:// URL" })
    .optional()
    .describe("a Redis (`redis://`, `rediss://`), the same for every process"),
  REDIS_TIMEOUT_MS: milliseconds(100).describe(
    "longest time of one command; afterwards the process continues without Redis",
  ),
});

/** Config fragment of modules that store files. */
export const dataDirConfig = z.object({
  DATA_DIR: z.string().min(1).default("./.data").describe("folder for all data that must survive a restart"),
});

/** Config fragment of processes that let running requests end before they stop. */
export const stopConfig = z.object({
  STOP_GRACE_MS: milliseconds(20_000).describe(
    "time after SIGTERM in which running requests may finish; see [Stopping](#stopping)",
  ),
  STOP_DRAIN_MS: z.coerce.number(NO_DRAIN).int(NO_DRAIN).min(0, NO_DRAIN).default(0).meta({
    description:
      "time after SIGTERM, before the grace, in which each connection may send one more request; see [Stopping](#stopping)",
    byDefault: "`0`; in a cluster `10000`",
  }),
});

/** Time for final errors of aborted requests after STOP_GRACE_MS; then their connections are cut. */
export const LAST_WORDS_MS = 1_000;

/** Returns the longest time for running requests after a stop request. */
export const longestStopMs = (config: { STOP_DRAIN_MS: number; STOP_GRACE_MS: number }): number =>
  config.STOP_DRAIN_MS + config.STOP_GRACE_MS;

/** Config fragment for the export of traces and metrics. */
export const telemetryConfig = z.object({
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .url({ protocol: /^https?$/, error: "must be an http:// or https:// URL" })
    .optional()
    .describe(
      "OTLP receiver of traces (http/protobuf, as `http://otel-collector:4318`); without it no request is traced, see [Telemetry](#telemetry)",
    ),
  OTEL_EXPORTER_OTLP_HEADERS: z
    .string()
    .optional()
    .describe("headers for the receiver: `name=value,name=value`, percent-encoded"),
  TRACE_SAMPLE_RATIO: z.coerce
    .number()
    .min(0)
    .max(1)
    .default(0.01)
    .describe("share of traced requests, among requests without a trace of their own"),
  TRACE_PARENTS: z
    .enum(["follow", "ignore"])
    .default("follow")
    .describe(
      "`follow`: a client's `traceparent` header decides about the trace of its request, and the trace continues it. `ignore`: the header has no effect",
    ),
  OTEL_METRICS_EXPORTER: z
    .enum(["none", "otlp"])
    .default("none")
    .describe("`otlp`: metrics are sent to the receiver, too; `/metrics` exists in both cases"),
  OTEL_METRIC_EXPORT_INTERVAL: milliseconds(60_000).describe("milliseconds between two exports of metrics"),
});

/** After a minute the keys service counts a mint or a change as interrupted, so their calls are shorter. */
const MOST_CALL_MS = 50_000;

/** Config of the process itself, for all modules. */
export const processConfig = z.object({
  ...stopConfig.shape,
  MIGRATE: z.enum(["on", "off"]).default("on").meta({
    description:
      "`on`: the process migrates its schema at its start. `off`: it waits until another process has migrated it ([Migrations](#migrations))",
    byDefault: "a service: `off`; launchers: `on`",
  }),
  ...telemetryConfig.shape,
  LOG_LEVEL: z.enum(["fatal", "error", "warn", "info", "debug", "trace", "silent"]).default("info").meta({
    description: "`fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`; JSON lines on stdout",
    byDefault: "`info`; launchers `warn`",
  }),
  INTERNAL_AUTH_SECRET: z.string().min(32, "must have at least 32 characters").meta({
    description:
      "signs calls between services, and window copies in Redis; at least 32 characters, the same everywhere",
    byDefault: "generated (launchers)",
  }),
  INTERNAL_AUTH_SECRET_OTHER: z
    .string()
    .min(32, "must have at least 32 characters")
    .optional()
    .describe("calls with its signature are valid, too"),
  SERVICE_CALL_TIMEOUT_MS: milliseconds(10_000)
    .refine((ms) => ms <= MOST_CALL_MS, `must be at most ${MOST_CALL_MS}`)
    .describe(
      `longest wait for the answer of another service, also in the same process, unless the call has a limit of its own; at most \`${MOST_CALL_MS}\``,
    ),
  SERVICE_HOST: z.string().default("127.0.0.1").describe("address of the two internal ports"),
  SERVICE_HTTP_PORT: port(8081).describe("`/livez`, `/readyz`, `/metrics`, REST for the gateway"),
  SERVICE_RPC_PORT: port(8082).describe("Connect and gRPC, `grpc.health.v1`, reflection"),
});
export type ProcessConfig = z.infer<typeof processConfig>;

/** Returns the secrets that may sign calls of another process. */
export function trustedSecrets(config: ProcessConfig): readonly string[] {
  const { INTERNAL_AUTH_SECRET: ours, INTERNAL_AUTH_SECRET_OTHER: other } = config;
  return other === undefined ? [ours] : [ours, other];
}

/** Metadata of a setting that is also read from the variable that its vendor documents. */
export const vendorName = (name: string) => ({ vendorName: name });

/** Returns the vendor's name of a setting's variable; undefined if it has none. */
export function vendorNameOf(field: z.ZodType): string | undefined {
  const name = field.meta()?.["vendorName"];
  return typeof name === "string" ? name : undefined;
}

/** Returns the text of a setting: of its own variable, else of the vendor's; undefined if both are empty. */
export function settingText(name: string, field: z.ZodType, env: Environment): string | undefined {
  const vendors = vendorNameOf(field);
  return env[name] || (vendors === undefined ? undefined : env[vendors]) || undefined;
}

/** Reads one schema; problems are sentences such as `DATABASE_URL is required (billing)`. */
export function readConfig<Shape extends z.ZodObject>(
  owner: string,
  shape: Shape,
  env: Environment,
): { config: z.infer<Shape> } | { problems: string[] } {
  const known = Object.fromEntries(
    Object.entries(shape.shape).flatMap(([name, field]) => {
      const value = settingText(name, field as z.ZodType, env);
      return value === undefined ? [] : [[name, value]];
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

/**
 * Reads a JSON setting within its zod schema.
 * Problems name the place within the value, and never a part of it: it may hold keys.
 */
export function readJsonSetting<Shape extends z.ZodType>(
  text: string,
  shape: Shape,
  context: z.RefinementCtx,
): z.infer<Shape> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    context.addIssue({ code: "custom", message: "must be JSON" });
    return z.NEVER;
  }
  const result = shape.safeParse(value);
  if (result.success) return result.data;
  for (const { path, message } of result.error.issues) {
    context.addIssue({
      code: "custom",
      message: path.length === 0 ? message : `${placeOf(path, value)}: ${message}`,
    });
  }
  return z.NEVER;
}

/** An entry's name, in a form that no key has. */
const named = z.object({ name: z.string().regex(/^[a-z][a-z0-9-]{0,62}$/) });

/** "local.kind" where the entry has a name, else "[0].kind". */
function placeOf(path: readonly PropertyKey[], value: unknown): string {
  const [first, ...others] = path;
  const entry: unknown = Array.isArray(value) && typeof first === "number" ? value[first] : undefined;
  const known = named.safeParse(entry);
  const begin = typeof first !== "number" ? String(first) : known.success ? known.data.name : `[${first}]`;
  return [begin, ...others].map(String).join(".");
}
