// An OTLP receiver for tests (http/protobuf): parses exports by the published schema, and stores them.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { loadSync, type ServiceDefinition } from "@grpc/proto-loader";

export interface ReceivedSpan {
  /** Service of its process. */
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the first of a trace. */
  readonly parentId: string;
  readonly name: string;
  readonly kind: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly failed: boolean;
  /** Spans of other traces that share its work. */
  readonly links: readonly string[];
  /** Unix nanoseconds. */
  readonly start: bigint;
  readonly end: bigint;
}

export interface ReceivedMetric {
  readonly service: string;
  readonly name: string;
  readonly kind: "gauge" | "sum" | "histogram";
  readonly points: readonly ReceivedPoint[];
}

export interface ReceivedPoint {
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Of a histogram: its number of observations. */
  readonly value: number;
  readonly bucketCounts: readonly number[];
  readonly sum: number;
}

export interface OtlpReceiver {
  readonly url: string;
  readonly spans: ReceivedSpan[];
  /** Latest value of each. */
  readonly metrics: Map<string, ReceivedMetric>;
  /** Headers of the last export. */
  headers(): NodeJS.Dict<string | string[]>;
  /** All exports as JSON, for the search of forbidden words. */
  everything(): string;
  close(): Promise<void>;
}

const schema = loadSync(fileURLToPath(new URL("otlp.proto", import.meta.url)), {
  keepCase: true,
  longs: String,
  enums: String,
  bytes: Buffer,
  defaults: true,
  oneofs: true,
});
const read = (service: string, bytes: Buffer) =>
  (schema[`otlp.${service}`] as ServiceDefinition)["Export"]?.requestDeserialize(bytes);

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const metrics = new Map<string, ReceivedMetric>();
  const texts: string[] = [];
  let headers: NodeJS.Dict<string | string[]> = {};
  const server = createServer(async (request, response) => {
    headers = request.headers;
    const body = await buffer(request);
    const bytes = request.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body;
    if (request.headers["content-type"] !== "application/x-protobuf") response.statusCode = 415;
    else if (request.url === "/v1/traces") {
      const message = read("Traces", bytes) as TraceExport;
      texts.push(JSON.stringify(message));
      spans.push(...spansOf(message));
    } else if (request.url === "/v1/metrics") {
      const message = read("Metrics", bytes) as MetricsExport;
      texts.push(JSON.stringify(message));
      for (const metric of metricsOf(message)) metrics.set(`${metric.service} ${metric.name}`, metric);
    } else response.statusCode = 404;
    response.setHeader("content-type", "application/x-protobuf").end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    metrics,
    headers: () => headers,
    everything: () => texts.join("\n"),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface Attribute {
  readonly key: string;
  readonly value: { readonly value: string } & Record<string, unknown>;
}
interface Resource {
  readonly resource: { readonly attributes: readonly Attribute[] };
}
interface TraceExport {
  readonly resource_spans: readonly (Resource & { scope_spans: readonly { spans: readonly WireSpan[] }[] })[];
}
interface WireSpan {
  readonly trace_id: Buffer;
  readonly span_id: Buffer;
  readonly parent_span_id: Buffer;
  readonly name: string;
  readonly kind: string;
  readonly attributes: readonly Attribute[];
  readonly status: { readonly code: number } | null;
  readonly links: readonly { readonly span_id: Buffer }[];
  readonly start_time_unix_nano: string;
  readonly end_time_unix_nano: string;
}
interface MetricsExport {
  readonly resource_metrics: readonly (Resource & {
    scope_metrics: readonly { metrics: readonly WireMetric[] }[];
  })[];
}
interface WireMetric {
  readonly name: string;
  readonly data: ReceivedMetric["kind"];
  readonly gauge?: { readonly data_points: readonly WirePoint[] };
  readonly sum?: { readonly data_points: readonly WirePoint[] };
  readonly histogram?: { readonly data_points: readonly WirePoint[] };
}
interface WirePoint {
  readonly attributes: readonly Attribute[];
  readonly as_double?: number;
  readonly as_int?: string;
  readonly count?: string;
  readonly sum?: number;
  readonly bucket_counts?: readonly string[];
}

function spansOf({ resource_spans: all }: TraceExport): ReceivedSpan[] {
  return all.flatMap(({ resource, scope_spans: scopes }) =>
    scopes.flatMap(({ spans }) =>
      spans.map((span) => ({
        service: serviceOf(resource),
        traceId: span.trace_id.toString("hex"),
        spanId: span.span_id.toString("hex"),
        parentId: span.parent_span_id.toString("hex"),
        name: span.name,
        kind: span.kind,
        attributes: record(span.attributes),
        failed: span.status?.code === 2,
        links: span.links.map((link) => link.span_id.toString("hex")),
        start: BigInt(span.start_time_unix_nano),
        end: BigInt(span.end_time_unix_nano),
      })),
    ),
  );
}

function metricsOf({ resource_metrics: all }: MetricsExport): ReceivedMetric[] {
  return all.flatMap(({ resource, scope_metrics: scopes }) =>
    scopes.flatMap(({ metrics }) =>
      metrics.map((metric) => ({
        service: serviceOf(resource),
        name: metric.name,
        kind: metric.data,
        points: (metric[metric.data]?.data_points ?? []).map((point) => ({
          attributes: record(point.attributes),
          value: point.as_double ?? Number(point.as_int ?? point.count ?? Number.NaN),
          bucketCounts: (point.bucket_counts ?? []).map(Number),
          sum: point.sum ?? Number.NaN,
        })),
      })),
    ),
  );
}

function serviceOf(resource: Resource["resource"]): string {
  return String(record(resource.attributes)["service.name"]);
}

function record(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value[value.value]]));
}
