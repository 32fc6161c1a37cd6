// Guarantees of spans: which requests are traced, and the request of the running work. They also hold for one call that
// serves many requests, and without any trace.

import { ServiceError } from "@gr/proto";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import {
  AlwaysOnSampler,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { Registry } from "prom-client";
import { readConfig, telemetryConfig } from "../process/config.ts";
import { currentLogFields, currentRequest, inRequest, type Trace } from "../process/current-request.ts";
import { createLogger } from "../process/logger.ts";
import { createBatcher } from "../rpc/batcher.ts";
import { currentSpan, inSpan, outwardTraceHeaders, traceHeaders } from "./spans.ts";
import { openTelemetry, type Telemetry } from "./tracing.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const SAMPLED = `00-${TRACE}-${SPAN}-01`;
const UNSAMPLED = `00-${TRACE}-${SPAN}-00`;

describe("spans", () => {
  let exporter: InMemorySpanExporter;
  let provider: TracerProvider;
  beforeEach(() => {
    exporter = new InMemorySpanExporter();
    const spanProcessors = [new SimpleSpanProcessor({ exporter })];
    provider = new TracerProvider({ sampler: new AlwaysOnSampler(), spanProcessors });
  });
  afterEach(() => provider.shutdown());

  const traceOf = (name: string): Trace => {
    const tracer = provider.getTracer("test");
    return { tracer, span: tracer.startSpan(name) };
  };
  const within = <T>(trace: Trace | undefined, work: () => T): T =>
    inRequest({ id: "the-id", principal: null, trace }, work);
  const finished = (name: string) => exporter.getFinishedSpans().filter((span) => span.name === name);

  test("are children of what they are made in, and end with an error's kind but not its words", async () => {
    const trace = traceOf("request");
    const failing = () =>
      inSpan(
        "outer",
        () => ({}),
        () =>
          inSpan(
            "inner",
            () => ({}),
            async () => {
              throw new ServiceError("insufficient_credits", "a secret word");
            },
          ),
      );
    await expect(within(trace, failing)).rejects.toThrow("a secret word");
    const [inner] = finished("inner");
    const [outer] = finished("outer");
    expect(inner?.parentSpanContext?.spanId).toBe(outer?.spanContext().spanId);
    expect(outer?.parentSpanContext?.spanId).toBe(trace.span.spanContext().spanId);
    expect(inner?.attributes).toEqual({ "error.type": "insufficient_credits" });
    expect(JSON.stringify([inner?.status, inner?.events])).not.toContain("secret");
  });

  test("are not made for a request that is not sampled, nor described", async () => {
    const describeNothing = () => {
      throw new Error("asked");
    };
    expect(
      await within(undefined, () => inSpan("none", describeNothing, async (span) => span)),
    ).toBeUndefined();
    expect(await inSpan("none", describeNothing, async () => currentSpan())).toBeUndefined();
    expect(within(undefined, traceHeaders)).toEqual({});
  });

  test("of a call that serves many requests belong to the first that is sampled, and are linked to the others", async () => {
    const calls: string[][] = [];
    const gate = Promise.withResolvers<void>();
    const batcher = createBatcher<string, string>(
      (operations) =>
        inSpan(
          "call",
          () => ({}),
          async () => {
            calls.push(operations);
            if (calls.length === 1) await gate.promise;
            return operations;
          },
        ),
      { maxBatch: 10, maxQueue: 10, overflow: () => new Error("full") },
    );
    const [first, second, third] = [traceOf("first"), traceOf("second"), traceOf("third")];
    const running = [within(first, () => batcher("a"))];
    while (calls.length === 0) await Promise.resolve();
    running.push(
      within(undefined, () => batcher("b")),
      within(second, () => batcher("c")),
    );
    running.push(within(third, () => batcher("d")));
    gate.resolve();
    await Promise.all(running);
    await within(undefined, () => batcher("e"));
    expect(calls).toEqual([["a"], ["b", "c", "d"], ["e"]]);
    const idOf = ({ span }: Trace) => span.spanContext().spanId;
    const spans = finished("call").map(({ parentSpanContext, links }) => ({
      parent: parentSpanContext?.spanId,
      links: links.map(({ context }) => context.spanId),
    }));
    expect(spans).toEqual([
      { parent: idOf(first), links: [] },
      { parent: idOf(second), links: [idOf(third)] },
    ]);
  });

  test("whoever waits for a batch is in its own request again", async () => {
    const inBatch: (string | undefined)[] = [];
    const batcher = createBatcher<string, string>(
      async (operations) => {
        inBatch.push(currentRequest()?.id);
        return operations;
      },
      { maxBatch: 10, maxQueue: 10, overflow: () => new Error("full") },
    );
    const ids = await Promise.all(
      ["a", "b"].map((id) =>
        inRequest({ id, principal: null, trace: undefined }, async () => {
          await batcher(id);
          return currentRequest()?.id;
        }),
      ),
    );
    expect(ids).toEqual(["a", "b"]);
    expect(inBatch).toEqual([undefined]);
  });

  test("are named to other processes with the caller's state, and to strangers without", async () => {
    const headers = { traceparent: SAMPLED, tracestate: "vendor=value" };
    const telemetry = await open({ TRACE_SAMPLE_RATIO: "0" });
    const { tracing } = telemetry;
    const parent = tracing?.parentOf(headers, "outside");
    if (tracing === undefined || parent === undefined) throw new Error("it is not sampled");
    const span = provider.getTracer("test").startSpan("request", {}, parent);
    const { traceId, spanId } = span.spanContext();
    const traceparent = `00-${TRACE}-${spanId}-01`;
    expect(traceId).toBe(TRACE);
    const trace = { tracer: tracing.tracer, span };
    expect(within(trace, traceHeaders)).toEqual({ traceparent, tracestate: "vendor=value" });
    expect(within(trace, outwardTraceHeaders)).toEqual({ traceparent });
    expect(within(trace, currentLogFields)).toEqual({
      requestId: "the-id",
      trace_id: TRACE,
      span_id: spanId,
    });
    await telemetry.close();
  });
});

function open(env: Record<string, string>): Promise<Telemetry> {
  const variables = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1", ...env };
  const read = readConfig("test", telemetryConfig, variables);
  if ("problems" in read) throw new Error(read.problems.join());
  const log = createLogger("silent", "test");
  return openTelemetry({ config: read.config, modules: ["test"], metrics: new Registry(), log });
}

describe("a request is sampled", () => {
  const decide = async (
    env: Record<string, string>,
    traceparent: string | undefined,
    origin: "outside" | "inside",
  ) => {
    const { tracing, close } = await open(env);
    const decided = tracing?.parentOf(traceparent === undefined ? {} : { traceparent }, origin) !== undefined;
    await close();
    return decided;
  };
  const never = { TRACE_SAMPLE_RATIO: "0" };
  const always = { TRACE_SAMPLE_RATIO: "1" };
  const ignoring = { TRACE_PARENTS: "ignore" };

  test.each([
    ["by chance, without a trace of its own", always, undefined, "outside", true],
    ["by chance, without a trace of its own", never, undefined, "outside", false],
    ["as its caller says, whatever the chance", never, SAMPLED, "outside", true],
    ["as its caller says, whatever the chance", always, UNSAMPLED, "outside", false],
    ["by chance, when what its caller says is nonsense", always, "00-nonsense-01", "outside", true],
    ["by chance, when what its caller says is nonsense", never, "00-nonsense-01", "outside", false],
    ["by chance, when callers are not listened to", { ...always, ...ignoring }, UNSAMPLED, "outside", true],
    ["by chance, when callers are not listened to", { ...never, ...ignoring }, SAMPLED, "outside", false],
    ["as the process before has decided", { ...never, ...ignoring }, SAMPLED, "inside", true],
    ["as the process before has decided", always, UNSAMPLED, "inside", false],
    ["as the process before has decided", always, undefined, "inside", false],
  ] as const)("%s (%j, %s, %s: %s)", async (_why, env, traceparent, origin, sampled) => {
    expect(await decide(env, traceparent, origin)).toBe(sampled);
  });

  test("never, where nobody is told of traces", async () => {
    expect(
      (await open({ OTEL_EXPORTER_OTLP_ENDPOINT: "", TRACE_SAMPLE_RATIO: "1" })).tracing,
    ).toBeUndefined();
  });
});
