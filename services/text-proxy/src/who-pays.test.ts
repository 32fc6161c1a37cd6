// Every possible end of a stream, over real HTTP with an upstream that scripts every byte: delivered
// output is charged, also if we or the client end the stream. A stream that the upstream itself
// broke off before its usage is free.
import type { ServerResponse } from "node:http";
import { HoldState } from "@gr/proto/billing";
import { streamPieces, until } from "@gr/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { payloadsOf, StreamReader } from "./test/read-stream.ts";
import { chat, idOf, type Rig, startRig } from "./test/rig.ts";
import { ScriptedUpstream, sendJson, startStream } from "./test/scripted-upstream.ts";

const PATIENCE = { timeoutMs: 60_000 };
const MIB = 1024 * 1024;
/** The upstream's bill for every generation, and its charge. */
const BILL = { cost: 4_200_000_000n, credits: 42n };
/** Cost and charge of a usage in the stream. */
const SAID = { cost: 1_230_000_000n, credits: 13n };
let upstream: ScriptedUpstream;
let rig: Rig;
/** A rig with a total time of two seconds. */
let brief: Rig;
/** The same rig with an upstream without look-ups. */
let briefOpenAi: Rig;

beforeAll(async () => {
  upstream = await new ScriptedUpstream().start();
  rig = await startRig(upstream.url, { TEXT_IDLE_TIMEOUT_MS: "20000" });
  brief = await startRig(upstream.url, { TEXT_TOTAL_TIMEOUT_MS: "2000" });
  briefOpenAi = await startRig(upstream.url, {
    TEXT_UPSTREAM_KIND: "openai",
    TEXT_TOTAL_TIMEOUT_MS: "2000",
  });
});
afterAll(async () => {
  await Promise.all([rig, brief, briefOpenAi].map((one) => one?.stop()));
  await upstream?.stop();
});
beforeEach(() => {
  upstream.generations = (_, response) => sendJson(response, '{"data":{"total_cost":0.0042}}');
});

const hello = chat("sandbox/chat", "hi", { stream: true });
const respond = { model: "sandbox/chat", input: "hi", stream: true };
const base = '"id":"gen-7","object":"chat.completion.chunk","created":5,"model":"m"';
const token = (text: string) => `data: {${base},"choices":[{"index":0,"delta":{"content":"${text}"}}]}\n\n`;
const USAGE = '"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12,"cost":0.00123}';
const usageEvent = `data: {${base},"choices":[],${USAGE}}\n\n`;
const error = `data: {${base},"error":{"code":502,"message":"secret"},"choices":[{"index":0,"finish_reason":"error"}]}\n\n`;
const DONE = "data: [DONE]\n\n";
const event = (type: string, sequence: number, fields: string) =>
  `event: ${type}\ndata: {"type":"${type}","sequence_number":${sequence},${fields}}\n\n`;
const created = event("response.created", 0, '"response":{"id":"resp_1","created_at":5,"model":"m"}');
const delta = event("response.output_text.delta", 1, '"delta":"a"');

const begun = [
  ["chat/completions", hello, token("a")],
  ["responses", respond, created + delta],
] as const;

const endless = () => undefined;
const reset = (response: ServerResponse) => {
  response.destroy();
};
function* manyMiB(count: number, piece: string): Generator<string> {
  for (let sent = 0; sent < count * MIB; sent += piece.length) yield piece;
}
const FILLER = "x".repeat(MIB);

async function run(body: unknown, path: "chat/completions" | "responses", on = rig, init: RequestInit = {}) {
  const response = await on.post(path, body, init);
  const text = await response.text();
  const id = idOf(response);
  return { response, text, id, charged: on.billing.callsOf(id).find(({ kind }) => kind === "capture") };
}

/**
 * Runs a request until the total time expires. On a machine too slow for any output, nothing is charged: the test
 * repeats the request.
 */
async function runOut(
  delivered: string,
  body: unknown,
  path: "chat/completions" | "responses",
  on: Rig,
): ReturnType<typeof run> {
  for (;;) {
    const ended = await run(body, path, on);
    if (ended.text.startsWith(delivered)) return ended;
    expect(ended.charged).toBeUndefined();
  }
}

/** Returns the event of an early end in either API's form, with its cost. */
function cutOf(text: string): { message: string; cost: number | undefined } {
  type Cut = { error: { message: string }; usage?: { cost: number } };
  const last = payloadsOf(text).at(-1) as unknown as Cut & { response?: Cut };
  const { error, usage } = last.response ?? last;
  return { message: error.message, cost: usage?.cost };
}

