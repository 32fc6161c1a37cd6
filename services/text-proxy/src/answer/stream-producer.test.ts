// Streams over real HTTP with an upstream that scripts every byte: the client's events, their times, and the effect of
// every early end on the client and on the money.
import type { ServerResponse } from "node:http";
import { ReleaseReason } from "@gr/clients";
import { HoldState } from "@gr/proto/billing";
import { streamPieces, until } from "@gr/testing";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { payloadsOf, StreamReader } from "../test/read-stream.ts";
import { chat, idOf, type Rig, startRig } from "../test/rig.ts";
import { ScriptedUpstream, sendJson, startStream } from "../test/scripted-upstream.ts";

const PATIENCE = { timeoutMs: 60_000 };
let upstream: ScriptedUpstream;
let rig: Rig;
let openAi: Rig;
/** Loses its patience soon, which the others must not do on a slow machine. */
let immediate: Rig;

beforeAll(async () => {
  upstream = await new ScriptedUpstream().start();
  rig = await startRig(upstream.url);
  immediate = await startRig(upstream.url, { TEXT_IDLE_TIMEOUT_MS: "5000" });
  openAi = await startRig(upstream.url, { TEXT_UPSTREAM_KIND: "openai" });
});
afterAll(async () => {
  await Promise.all([rig?.stop(), openAi?.stop(), immediate?.stop()]);
  await upstream?.stop();
});
afterEach(() => {
  rig.billing.before = async () => undefined;
});

const hello = chat("sandbox/chat", "hi", { stream: true });
const respond = { model: "sandbox/chat", input: "hi", stream: true };
const base = '"id":"gen-7","object":"chat.completion.chunk","created":5,"model":"m"';
const token = (text: string) => `data: {${base},"choices":[{"index":0,"delta":{"content":"${text}"}}]}\n\n`;
const usage = (cost: string) =>
  `{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12${cost === "" ? "" : `,"cost":${cost}`}}`;
const usageEvent = (cost: string) => `data: {${base},"choices":[],"usage":${usage(cost)}}\n\n`;
const DONE = "data: [DONE]\n\n";
const whole = [": hello\n\n", token("a"), token("é"), usageEvent("0.00123"), DONE];

const responseEvent = (type: string, sequence: number, fields: string) =>
  `event: ${type}\ndata: {"type":"${type}","sequence_number":${sequence},${fields}}\n\n`;
const created = responseEvent(
  "response.created",
  0,
  '"response":{"id":"resp_1","created_at":5,"model":"m","error":null,"usage":null}',
);
const delta = (text: string, sequence: number) =>
  responseEvent("response.output_text.delta", sequence, `"delta":"${text}"`);
const responsesUsage = (cost: string) => `{"input_tokens":10,"output_tokens":2,"total_tokens":12${cost}}`;
const completed = (usage: string, type = "response.completed") =>
  responseEvent(type, 3, `"response":{"id":"resp_1","status":"x","error":null,"output":[],"usage":${usage}}`);

async function run(body: unknown, on = rig, path: "chat/completions" | "responses" = "chat/completions") {
  const response = await on.post(path, body);
  const text = await response.text();
  const operations = on.billing.callsOf(idOf(response));
  return {
    response,
    text,
    id: idOf(response),
    last: operations.at(-1),
    kinds: operations.map(({ kind }) => kind),
  };
}

/** On a slow machine its bill may have been looked for already. */
const withoutRelease = (kinds: readonly string[]) => kinds.filter((kind) => kind !== "release");

