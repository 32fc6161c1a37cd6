// Which requests are traced: decided before a span is made, by the caller's trace or by chance. What spans are made with
// and sent by is loaded only where there is somebody to send them to.
import type { Context, Tracer } from "@opentelemetry/api";
import type { Registry } from "prom-client";
import { buildInfo } from "../process/build-info.ts";
import type { ProcessConfig } from "../process/config.ts";
import type { Logger } from "../process/logger.ts";

/** outside: from anybody, whose trace may be followed or not; inside: from a process of ours, which has decided already. */
export type Origin = "outside" | "inside";

export interface Tracing {
  readonly tracer: Tracer;
  /** What the request's first span comes below; undefined when it is not sampled. */
  parentOf(headers: TraceHeaders, origin: Origin): Context | undefined;
}

/** By lower-case name. */
export type TraceHeaders = Readonly<Record<string, unknown>>;

export interface Telemetry {
  /** Undefined where nobody is told of traces. */
  readonly tracing: Tracing | undefined;
  /** Sends what has not been sent yet; waits for seconds at most. */
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
  /** Of the process: which modules it runs. */
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

/** What is said about this process with every span and metric. */
export function resourceAttributes(modules: readonly string[], instanceId: string): Record<string, string> {
  const [only = "", ...others] = modules;
  return {
    "service.name": others.length === 0 ? only : "generation-router",
    "service.namespace": "generation-router",
    "service.version": buildInfo.version,
    "service.instance.id": instanceId,
    "vcs.ref.head.revision": buildInfo.commit,
  };
}