describe("what we cut off is charged", () => {
  test.each(begun)("after its total time, as looked up: %s", async (path, body, first) => {
    upstream.script(streamPieces([first], endless));
    const { text, charged } = await runOut(first, body, path, brief);
    expect(charged).toMatchObject(BILL);
    expect(cutOf(text)).toEqual({ message: expect.stringContaining("is charged"), cost: 0.0042 });
    expect(text).not.toContain("[DONE]");
  });

  test("as metered where nothing can be looked up, and never above the hold", async () => {
    const text = token(FILLER.slice(0, 65_536));
    upstream.script(streamPieces([text, text, text], endless));
    const { charged, id } = await runOut(text + text, hello, "chat/completions", briefOpenAi);
    expect(charged?.credits).toBe(briefOpenAi.billing.hold(id)?.credits);
  });

  test.each([
    ["chat/completions", hello, token("a"), "data: {"],
    ["responses", respond, created + delta, 'event: response.completed\ndata: {"type":"response.completed",'],
  ] as const)("at an event that is too large for us: %s", async (path, body, first, head) => {
    upstream.script(streamPieces([first, `${head}"a":"`, ...manyMiB(33, FILLER)], endless));
    const { text, charged } = await run(body, path);
    expect(charged).toMatchObject(BILL);
    expect(text.startsWith(first)).toBe(true);
    expect(cutOf(text)).toEqual({ message: expect.stringContaining("larger than"), cost: 0.0042 });
  });

  test("when too much follows its usage, as that says", async () => {
    upstream.script(streamPieces([token("a"), usageEvent, ...manyMiB(34, `: ${FILLER}\n\n`)], endless));
    const { text, charged } = await run(hello, "chat/completions");
    expect(charged).toMatchObject(SAID);
    expect(text).toContain(usageEvent);
  });

  test("and a client that repeats the request gets what it paid for", async () => {
    upstream.script(streamPieces([token("a"), 'data: {"a":"', ...manyMiB(33, FILLER)], endless));
    const init = { headers: { "idempotency-key": "cut off" } };
    const first = await run(hello, "chat/completions", rig, init);
    const again = await run(hello, "chat/completions", rig, init);
    expect(again.response.headers.get("idempotency-replayed")).toBe("true");
    expect(again.text).toBe(first.text);
  });
});

test("a stream of which nothing came in its total time is free", async () => {
  upstream.script(streamPieces([], endless));
  const { text, charged, id } = await run(hello, "chat/completions", brief);
  expect(charged).toBeUndefined();
  expect(cutOf(text).message).toContain("nothing was charged");
  await until(() => brief.billing.state(id) === HoldState.RELEASED, PATIENCE);
  expect(brief.billing.callsOf(id).at(-1)).toMatchObject({ kind: "release", cost: BILL.cost });
});

test("a client that leaves with more to come than is read on is charged", async () => {
  upstream.script(streamPieces(manyMiB(200, token(FILLER)), endless));
  const leaving = new AbortController();
  const response = await rig.post("chat/completions", hello, { signal: leaving.signal });
  await response.body?.getReader().read();
  leaving.abort();
  const id = idOf(response);
  await until(() => rig.billing.state(id) === HoldState.CAPTURED, PATIENCE);
  expect(rig.billing.callsOf(id).at(-1)).toMatchObject(BILL);
});

describe("an upstream that breaks off after its usage has delivered", () => {
  test("by a reset: the client has all but [DONE]", async () => {
    upstream.script(streamPieces([token("a"), usageEvent], reset));
    const { text, charged } = await run(hello, "chat/completions");
    expect(charged).toMatchObject(SAID);
    expect(text).toBe(token("a") + usageEvent);
  });

  test("by silence", async () => {
    const impatient = await startRig(upstream.url, { TEXT_IDLE_TIMEOUT_MS: "5000" });
    try {
      upstream.script(streamPieces([token("a"), usageEvent], endless));
      const { text, charged } = await run(hello, "chat/completions", impatient);
      expect(charged).toMatchObject(SAID);
      expect(text).toBe(token("a") + usageEvent);
    } finally {
      await impatient.stop();
    }
  });

  test("by an error event: the client is told", async () => {
    upstream.script(streamPieces([token("a"), usageEvent, error, DONE]));
    const { text, charged } = await run(hello, "chat/completions");
    expect(charged).toMatchObject(SAID);
    expect(text.startsWith(token("a") + usageEvent)).toBe(true);
    expect(cutOf(text)).toEqual({ message: expect.stringContaining("is charged"), cost: undefined });
    expect(text).not.toContain("secret");
  });
});

