// Tracing decides which requests are traced, before a span is created: by the caller's trace or by chance. The SDK is
// loaded only if a receiver is configured.
import type { Context, Tracer } from "@opentelemetry/api";
import type { Registry } from "prom-client";
import type { ProcessConfig } from "../process/config.ts";
import type { Logger } from "../process/logger.ts";

/**
 * outside: from any client; its trace may be followed or not. inside: from a process of ours, which has already
 * decided.
 */
export type Origin = "outside" | "inside";

export interface Tracing {
  readonly tracer: Tracer;
  /** Returns the parent of the request's first span; undefined if the request is not sampled. */
  parentOf(headers: TraceHeaders, origin: Origin): Context | undefined;
}

/** By lower-case name. */
export type TraceHeaders = Readonly<Record<string, unknown>>;

export interface Telemetry {
  /** Undefined without a receiver. */
  readonly tracing: Tracing | undefined;
  /** Sends the remaining data; waits for seconds at most. */
  close(): Promise<void>;
}

export type TelemetryConfig = Pick<
  ProcessConfig,
  | "OTEL_EXPORTER_OTLP_ENDPOINT"
  | "OTEL_EXPORTER_OTLP_HEADERS"
  | "OTEL_METRICS_EXPORTER"
  | "OTEL_METRIC_EXPORT_INTERVAL"
  | "TRACE_SAMPLE_RATIO"
  | "TRACE_PARENTS"
>;

export interface TelemetryOptions {
  readonly config: TelemetryConfig;
  /** Modules of the process. */
  readonly modules: readonly string[];
  readonly metrics: Registry;
  readonly log: Logger;
}

export async function openTelemetry(options: TelemetryOptions): Promise<Telemetry> {
  if (options.config.OTEL_EXPORTER_OTLP_ENDPOINT === undefined) {
    return { tracing: undefined, close: async () => undefined };
  }
  const { openExporters } = await import("./telemetry-exporters.ts");
  return openExporters(options);
}
