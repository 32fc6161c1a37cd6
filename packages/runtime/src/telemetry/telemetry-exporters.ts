// The OpenTelemetry SDK: sends spans, and where that is wanted metrics, to an OTLP receiver. Loaded by tracing.ts only where
// one is configured. A receiver that is away costs spans, never a request and never a stop.
import { randomUUID } from "node:crypto";
import { DiagLogLevel, diag, ROOT_CONTEXT, type TextMapGetter, TraceFlags, trace } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-proto";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { AlwaysOnSampler, BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { buildInfo } from "../build-info.ts";
import type { Logger } from "../process/logger.ts";
import { trimSlashes } from "../process/trim-slashes.ts";
import { RegistryProducer } from "./metrics-producer.ts";
import type { Telemetry, TelemetryConfig, TelemetryOptions, TraceHeaders, Tracing } from "./tracing.ts";

const SCOPE = "generation-router";
const EXPORT_TIMEOUT_MS = 5_000;
/** Between two exports of spans. */
const SPANS_EVERY_MS = 2_000;
const MOST_SPANS_WAITING = 8_192;
const MOST_SPANS_AT_ONCE = 1_024;
/** Time of a stop for the last export. */
const CLOSE_MS = 3_000;
/** Interval of warnings about an unreachable receiver. */
const LOG_AGAIN_MS = 60_000;

export function openExporters({ config, modules, metrics, log }: TelemetryOptions): Telemetry {
  reportTroubleTo(log);
  const resource = resourceFromAttributes(resourceAttributes(modules, randomUUID()));
  const to = (path: string) => ({
    url: `${trimSlashes(config.OTEL_EXPORTER_OTLP_ENDPOINT ?? "")}${path}`,
    headers: headersOf(config.OTEL_EXPORTER_OTLP_HEADERS ?? ""),
    timeoutMillis: EXPORT_TIMEOUT_MS,
  });
  const spans = new TracerProvider({
    resource,
    // Every span here was sampled before.
    sampler: new AlwaysOnSampler(),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: new OTLPTraceExporter(to("/v1/traces")),
        scheduledDelayMillis: SPANS_EVERY_MS,
        exportTimeoutMillis: EXPORT_TIMEOUT_MS,
        maxQueueSize: MOST_SPANS_WAITING,
        maxExportBatchSize: MOST_SPANS_AT_ONCE,
      }),
    ],
  });
  const meters =
    config.OTEL_METRICS_EXPORTER === "otlp"
      ? new MeterProvider({
          resource,
          readers: [
            new PeriodicExportingMetricReader({
              exporter: new OTLPMetricExporter(to("/v1/metrics")),
              exportIntervalMillis: config.OTEL_METRIC_EXPORT_INTERVAL,
              exportTimeoutMillis: Math.min(EXPORT_TIMEOUT_MS, config.OTEL_METRIC_EXPORT_INTERVAL),
              metricProducers: [new RegistryProducer(metrics, resource, SCOPE)],
            }),
          ],
        })
      : undefined;
  return {
    tracing: tracingOf(spans, config),
    close: async () => {
      const closed = Promise.allSettled([spans.shutdown(), meters?.shutdown()]);
      await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, CLOSE_MS).unref())]);
    },
  };
}

const propagator = new W3CTraceContextPropagator();
const getter: TextMapGetter<TraceHeaders> = {
  keys: (headers) => Object.keys(headers),
  get: (headers, name) => headers[name] as string | undefined,
};

function tracingOf(spans: TracerProvider, config: TelemetryConfig): Tracing {
  const { TRACE_SAMPLE_RATIO: ratio, TRACE_PARENTS: parents } = config;
  const begin = () => (Math.random() < ratio ? ROOT_CONTEXT : undefined);
  return {
    tracer: spans.getTracer(SCOPE, buildInfo.version),
    parentOf: (headers, origin) => {
      if (origin === "outside" && (parents === "ignore" || headers["traceparent"] === undefined))
        return begin();
      if (headers["traceparent"] === undefined) return undefined;
      const context = propagator.extract(ROOT_CONTEXT, headers, getter);
      const parent = trace.getSpanContext(context);
      // An invalid header is no trace.
      if (parent === undefined) return origin === "outside" ? begin() : undefined;
      return (parent.traceFlags & TraceFlags.SAMPLED) === 0 ? undefined : context;
    },
  };
}

/** Parses OpenTelemetry's format: name=value,name=value, with values percent-encoded. */
function headersOf(text: string): Record<string, string> {
  const pairs = text.split(",").filter((pair) => pair.includes("="));
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf("=");
      return [pair.slice(0, at).trim(), decodeURIComponent(pair.slice(at + 1).trim())];
    }),
  );
}

/** The SDK speaks through one logger of the whole process. */
function reportTroubleTo(log: Logger): void {
  let loggedAt = Number.NEGATIVE_INFINITY;
  const report = (message: string) => {
    const now = performance.now();
    if (now - loggedAt < LOG_AGAIN_MS) return;
    loggedAt = now;
    log.warn({ reason: message }, "telemetry could not be sent; it is dropped");
  };
  const quiet = () => undefined;
  diag.setLogger(
    { error: report, warn: report, info: quiet, debug: quiet, verbose: quiet },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}

/** Returns the attributes of this process in every span and metric. */
function resourceAttributes(modules: readonly string[], instanceId: string): Record<string, string> {
  const [only = "", ...others] = modules;
  return {
    "service.name": others.length === 0 ? only : "generation-router",
    "service.namespace": "generation-router",
    "service.version": buildInfo.version,
    "service.instance.id": instanceId,
    "vcs.ref.head.revision": buildInfo.commit,
  };
}