describe("the last event of a response", () => {
  test.each([
    ["with a number that is none", '{"type":"response.completed","response":{"output":[],"usage":NaN}}'],
    ["over two lines", '{"type":"response.completed",\ndata: "response":{"output":[]}}'],
    ["without a response", '{"type":"response.completed","response":null}'],
  ])("%s is delivered, and charged as looked up", async (_how, data) => {
    const last = `event: response.completed\ndata: ${data}\n\n`;
    upstream.script(streamPieces([created, delta, last]));
    const { text, charged } = await run(respond, "responses");
    expect(charged).toMatchObject(BILL);
    expect(text.startsWith(created + delta)).toBe(true);
    expect(text).toContain("event: response.completed\n");
    expect(text).not.toContain("response.failed");
  });
});

test("a usage whose sum no upstream bills is not believed: it is looked up", async () => {
  const absurd = USAGE.replace(
    "0.00123",
    '9000000,"is_byok":true,"cost_details":{"upstream_inference_cost":9000000}',
  );
  upstream.script((_, response) => sendJson(response, `{"id":"g","choices":[{"message":{}}],${absurd}}`));
  const { charged } = await run({ ...hello, stream: false }, "chat/completions");
  expect(charged).toMatchObject(BILL);
});

describe("a failure that was billed is free at once, and its bill our loss when it comes", () => {
  test.each([
    ["an error answer", '{"error":{"message":"oops"}}', 500],
    ["an error with status 200", '{"error":{"message":"no"},"choices":[]}', 200],
  ])("%s", async (_what, body, status) => {
    upstream.script((_, response) => sendJson(response, body, status));
    const { response, id } = await run({ ...hello, stream: false }, "chat/completions");
    expect(response.status).toBe(502);
    expect(rig.billing.state(id)).toBe(HoldState.RELEASED);
    const releases = () => rig.billing.callsOf(id).filter(({ kind }) => kind === "release");
    expect(releases()[0]).toMatchObject({ cost: 0n });
    await until(() => releases().length === 2, PATIENCE);
    expect(releases()).toMatchObject([{ cost: 0n }, { cost: BILL.cost }]);
    expect(await rig.metrics()).toMatch(/text_late_bills_total [1-9]/);
  });
});

test("a stream whose type is written in capitals is one", async () => {
  upstream.script((_, response) => {
    response.writeHead(200, { "content-type": "Text/Event-Stream; charset=UTF-8" });
    response.end(token("a") + usageEvent + DONE);
  });
  const { text, charged } = await run(hello, "chat/completions");
  expect(charged).toMatchObject(SAID);
  expect(text).toBe(token("a") + usageEvent + DONE);
});

test("a hold is renewed as long as its stream runs", async () => {
  const lasting = await startRig(upstream.url, { HOLD_LEASE_MS: "300", HOLD_GRACE_MS: "1" });
  const renewed = Promise.withResolvers<void>();
  const before = Date.now();
  lasting.billing.after = async ({ kind }) => {
    if (kind === "extend") renewed.resolve();
  };
  upstream.script(async (_, response) => {
    startStream(response);
    response.write(token("a"));
    await renewed.promise;
    response.end(usageEvent + DONE);
  });
  try {
    const response = await lasting.post("chat/completions", hello);
    const reader = new StreamReader(response);
    await until(() => reader.done, PATIENCE);
    const id = idOf(response);
    const [place, extend, ...others] = lasting.billing.callsOf(id);
    expect([place?.kind, extend?.kind, others.at(-1)?.kind]).toEqual(["place", "extend", "capture"]);
    // Several times on a slow machine.
    expect(others.slice(0, -1).filter(({ kind }) => kind !== "extend")).toEqual([]);
    expect(Number(place?.deadlineAt)).toBeGreaterThanOrEqual(before + 300 + 1);
    expect(Number(extend?.deadlineAt)).toBeGreaterThan(Number(place?.deadlineAt));
    expect(extend?.credits).toBe(lasting.billing.hold(id)?.credits);
  } finally {
    await lasting.stop();
  }
});

test("a stream whose hold somebody else has resolved is given up, and free", async () => {
  const env = { HOLD_LEASE_MS: "300", HOLD_GRACE_MS: "1", TEXT_IDLE_TIMEOUT_MS: "3600000" };
  const lasting = await startRig(upstream.url, env);
  const left = Promise.withResolvers<void>();
  upstream.script(async (_, response) => {
    startStream(response);
    response.write(token("a"));
    response.once("close", left.resolve);
  });
  try {
    const response = await lasting.post("chat/completions", hello);
    const id = idOf(response);
    lasting.billing.giveUp(id);
    const text = await response.text();
    await left.promise;
    expect(cutOf(text).message).toContain("nothing was charged");
    expect(lasting.billing.callsOf(id).some(({ kind }) => kind === "capture")).toBe(false);
  } finally {
    await lasting.stop();
  }
});
