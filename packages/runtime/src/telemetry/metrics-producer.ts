// The metrics producer exports the registry behind /metrics in OpenTelemetry's terms: one registry serves scrapers and
// receivers. Values are cumulative since the start of the process, as they are for Prometheus.
import { type HrTime, ValueType } from "@opentelemetry/api";
import { hrTime } from "@opentelemetry/core";
import type { Resource } from "@opentelemetry/resources";
import {
  AggregationTemporality,
  type CollectionResult,
  DataPointType,
  type MetricData,
  type MetricProducer,
} from "@opentelemetry/sdk-metrics";
import type { MetricObjectWithValues, MetricValue, Registry } from "prom-client";

type Metric = MetricObjectWithValues<MetricValue<string>>;
type Labels = Record<string, string | number>;
interface Times {
  readonly startTime: HrTime;
  readonly endTime: HrTime;
}

export class RegistryProducer implements MetricProducer {
  readonly #registry: Registry;
  readonly #resource: Resource;
  readonly #scope: string;
  readonly #startTime: HrTime = hrTime();

  constructor(registry: Registry, resource: Resource, scope: string) {
    this.#registry = registry;
    this.#resource = resource;
    this.#scope = scope;
  }

  async collect(): Promise<CollectionResult> {
    const times = { startTime: this.#startTime, endTime: hrTime() };
    const metrics = (await this.#registry.getMetricsAsJSON()) as unknown as Metric[];
    return {
      resourceMetrics: {
        resource: this.#resource,
        scopeMetrics: [{ scope: { name: this.#scope }, metrics: metrics.map((one) => metricOf(one, times)) }],
      },
      errors: [],
    };
  }
}

function metricOf(metric: Metric, times: Times): MetricData {
  const shared = {
    descriptor: { name: metric.name, description: metric.help, unit: "", valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  const kind = String(metric.type);
  if (kind === "histogram") {
    return { ...shared, dataPointType: DataPointType.HISTOGRAM, dataPoints: histogramPoints(metric, times) };
  }
  const dataPoints = metric.values.map(({ labels, value }) => ({
    ...times,
    attributes: labels as Labels,
    value,
  }));
  return kind === "counter"
    ? { ...shared, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }
    : { ...shared, dataPointType: DataPointType.GAUGE, dataPoints };
}

interface Series {
  readonly attributes: Labels;
  readonly boundaries: number[];
  /** Upper bounds of the buckets; each bucket includes those before it. */
  readonly upTo: number[];
  sum: number;
  count: number;
}

/** Combines the lines of a histogram by their labels other than the bucket. */
function histogramPoints({ name, values }: Metric, times: Times) {
  const found = new Map<string, Series>();
  for (const { labels, value, metricName } of values as (MetricValue<string> & { metricName?: string })[]) {
    const { le, ...attributes } = labels as Labels;
    const key = JSON.stringify(attributes);
    const series = found.get(key) ?? { attributes, boundaries: [], upTo: [], sum: 0, count: 0 };
    found.set(key, series);
    if (metricName === `${name}_sum`) series.sum = value;
    else if (metricName === `${name}_count`) series.count = value;
    else if (le !== undefined && le !== "+Inf") {
      series.boundaries.push(Number(le));
      series.upTo.push(value);
    }
  }
  return [...found.values()].map(({ attributes, boundaries, upTo, sum, count }) => {
    const counts = [...upTo, count].map((value, index) => value - (upTo[index - 1] ?? 0));
    return { ...times, attributes, value: { buckets: { boundaries, counts }, sum, count } };
  });
}