describe("a stream", () => {
  test("is passed on byte for byte, with the gateway's headers", async () => {
    upstream.script(streamPieces(whole));
    const { response, text, last } = await run(hello);
    expect(text).toBe(whole.join(""));
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/event-stream; charset=utf-8",
      "x-ratelimit-limit-requests": "100",
      "x-accel-buffering": "no",
    });
    expect(last).toMatchObject({ kind: "capture", cost: 1_230_000_000n, credits: 13n });
    expect(upstream.requests[0]?.headers["accept"]).toBe("text/event-stream");
  });

  test("is the same wherever the network cuts it", async () => {
    const bytes = Buffer.from(whole.join(""));
    for (const size of [1, 2, 3, 7, 64, 100_000]) {
      upstream.script(async (_, response) => {
        startStream(response);
        for (let at = 0; at < bytes.length; at += size) {
          response.write(bytes.subarray(at, at + size));
          if (at % 5 === 0) await new Promise((resolve) => setImmediate(resolve));
        }
        response.end();
      });
      const { text, last } = await run(hello);
      expect(text).toBe(bytes.toString());
      expect(last).toMatchObject({ kind: "capture", cost: 1_230_000_000n });
    }
  });

  test("with CRLF line ends and no space after data is understood and kept", async () => {
    const odd = whole.map((event) => event.replaceAll("\n", "\r\n").replace("data: ", "data:"));
    upstream.script(streamPieces(odd));
    const { text, last } = await run(hello);
    expect(text).toBe(odd.join(""));
    expect(last).toMatchObject({ kind: "capture", cost: 1_230_000_000n });
  });

  test("is passed on as it comes, not when it is whole", async () => {
    const released = Promise.withResolvers<void>();
    upstream.script(async (_, response) => {
      startStream(response);
      response.write(token("first") + token("half").slice(0, 20));
      await released.promise;
      response.end(token("half").slice(20) + usageEvent("0.001") + DONE);
    });
    const reader = new StreamReader(await rig.post("chat/completions", hello));
    await until(() => reader.text === token("first"), PATIENCE);
    released.resolve();
    await until(() => reader.done, PATIENCE);
    expect(reader.text).toBe(token("first") + token("half") + usageEvent("0.001") + DONE);
  });

  test("says that it is alive only until the upstream's first byte", async () => {
    const released = Promise.withResolvers<void>();
    upstream.script(async (_, response) => {
      startStream(response);
      await released.promise;
      response.write(token("a"));
      await new Promise((resolve) => setTimeout(resolve, 300));
      response.end(usageEvent("0.001") + DONE);
    });
    const lively = await startRig(upstream.url, { TEXT_KEEP_ALIVE_MS: "100" });
    const reader = new StreamReader(await lively.post("chat/completions", hello));
    try {
      await until(() => reader.text.startsWith(": keep-alive\n\n: keep-alive\n\n"), PATIENCE);
      released.resolve();
      await until(() => reader.done, PATIENCE);
    } finally {
      await lively.stop();
    }
    expect(reader.text.replaceAll(": keep-alive\n\n", "")).toBe(token("a") + usageEvent("0.001") + DONE);
    expect(reader.text.lastIndexOf(": keep-alive")).toBeLessThan(reader.text.indexOf("data:"));
  });
});

