// Telemetry of requests: the traces and metrics of a text and a media request arrive at an OTLP receiver, whole and in
// order. The scraped text parses. No secret and no word of a prompt is in any of it, nor in the logs.
import { sandboxEnvironment } from "@gr/all-in-one";
import { startSimulator } from "@gr/simulator";
import { freePort } from "@gr/testing";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Answer, call } from "../e2e/http.ts";
import { type Router, startRouter, topologiesByDepth } from "../e2e/topology.ts";
import { type ListeningProxy, startListeningProxy } from "./listening-proxy.ts";
import { alerts, dashboards, recordings } from "./monitoring-files.ts";
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from "./otlp-receiver.ts";
import { type Family, parsePrometheusText } from "./prometheus-text.ts";
import { selectedBy } from "./promql-names.ts";

const PROMPT = "a marmalade submarine over Reykjavik";
const CLIENTS_TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const UNSAMPLED_TRACE = "11111111111111111111111111111111";
const CLIENTS_SPAN = "00f067aa0ba902b7";
const RECEIVERS_SECRET = "receivers-own-secret";

describe.each(topologiesByDepth)("telemetry (%s)", (topology) => {
  const closers: (() => Promise<unknown>)[] = [];
  let receiver: OtlpReceiver;
  let upstream: ListeningProxy;
  let router: Router;
  let text: Answer;
  let media: Answer;
  let families: Map<string, Family>;

  beforeAll(async () => {
    const simulator = await startSimulator({ host: "127.0.0.1", port: 0, tokenDelayMs: 0 });
    closers.push(() => simulator.close());
    upstream = await startListeningProxy(simulator.url);
    closers.push(() => upstream.close());
    receiver = await startOtlpReceiver();
    closers.push(() => receiver.close());
    const port = await freePort();
    router = await startRouter(topology, {
      sharedPostgres: true,
      env: {
        ...sandboxEnvironment(upstream.url),
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        OTEL_EXPORTER_OTLP_HEADERS: `x-receiver-key=${RECEIVERS_SECRET}`,
        OTEL_METRICS_EXPORTER: "otlp",
        TRACE_SAMPLE_RATIO: "1",
        LOG_LEVEL: "trace",
        ...(topology === "all-in-one" ? { SERVICE_HTTP_PORT: String(port) } : {}),
      },
    });
    closers.push(() => router.dispose());
    text = await chat({ traceparent: `00-${CLIENTS_TRACE}-${CLIENTS_SPAN}-01`, tracestate: "vendor=value" });
    media = await call(router, "POST", "/v1/compat/images/generations", {
      body: { model: "sandbox/image", prompt: PROMPT },
    });
    await chat({ traceparent: `00-${UNSAMPLED_TRACE}-${CLIENTS_SPAN}-00` });
    await call(router, "GET", "/v1/credits", { key: "sk-nonsense-key" });
    if (topology === "all-in-one") {
      const scraped = await fetch(`http://127.0.0.1:${port}/metrics`);
      families = parsePrometheusText(await scraped.text());
    }
    // The process sends the remaining data before it ends.
    await router.stop();
  });
  afterAll(async () => {
    for (const close of closers.toReversed()) await close();
  });

  const chat = (headers: Record<string, string>) =>
    call(router, "POST", "/v1/compat/chat/completions", {
      headers,
      body: { model: "sandbox/chat", messages: [{ role: "user", content: PROMPT }] },
    });
  const idOf = ({ headers }: Answer) => headers.get("x-request-id") ?? "";
  const traceOf = (id: string): ReceivedSpan[] => {
    const { traceId } = receiver.spans.find(({ attributes }) => attributes["gr.request.id"] === id) ?? {};
    return receiver.spans.filter((span) => span.traceId === traceId);
  };
  /** Returns the path from a span up to the first of its trace. */
  const pathOf = (span: ReceivedSpan | undefined, trace: readonly ReceivedSpan[]): ReceivedSpan[] => {
    const parent = trace.find(({ spanId }) => spanId === span?.parentId);
    return span === undefined ? [] : [span, ...pathOf(parent, trace)];
  };

  test("a text request is one trace, from the client's span through billing to the upstream", () => {
    expect(text.status).toBe(200);
    const trace = traceOf(idOf(text));
    const route = "POST /v1/compat/chat/completions";
    const first = trace.find(({ parentId }) => parentId === CLIENTS_SPAN);
    expect(first).toMatchObject({
      traceId: CLIENTS_TRACE,
      kind: "SERVER",
      failed: false,
      attributes: {
        "http.request.method": "POST",
        "http.response.status_code": expect.anything(),
        "gr.account.id": router.accountId,
        "gr.key.id": expect.any(String),
      },
    });
    expect(Number(first?.attributes["http.response.status_code"])).toBe(200);
    expect(first?.name.startsWith(route)).toBe(true);
    const [attempt] = trace.filter(({ attributes }) => attributes["gen_ai.operation.name"] === "chat");
    expect(attempt).toMatchObject({
      kind: "CLIENT",
      failed: false,
      name: `chat ${String(attempt?.attributes["gen_ai.request.model"])}`,
      attributes: {
        "gen_ai.provider.name": expect.stringMatching(/./),
        "gen_ai.output.type": "text",
        "gr.model": "sandbox/chat",
        "gr.attempt.end": "delivered",
        "server.address": "127.0.0.1",
      },
    });
    const { usage } = text.body;
    expect(Number(attempt?.attributes["gen_ai.usage.input_tokens"])).toBe(usage.prompt_tokens);
    expect(Number(attempt?.attributes["gen_ai.usage.output_tokens"])).toBe(usage.completion_tokens);
    expect(pathOf(attempt, trace).at(-1)).toBe(first);
    const post = "BillingService/Post";
    for (const what of ["billing place", "billing capture"]) {
      const [path, ...others] = trace
        .filter(({ name }) => name === "billing commit")
        .map((commit) => pathOf(commit, trace))
        .filter((spans) => spans.some(({ name }) => name === what));
      expect(others).toEqual([]);
      expect(path?.slice(0, 4).map(({ name, kind }) => `${kind} ${name.replace(/^.*\./, "")}`)).toEqual([
        "INTERNAL billing commit",
        `SERVER ${post}`,
        `CLIENT ${post}`,
        `INTERNAL ${what}`,
      ]);
      expect(path?.at(-1)).toBe(first);
    }
  });

  test("a media request is a trace of its own, with each exchange with its provider", () => {
    expect(media.status).toBe(200);
    const trace = traceOf(idOf(media));
    expect(new Set(trace.map(({ traceId }) => traceId)).size).toBe(1);
    expect(trace[0]?.traceId).not.toBe(CLIENTS_TRACE);
    const [first, ...others] = trace.filter(({ parentId }) => parentId === "");
    expect(others).toEqual([]);
    const [attempt] = trace.filter(({ attributes }) => "gen_ai.operation.name" in attributes);
    expect(attempt).toMatchObject({
      kind: "CLIENT",
      attributes: { "gen_ai.operation.name": "generate_content", "gen_ai.output.type": "image" },
    });
    const exchanges = trace.filter(({ parentId }) => parentId === attempt?.spanId);
    expect(exchanges.length).toBeGreaterThan(0);
    for (const exchange of exchanges) {
      expect(exchange).toMatchObject({ kind: "CLIENT", attributes: { "server.address": "127.0.0.1" } });
    }
    expect(pathOf(attempt, trace).at(-1)).toBe(first);
  });

  test("every span lies within its trace and ends after it has begun", () => {
    const ids = new Set(receiver.spans.map(({ spanId }) => spanId));
    expect(ids.size).toBe(receiver.spans.length);
    for (const { parentId, start, end } of receiver.spans) {
      expect(parentId === "" || parentId === CLIENTS_SPAN || ids.has(parentId)).toBe(true);
      expect(end >= start).toBe(true);
    }
    const services = new Set(receiver.spans.map(({ service }) => service));
    const all = ["gateway", "keys", "billing", "text-proxy", "media-generation"];
    for (const service of topology === "split" ? all : ["generation-router"]) {
      expect([...services]).toContain(service);
    }
  });

  test("an upstream is told which span asks it, and nothing else of the client's trace", () => {
    const attempts = receiver.spans.filter(
      ({ attributes }) => attributes["gen_ai.operation.name"] === "chat",
    );
    expect(upstream.traceparents.get(idOf(text))).toBe(`00-${CLIENTS_TRACE}-${attempts[0]?.spanId}-01`);
    const sent = [...upstream.traceparents.values()].filter((value) => value !== undefined);
    const known = new Set(receiver.spans.map(({ spanId, traceId }) => `00-${traceId}-${spanId}-01`));
    expect(sent.filter((value) => !known.has(value))).toEqual([]);
  });

  test("a client that has decided against a trace gets none", () => {
    expect(receiver.spans.filter(({ traceId }) => traceId === UNSAMPLED_TRACE)).toEqual([]);
  });

  test("a refused request is a span that says so", () => {
    const [refused] = receiver.spans.filter(
      ({ attributes }) => Number(attributes["http.response.status_code"]) === 401,
    );
    expect(refused?.name).toMatch(/^GET \/v1\/credits/);
    expect(refused?.attributes).not.toHaveProperty("gr.account.id");
  });

  test("metrics arrive as they are scraped", () => {
    const metric = (name: string) =>
      [...receiver.metrics.values()].find((one) => one.name === name && one.points.length > 0);
    const requests = metric("http_requests_total");
    const chats = requests?.points.filter(
      ({ attributes }) =>
        attributes["route"] === "/v1/compat/chat/completions" && attributes["status"] === "2xx",
    );
    expect(requests?.kind).toBe("sum");
    expect(chats?.map(({ value }) => value)).toEqual([2]);
    const durations = metric("http_request_duration_seconds")?.points.find(
      ({ attributes }) => attributes["route"] === "/v1/compat/chat/completions",
    );
    expect(durations?.value).toBe(2);
    expect(durations?.bucketCounts.reduce((sum, count) => sum + count, 0)).toBe(2);
    expect(durations?.sum).toBeGreaterThan(0);
    expect(metric("billing_batch_operations")?.kind).toBe("histogram");
    expect(metric("nodejs_eventloop_lag_seconds")?.kind).toBe("gauge");
    expect(receiver.headers()["x-receiver-key"]).toBe(RECEIVERS_SECRET);
    if (topology !== "all-in-one") return;
    const scraped = families.get("http_requests_total")?.samples ?? [];
    const labels = { route: "/v1/compat/chat/completions", status: "2xx" };
    expect(scraped.find((sample) => JSON.stringify(sample.labels) === JSON.stringify(labels))?.value).toBe(2);
    const exported = new Set([...receiver.metrics.values()].map(({ name }) => name));
    expect([...families.keys()].filter((name) => !exported.has(name))).toEqual([]);
  });

  if (topology === "all-in-one") {
    test("every series that an alert or a dashboard asks for is exposed", () => {
      const recorded = new Set(recordings.map(({ record }) => record));
      const expressions = [
        ...[...alerts, ...recordings].map(({ expr }) => expr),
        ...dashboards.flatMap(({ panels }) =>
          panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
        ),
      ];
      const names = new Set(
        expressions.flatMap((expression) => selectedBy(expression).map(({ name }) => name)),
      );
      // Prometheus itself produces it.
      const known = new Set([...recorded, "up"]);
      for (const [name, { type }] of families) {
        known.add(name);
        if (type === "histogram") for (const part of ["bucket", "sum", "count"]) known.add(`${name}_${part}`);
      }
      expect(names.size).toBeGreaterThan(30);
      expect([...names].filter((name) => !known.has(name))).toEqual([]);
    });

    test("what an alert waits for is there before it happens, so that the first time counts", () => {
      const missing = [...alerts, ...recordings]
        .flatMap(({ expr }) => selectedBy(expr))
        .filter(({ name, labels }) => families.has(name) && Object.keys(labels).length > 0)
        .filter(({ name, labels }) => {
          const series = families.get(name)?.samples ?? [];
          const wanted = Object.entries(labels);
          return !series.some((sample) => wanted.every(([label, value]) => sample.labels[label] === value));
        });
      expect(missing).toEqual([]);
    });
  }

  test("no secret and no prompt is told or logged, and log lines name their request and trace", () => {
    // The banner, which shows the demo account's key, is no log line.
    const logged = router
      .output()
      .split("\n")
      .filter((line) => line.startsWith("{"));
    const told = receiver.everything() + logged.join("\n");
    const secrets = [
      PROMPT,
      "marmalade",
      router.apiKey,
      router.managementKey,
      "sk-nonsense-key",
      RECEIVERS_SECRET,
    ];
    for (const secret of secrets) expect(told.includes(secret)).toBe(false);
    const [line] = logged.map((one) => JSON.parse(one)).filter(({ msg }) => msg === "generation succeeded");
    expect(line).toMatchObject({
      requestId: idOf(media),
      accountId: router.accountId,
      keyId: expect.any(String),
      trace_id: traceOf(idOf(media))[0]?.traceId,
      span_id: expect.stringMatching(/^[0-9a-f]{16}$/),
    });
  });
});
