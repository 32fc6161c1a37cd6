// Reads the text that Prometheus scrapes, with its strictness: each family is announced once, each sample belongs to
// one, labels and numbers are well-formed, histograms add up.

export interface Family {
  readonly type: string;
  readonly samples: readonly Sample[];
}

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const HELP = /^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) \S/;
const TYPE = /^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram|summary|untyped)$/;
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/y;
const NUMBER = /^(?:NaN|[+-]?Inf|[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)$/;

/** @throws Error that names the line */
export function parsePrometheusText(text: string): Map<string, Family> {
  const families = new Map<string, { type: string; samples: Sample[] }>();
  const seen = new Set<string>();
  if (!text.endsWith("\n")) throw new Error("the last line does not end");
  for (const line of text.split("\n")) {
    if (line === "" || HELP.test(line)) continue;
    const [, announced, type = ""] = TYPE.exec(line) ?? [];
    if (announced !== undefined) {
      if (families.has(announced)) throw new Error(`announced twice: ${line}`);
      families.set(announced, { type, samples: [] });
      continue;
    }
    const [, name = "", labels = "", value = ""] = SAMPLE.exec(line) ?? [];
    const family = families.get(name) ?? families.get(name.replace(/_(bucket|sum|count)$/, ""));
    if (family === undefined || !NUMBER.test(value)) throw new Error(`no sample: ${line}`);
    const series = line.slice(0, line.length - value.length);
    if (seen.has(series)) throw new Error(`twice: ${line}`);
    seen.add(series);
    family.samples.push({ name, labels: labelsOf(labels, line), value: numberOf(value) });
  }
  for (const [name, { type, samples }] of families) if (type === "histogram") checkHistogram(name, samples);
  return families;
}

function labelsOf(text: string, line: string): Record<string, string> {
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < text.length) {
    const [, name, value] = LABEL.exec(text) ?? [];
    if (name === undefined || value === undefined || name in labels) throw new Error(`no labels: ${line}`);
    labels[name] = value;
  }
  return labels;
}

function numberOf(text: string): number {
  return /Inf$/.test(text) ? (text.startsWith("-") ? -1 : 1) * Number.POSITIVE_INFINITY : Number(text);
}

function checkHistogram(name: string, samples: readonly Sample[]): void {
  const bySeries = Map.groupBy(samples, ({ labels: { le: _, ...labels } }) => JSON.stringify(labels));
  for (const [series, all] of bySeries) {
    const buckets = all.filter((sample) => sample.name === `${name}_bucket`).map(({ value }) => value);
    const last = all.find(({ labels }) => labels["le"] === "+Inf")?.value;
    const count = all.find((sample) => sample.name === `${name}_count`)?.value;
    const rising = buckets.every((value, index) => value >= (buckets[index - 1] ?? 0));
    if (!rising || last === undefined || last !== count) throw new Error(`${name} ${series} does not add up`);
  }
}