describe("the last usage", () => {
  test.each([
    ["chat/completions", hello, [token("a")], [usageEvent("0.001"), DONE]],
    ["responses", respond, [created, delta("a", 1)], [completed(responsesUsage(',"cost":0.001')), DONE]],
  ] as const)("and what follows wait for the capture (%s)", async (path, body, before, after) => {
    const captured = Promise.withResolvers<void>();
    const entered = Promise.withResolvers<void>();
    rig.billing.before = async ({ kind }) => {
      if (kind !== "capture") return;
      entered.resolve();
      await captured.promise;
    };
    upstream.script(streamPieces([...before, ...after]));
    const reader = new StreamReader(await rig.post(path, body));
    await entered.promise;
    await until(() => reader.text === before.join(""), PATIENCE);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(reader.text).toBe(before.join(""));
    captured.resolve();
    await until(() => reader.done, PATIENCE);
    expect(reader.text).toBe([...before, ...after].join(""));
  });

  test("says the true cost where the upstream says none", async () => {
    upstream.script(streamPieces([token("a"), usageEvent(""), DONE]));
    const { text, last } = await run(hello, openAi);
    expect(text).toBe(token("a") + usageEvent("0.000008") + DONE);
    expect(last).toMatchObject({ kind: "capture", cost: 8_000_000n, credits: 1n });
    upstream.script(streamPieces([created, completed(responsesUsage(""))]));
    const responses = await run(respond, openAi, "responses");
    expect(responses.text).toBe(created + completed(responsesUsage(',"cost":0.000008')));
  });

  test("of several is the one that counts, and none of the others holds the stream up", async () => {
    const events = [
      usageEvent("0.001"),
      token("b"),
      usageEvent("0.002"),
      usageEvent("0.003"),
      ": end\n\n",
      DONE,
    ];
    upstream.script(streamPieces(events));
    const { text, last } = await run(hello);
    expect(text).toBe(events.join(""));
    expect(last).toMatchObject({ kind: "capture", cost: 3_000_000_000n });
  });

  test("that was passed on already still counts when only other chunks follow", async () => {
    const events = [token("a"), usageEvent("0.001"), token(""), DONE];
    upstream.script(streamPieces(events));
    const { text, last } = await run(hello);
    expect(text).toBe(events.join(""));
    expect(last).toMatchObject({ kind: "capture", cost: 1_000_000_000n });
  });

  test("in the middle of null usages and words that look like it is found", async () => {
    const events = [
      `data: {${base},"choices":[{"delta":{"content":"\\"usage\\":{\\"cost\\":9} [DONE] \\"error\\":{}"}}],"usage":null}\n\n`,
      `data: {${base},"choices":[{"delta":{"content":"data: [DONE]"}}],"usage" : null,"error": null}\n\n`,
      usageEvent("0.001"),
      DONE,
    ];
    upstream.script(streamPieces(events));
    const { text, last } = await run(hello);
    expect(text).toBe(events.join(""));
    expect(last).toMatchObject({ kind: "capture", cost: 1_000_000_000n });
  });

  test("that never comes is looked up, and told in an event of our own", async () => {
    upstream.generations = (request, response) =>
      sendJson(
        response,
        request.path.endsWith("id=gen-7")
          ? '{"data":{"total_cost":1.5e-5,"native_tokens_prompt":3,"native_tokens_completion":4}}'
          : "{}",
      );
    upstream.script(streamPieces([token("a"), DONE]));
    const { text, last } = await run(hello);
    expect(last).toMatchObject({ kind: "capture", cost: 15_000_000n, credits: 1n });
    expect(text.endsWith(DONE)).toBe(true);
    expect(payloadsOf(text).at(-1)).toEqual({
      id: "gen-7",
      object: "chat.completion.chunk",
      created: 5,
      model: "m",
      choices: [],
      usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7, cost: 0.000015 },
    });
    upstream.script(streamPieces([created, completed("null")]));
    const responses = await run(respond, openAi, "responses");
    expect(responses.last?.kind).toBe("capture");
    expect(payloadsOf(responses.text).at(-1)?.["response"]).toMatchObject({
      usage: { total_tokens: expect.any(Number) },
    });
  });

  test("of an incomplete response is charged too", async () => {
    const events = [created, completed(responsesUsage(',"cost":0.002'), "response.incomplete")];
    upstream.script(streamPieces(events));
    const { text, last } = await run(respond, rig, "responses");
    expect(text).toBe(events.join(""));
    expect(last).toMatchObject({ kind: "capture", cost: 2_000_000_000n });
  });

  test("loses nothing of what follows its last event, wherever the network cuts it", async () => {
    const end = completed(responsesUsage(',"cost":0.002'));
    upstream.script(streamPieces([created, `${end}data: [DO`, "NE]\n\n"]));
    const { text, last } = await run(respond, rig, "responses");
    expect(text).toBe(created + end + DONE);
    expect(last).toMatchObject({ kind: "capture", cost: 2_000_000_000n });
  });
});

describe("a stream that breaks", () => {
  const error = `data: {${base},"error":{"code":502,"message":"secret details"},"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}\n\n`;

  const reset = (response: ServerResponse) => {
    response.destroy();
  };
  const silence = () => undefined;
  const end = (response: ServerResponse) => {
    response.end();
  };

  test.each<[string, readonly string[], (response: ServerResponse) => void]>([
    ["is reset", [token("a")], reset],
    [
      "is reset in the middle of an event",
      [token("a"), token("b").slice(0, 9)],
      (response) => response.destroy(),
    ],
    ["falls silent", [token("a")], silence],
    ["ends too early", [token("a")], end],
    ["has an error event", [token("a"), error, DONE], end],
    ["has nonsense for a usage event", [token("a"), 'data: {"usage":{]}\n\n', DONE], end],
  ])("because it %s ends with an error chunk, without [DONE], uncharged", async (_case, pieces, after) => {
    upstream.script(streamPieces(pieces, after));
    const { response, text, kinds } = await run(hello, after === silence ? immediate : rig);
    expect(response.status).toBe(200);
    expect(text.startsWith(token("a"))).toBe(true);
    expect(text).not.toContain("[DONE]");
    expect(text).not.toContain("secret");
    expect(payloadsOf(text).at(-1)).toMatchObject({
      id: "gen-7",
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta: { content: "" }, finish_reason: "error" }],
      error: { message: expect.any(String), type: "provider_error" },
    });
    expect(withoutRelease(kinds)).toEqual(["place"]);
  });

  test("where nothing can be looked up is booked as metered, at once", async () => {
    upstream.script(streamPieces([token("a"), token("b")], (response) => response.destroy()));
    const { last } = await run(hello, openAi);
    expect(last).toMatchObject({ kind: "release", reason: ReleaseReason.FAILED });
    expect(last?.cost).toBeGreaterThan(0n);
  });

  test.each([
    ["is reset", [created, delta("a", 1)], true],
    ["ends too early", [created, delta("a", 1)], false],
    [
      "has a flat error event",
      [created, delta("a", 1), responseEvent("error", 2, '"code":"x","message":"secret"')],
      false,
    ],
    [
      "has a nested error event",
      [created, delta("a", 1), responseEvent("error", 2, '"error":{"message":"secret"}')],
      false,
    ],
  ])("as a response because it %s ends with response.failed", async (_case, pieces, reset) => {
    upstream.script(streamPieces(pieces, (response) => (reset ? response.destroy() : response.end())));
    const { text, kinds } = await run(respond, rig, "responses");
    expect(text).not.toContain("secret");
    expect(text).toContain("event: response.failed\n");
    expect(payloadsOf(text).at(-1)).toMatchObject({
      type: "response.failed",
      sequence_number: 2,
      response: {
        id: "resp_1",
        created_at: 5,
        model: "m",
        status: "failed",
        error: { code: "provider_error" },
      },
    });
    expect(withoutRelease(kinds)).toEqual(["place"]);
  });

  const quota = '"code":"insufficient_quota","message":"no"';
  test.each([
    ["chat/completions", [token("a"), `data: {"error":{${quota}}}\n\n`], 1],
    ["chat/completions", [token("a"), 'data: {"error":{"code":402,"message":"no"}}\n\n'], 1],
    ["chat/completions", [token("a"), error], 0],
    ["responses", [created, delta("a", 1), `data: {"type":"error",${quota}}\n\n`], 1],
    [
      "responses",
      [
        created,
        delta("a", 1),
        responseEvent("response.failed", 2, `"response":{"id":"r","error":{${quota}}}`),
      ],
      1,
    ],
  ] as const)(
    "of %s that ends by our account in its middle raises the alarm",
    async (path, pieces, raised) => {
      const alarms = async () =>
        Number(/key_refused_total\{upstream="default"\} (\d+)/.exec(await rig.metrics())?.[1] ?? 0);
      const before = await alarms();
      upstream.script(streamPieces(pieces));
      await run(path === "responses" ? respond : hello, rig, path);
      expect((await alarms()) - before).toBe(raised);
    },
  );

  test("with the upstream's own response.failed passes that on and books what it used as our loss", async () => {
    const failed = completed(responsesUsage(',"cost":0.003'), "response.failed");
    upstream.script(streamPieces([created, failed]));
    const { text, last } = await run(respond, rig, "responses");
    expect(text).toBe(created + failed);
    expect(last).toMatchObject({ kind: "release", reason: ReleaseReason.FAILED, cost: 3_000_000_000n });
  });

  test("in billing ends with an error chunk; the hold stays open", async () => {
    rig.billing.before = async ({ kind }) => {
      if (kind === "capture") throw new Error("the database is gone");
    };
    upstream.script(streamPieces(whole));
    const { text, id } = await run(hello);
    expect(text).not.toContain("[DONE]");
    expect(text).not.toContain('"usage"');
    expect(payloadsOf(text).at(-1)).toMatchObject({ error: { code: "outcome_unknown" } });
    expect(rig.billing.state(id)).toBe(HoldState.OPEN);
  });

  test("before its first byte is a proper HTTP error", async () => {
    upstream.script((_, response) => sendJson(response, '{"error":{"message":"slow down"}}', 429));
    const { response, last } = await run(hello);
    expect(response.status).toBe(503);
    expect(response.headers.get("content-type")).toContain("application/json");
    expect(last).toMatchObject({ kind: "release", reason: ReleaseReason.FAILED, cost: 0n });
    upstream.script((_, response) => sendJson(response, '{"error":{"message":"in a 200"}}'));
    expect((await run(hello)).response.status).toBe(502);
    upstream.script((_, response) => sendJson(response, '{"choices":[{"message":{}}]}'));
    expect((await run(hello)).response.status).toBe(502);
  });
});

test("a client that leaves before the stream has begun is charged what the upstream bills", async () => {
  const begin = Promise.withResolvers<void>();
  upstream.script(async (_, response) => {
    await begin.promise;
    await streamPieces(whole)(undefined, response);
  });
  const leaving = new AbortController();
  const pending = rig.post("chat/completions", hello, { signal: leaving.signal });
  await until(() => upstream.requests.length === 1, PATIENCE);
  const id = String(upstream.requests[0]?.headers["x-request-id"]);
  leaving.abort();
  await expect(pending).rejects.toThrow();
  begin.resolve();
  await until(() => rig.billing.state(id) === HoldState.CAPTURED, PATIENCE);
  expect(rig.billing.callsOf(id)[1]).toMatchObject({ cost: 1_230_000_000n });
});

test("a stop lets running streams end and tells the others that they failed", async () => {
  const released = Promise.withResolvers<void>();
  upstream.script(async (request, response) => {
    startStream(response);
    response.write(token("a"));
    if (request.body.includes("endless")) return;
    await released.promise;
    response.end(usageEvent("0.001") + DONE);
  });
  const stopping = await startRig(upstream.url);
  const ending = new StreamReader(await stopping.post("chat/completions", hello));
  const endless = await stopping.post("chat/completions", chat("sandbox/chat", "endless", { stream: true }));
  const reader = new StreamReader(endless);
  await until(() => ending.text !== "" && reader.text !== "", PATIENCE);
  const stopped = stopping.stop();
  released.resolve();
  await stopped;
  await until(() => ending.done && reader.done, PATIENCE);
  expect(ending.text).toBe(token("a") + usageEvent("0.001") + DONE);
  expect(payloadsOf(reader.text).at(-1)).toMatchObject({ error: { code: "service_unavailable" } });
  expect(stopping.billing.state(idOf(endless))).toBe(HoldState.OPEN);
});
