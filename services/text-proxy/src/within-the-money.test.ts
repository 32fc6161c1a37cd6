// No answer exceeds the money. A stream extends its hold and is ended if that is refused. A non-streamed answer
// receives an output limit. A bill above the trusted cost is not the customer's.
import type { ServerResponse } from "node:http";
import { chargeOf, PICO_PER_CREDIT } from "@gr/money";
import { LOSS_COOL_DOWN_MS } from "@gr/paid-request";
import { drained, ManualClock, streamPieces, until } from "@gr/testing";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { principal } from "./test/front-door.ts";
import { payloadsOf, StreamReader } from "./test/read-stream.ts";
import { chat, idOf, type Rig, startRig } from "./test/rig.ts";
import { type Arrived, ScriptedUpstream, sendJson, startStream } from "./test/scripted-upstream.ts";

const PATIENCE = { timeoutMs: 60_000 };
let upstream: ScriptedUpstream;
let rig: Rig;
let openAi: Rig;

const clock = new ManualClock(Date.now());

beforeAll(async () => {
  upstream = await new ScriptedUpstream().start();
  rig = await startRig(upstream.url, {}, clock);
  openAi = await startRig(upstream.url, { TEXT_UPSTREAM_KIND: "openai" }, clock);
});
afterAll(async () => {
  await Promise.all([rig?.stop(), openAi?.stop()]);
  await upstream?.stop();
});
afterEach(() => {
  // The losses of one test close no route in the next one.
  clock.advance(LOSS_COOL_DOWN_MS);
  rig.billing.before = async () => undefined;
});

/** The price of sandbox/chat. */
const OUTPUT = 1_500_000n;
const INPUT = 500_000n;
const TEXT = "y".repeat(1_000);
const base = '"id":"gen-7","object":"chat.completion.chunk","created":5,"model":"m"';
const token = (text: string, more = "") =>
  `data: {${base},"choices":[{"index":0,"delta":{"content":"${text}"}}]${more}}\n\n`;
const EMPTY = token("");
const usage = (input: number, output: number, cost?: string) =>
  `"usage":{"prompt_tokens":${input},"completion_tokens":${output},"total_tokens":${input + output}${cost === undefined ? "" : `,"cost":${cost}`}}`;
const usageEvent = (fields: string) => `data: {${base},"choices":[],${fields}}\n\n`;
const DONE = "data: [DONE]\n\n";
const answer = (fields: string) => `{"id":"gen-1","choices":[{"message":{"content":"hé"}}],${fields}}`;
const open = (more: Record<string, unknown> = {}) => chat("sandbox/chat", "hi", { stream: true, ...more });

/** Limits the key's further spending to this amount. */
function leave(credits: bigint, on = rig): void {
  on.billing.cap(principal.accountId, principal.keyId, on.billing.charged + credits);
}

const created = `event: response.created\ndata: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","created_at":5,"model":"m"}}\n\n`;
const delta = (text: string) =>
  `event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":1,"delta":"${text}"}\n\n`;

const cheap = (_sent: number): string => "0.001";

/** Returns the error of the last event, in either API's form. */
function errorOf(text: string): unknown {
  const last = payloadsOf(text).at(-1);
  const { response } = (last ?? {}) as { response?: { error: unknown } };
  return response?.error ?? last?.["error"];
}

/** Streams pieces, each when the client has the one before, until they end or the stream is cut. */
async function inStep(
  pieces: Iterable<string>,
  body: object,
  { on = rig, path = "chat/completions", bill = cheap, headers = {} } = {},
) {
  let reader: StreamReader | undefined;
  let sent = 0;
  let length = 0;
  let gone = false;
  upstream.generations = (_, response) => sendJson(response, `{"data":{"total_cost":${bill(sent)}}}`);
  upstream.script(async (_, response) => {
    response.once("close", () => {
      gone = true;
    });
    startStream(response);
    for (const piece of pieces) {
      response.write(piece);
      sent += 1;
      await until(() => gone || (reader?.text.length ?? 0) >= length, PATIENCE);
      length += piece.length;
      if (gone) return;
    }
    response.end();
  });
  const response = await on.post(path as "chat/completions", body, { headers });
  reader = new StreamReader(response);
  const { text } = await untilDone(reader);
  const calls = on.billing.callsOf(idOf(response));
  return { text, sent, calls, last: calls.at(-1), request: JSON.parse(String(upstream.requests[0]?.body)) };
}

async function untilDone(reader: StreamReader): Promise<StreamReader> {
  await until(() => reader.done, PATIENCE);
  return reader;
}

function* endless(piece: string, first = EMPTY): Generator<string> {
  yield first;
  for (;;) yield piece;
}
function* some(count: number, piece: string, ...last: string[]): Generator<string> {
  yield EMPTY;
  for (let delivered = 0; delivered < count; delivered += 1) yield piece;
  yield* last;
}

describe("a stream without a limit", () => {
  test.each([
    ["chat/completions", open(), endless(token(TEXT))],
    ["responses", { model: "sandbox/chat", input: "hi", stream: true }, endless(delta(TEXT), created)],
  ] as const)(
    "grows as far as the money goes, is cut, and what was delivered is charged: %s",
    async (path, body, pieces) => {
      leave(40n);
      // As in English: a token has four bytes.
      const bill = (sent: number) => ((sent * 250 * 1.5) / 1e6).toFixed(9);
      const { text, calls, last } = await inStep(pieces, body, { path, bill });
      const [place] = calls;
      expect(errorOf(text)).toMatchObject({
        code: "spend_limit_exceeded",
        message: expect.stringContaining("is charged"),
      });
      expect(place?.credits).toBeLessThanOrEqual(10n);
      expect(calls.filter(({ kind }) => kind === "extend").length).toBeGreaterThanOrEqual(2);
      expect(calls.filter(({ kind }) => kind === "extend").at(-1)?.credits).toBeLessThanOrEqual(40n);
      expect(last?.kind).toBe("capture");
      // Metered at two bytes a token it was more than 40, so it is about half of that at four.
      expect(last?.credits).toBeGreaterThan(15n);
      expect(last?.cost).toBeLessThanOrEqual(40n * PICO_PER_CREDIT);
      expect(text).not.toContain("[DONE]");
    },
  );

  test("that the money covers is never noticed", async () => {
    leave(1_000n);
    const end = [usageEvent(usage(10, 8_000, "0.012005")), DONE];
    const { text, calls } = await inStep(some(32, token(TEXT), ...end), open());
    expect(text).toBe(EMPTY + token(TEXT).repeat(32) + end.join(""));
    expect(calls.map(({ kind }) => kind)).toEqual(["place", "capture"]);
  });

  test("that the money covers in the end grows on its way", async () => {
    leave(300n);
    const end = [usageEvent(usage(10, 8_000, "0.012005")), DONE];
    const { text, calls } = await inStep(some(32, token(TEXT), ...end), open());
    expect(text).toBe(EMPTY + token(TEXT).repeat(32) + end.join(""));
    expect(calls.map(({ kind }) => kind)).toContain("extend");
    expect(calls.at(-1)).toMatchObject({ kind: "capture", credits: 121n });
  });

  test("waits while nobody has said whether it may go on, and then goes on", async () => {
    leave(100_000n);
    const decide = Promise.withResolvers<void>();
    let asked = false;
    rig.billing.before = async ({ kind }) => {
      if (kind !== "extend") return;
      asked = true;
      await decide.promise;
    };
    // Far more than the model's maximum, and than sockets hold.
    const pieces = 20_000;
    let written = 0;
    upstream.script(async (_, response) => {
      startStream(response);
      response.write(EMPTY);
      for (; written < pieces && !response.destroyed; written += 1) {
        if (!response.write(token(TEXT))) await drained(response);
      }
      response.end(usageEvent(usage(10, 16_000, "0.024005")) + DONE);
    });
    const reader = new StreamReader(await rig.post("chat/completions", open()));
    await until(() => asked, PATIENCE);
    // Reading has stopped; the data already written fill the sockets.
    let before = -1;
    while (before !== written) {
      before = written;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    expect(written).toBeLessThan(pieces);
    decide.resolve();
    await untilDone(reader);
    expect(reader.text.length).toBeGreaterThan(pieces * TEXT.length);
    expect(reader.text.endsWith(DONE)).toBe(true);
  });

  test("ends when billing is away, for which nobody can be blamed", async () => {
    leave(40n);
    rig.billing.before = async ({ kind }) => {
      if (kind === "extend") throw new Error("the database is gone");
    };
    const { text, last } = await inStep(endless(token(TEXT)), open());
    expect(payloadsOf(text).at(-1)).toMatchObject({ error: { code: "billing_unavailable" } });
    expect(last?.kind).toBe("capture");
  });

  test("is told again as it ended to whoever repeats it", async () => {
    leave(40n);
    const init = { headers: { "idempotency-key": "cut for money" } };
    const long = some(200, token(TEXT));
    upstream.script(streamPieces(long, () => undefined));
    const first = await (await rig.post("chat/completions", open(), init)).text();
    const again = await rig.post("chat/completions", open(), init);
    expect(payloadsOf(first).at(-1)).toMatchObject({ error: { code: "spend_limit_exceeded" } });
    expect(await again.text()).toBe(first);
  });

  test("that says as it goes that it costs more than is metered is taken at its word, and not when it says less", async () => {
    for (const [text, expected] of [
      ["y", usage(10, 16_000, "0.0241")],
      [TEXT, usage(10, 2, "0.00001")],
    ] as const) {
      clock.advance(LOSS_COOL_DOWN_MS);
      leave(40n);
      const cut = await inStep(endless(token(text, `,${expected}`)), open());
      expect(payloadsOf(cut.text).at(-1)).toMatchObject({ error: { code: "spend_limit_exceeded" } });
    }
  });
});

describe("a stream with a limit", () => {
  const limited = open({ max_tokens: 1_000 });
  /** Credits of its limit, to the last one. */
  const held = 16n;

  test("that keeps to it is not cut, however long its words, and where nothing more is free", async () => {
    leave(held);
    const end = [usageEvent(usage(10, 1_000, "0.001505")), DONE];
    const { text, calls, request } = await inStep(some(10, token(TEXT), ...end), limited);
    expect(text).toContain("[DONE]");
    expect(calls.map(({ kind, credits }) => [kind, credits])).toEqual([
      ["place", 9n],
      ["extend", held],
      ["capture", held],
    ]);
    expect(request.max_tokens).toBe(1_000);
  });

  test("that is far above the money is served like a stream without one, and its limit is sent as it is", async () => {
    leave(10n);
    const end = [usageEvent(usage(10, 20, "0.000035")), DONE];
    const { text, last, request } = await inStep(some(1, token("ok"), ...end), open({ max_tokens: 128_000 }));
    expect(text).toContain("[DONE]");
    expect(last).toMatchObject({ kind: "capture", credits: 1n });
    expect(request.max_tokens).toBe(128_000);
  });

  test("that ignores it is cut, and charged for no more than was asked for", async () => {
    leave(held);
    const bill = (sent: number) => ((sent * 250 * 1.5) / 1e6).toFixed(9);
    const { text, sent, last } = await inStep(endless(token(TEXT)), limited, { bill });
    expect(payloadsOf(text).at(-1)).toMatchObject({ error: { code: "spend_limit_exceeded" } });
    expect(sent).toBeLessThan(20);
    expect(last?.credits).toBeLessThanOrEqual(held);
  });
});

describe("an answer in one piece", () => {
  const whole = (more: Record<string, unknown> = {}) => chat("sandbox/chat", "hi", more);
  const send = async (
    body: object,
    on = rig,
    path: "chat/completions" | "responses" = "chat/completions",
  ) => {
    upstream.script((_, response) =>
      sendJson(response, path === "responses" ? '{"output":[],"usage":null}' : answer(usage(10, 2))),
    );
    const response = await on.post(path, body);
    const [place] = on.billing.callsOf(idOf(response));
    const hold = on.billing.hold(idOf(response));
    return {
      status: response.status,
      held: hold?.credits ?? 0n,
      place,
      body: JSON.parse(String(upstream.requests[0]?.body)),
    };
  };

  test("is told where to end when its hold does not cover the model's maximum", async () => {
    leave(400n);
    const { body, held } = await send(whole());
    expect(held).toBe(100n);
    const limit = BigInt(body.max_tokens);
    expect(limit).toBeGreaterThan(6_000n);
    expect(chargeOf(limit * OUTPUT + 80n * INPUT)).toBeLessThanOrEqual(held);
    expect({ ...body, max_tokens: undefined }).toEqual(whole());
  });

  test.each([
    ["responses", rig, "max_output_tokens"],
    ["responses", openAi, "max_output_tokens"],
    ["chat/completions", openAi, "max_completion_tokens"],
  ] as const)("is told so as its upstream wants it: %s %#", async (path, _, field) => {
    const on = field === "max_completion_tokens" ? openAi : rig;
    leave(400n, on);
    const request = path === "responses" ? { model: "sandbox/chat", input: "hi" } : whole();
    const { body } = await send(request, on, path);
    // OpenAI also receives the standard tier, since the account's own setting could be another.
    const tier = on === openAi ? ["service_tier"] : [];
    expect(Object.keys(body)).toEqual([...Object.keys(request), ...tier, field]);
  });

  test("goes as it came where the money covers the maximum, or the client has a limit", async () => {
    leave(1_000n);
    expect((await send(whole())).body).toEqual(whole());
    leave(300n);
    expect((await send(whole({ max_tokens: 16_000 }))).body).toEqual(whole({ max_tokens: 16_000 }));
  });

  test("of a model that thinks is told so in a stream as well", async () => {
    leave(400n);
    const thinking = chat("thinking/chat", "hi", { stream: true });
    const end = [usageEvent(usage(10, 2, "0.00001")), DONE];
    const { request } = await inStep(some(1, token("a"), ...end), thinking);
    expect(request.max_tokens).toBeGreaterThan(6_000);
    leave(400n);
    expect((await inStep(some(1, token("a"), ...end), open())).request.max_tokens).toBeUndefined();
  });

  test("whose upstream ignores that is charged for no more than it was told to give", async () => {
    leave(400n);
    upstream.script((_, response) => sendJson(response, answer(usage(10, 1_000_000, "1.5"))));
    const response = await rig.post("chat/completions", whole());
    const charged = rig.billing.callsOf(idOf(response)).at(-1);
    expect(charged).toMatchObject({ kind: "capture", cost: 1_500_000_000_000n });
    // The hold, and a quarter or half a cent.
    expect(charged?.credits).toBeLessThanOrEqual(150n);
  });
});

describe("no charge is above its hold", () => {
  /** Billed 55, which is trusted. An answer in one piece holds 16, and a stream begins with 9. */
  const dearer = usage(10, 1_000, "0.0055");
  const limited = { max_tokens: 1_000 };
  const scripts = [
    ["in one piece", chat("sandbox/chat", "hi", limited), answer(dearer), 16n],
    ["as a stream", open(limited), EMPTY + usageEvent(dearer) + DONE, 9n],
  ] as const;

  test.each(scripts)(
    "which grows to what was billed where that is free: %s",
    async (_how, body, text, _held) => {
      leave(60n);
      expect(await chargedFor(body, text)).toMatchObject({ cost: 5_500_000_000n, credits: 55n });
    },
  );

  test.each(scripts)("and else the rest is ours: %s", async (_how, body, text, held) => {
    leave(20n);
    expect(await chargedFor(body, text)).toMatchObject({ cost: 5_500_000_000n, credits: held });
    expect(await rig.metrics()).toMatch(/^text_costs_not_covered_total [1-9]/m);
  });

  test("whatever a stream was billed before it was cut", async () => {
    leave(40n);
    const { last } = await inStep(endless(token(TEXT)), open(), { bill: () => "0.007" });
    expect(last).toMatchObject({ kind: "capture", cost: 7_000_000_000n });
    expect(last?.credits).toBeLessThanOrEqual(40n);
  });

  test("nor above what the caller has said to pay at most", async () => {
    leave(1_000n);
    const headers = { "x-max-cost": "0.002" };
    for (const [, body, text] of scripts) {
      expect(await chargedFor(body, text, headers)).toMatchObject({ cost: 5_500_000_000n, credits: 20n });
    }
    const { text, last } = await inStep(endless(token(TEXT)), open(limited), {
      headers,
      bill: () => "0.007",
    });
    expect(payloadsOf(text).at(-1)).toMatchObject({ error: { code: "max_cost_exceeded" } });
    expect(last?.credits).toBeLessThanOrEqual(20n);
  });

  async function chargedFor(body: object, text: string, headers = {}) {
    upstream.script((_, response) => {
      if (!("stream" in body)) sendJson(response, text);
      else {
        startStream(response);
        response.end(text);
      }
    });
    const response = await rig.post("chat/completions", body, { headers });
    await response.text();
    return rig.billing.callsOf(idOf(response)).at(-1);
  }
});

describe("a request that the money does not allow", () => {
  const refusal = async (body: object, path: "chat/completions" | "responses" = "chat/completions") => {
    const response = await rig.post(path, body);
    const { error } = JSON.parse(await response.text());
    return { status: response.status, code: error.code, message: error.message };
  };

  test.each([
    ["chat/completions", chat("sandbox/chat", "hi"), 'A "max_tokens" below 512'],
    ["chat/completions", chat("sandbox/chat", "hi", { max_tokens: 9_000 }), 'A smaller "max_tokens"'],
    ["responses", { model: "sandbox/chat", input: "hi" }, 'A "max_output_tokens" below 512'],
  ] as const)("is told that a limit helps: %s %j", async (path, body, words) => {
    leave(5n);
    expect(await refusal(body, path)).toEqual({
      status: 402,
      code: "spend_limit_exceeded",
      message: expect.stringContaining(words),
    });
  });

  test("such a limit does help", async () => {
    leave(5n);
    upstream.script((_, response) => sendJson(response, answer(usage(10, 2, "0.00001"))));
    expect((await rig.post("chat/completions", chat("sandbox/chat", "hi", { max_tokens: 100 }))).status).toBe(
      200,
    );
  });

  test("of a free model with a plugin is refused, and not without it", async () => {
    leave(0n);
    upstream.script((_, response) => sendJson(response, answer(usage(10, 2, "0"))));
    const plugins = [{ id: "web" }];
    expect(await refusal(chat("free/chat", "hi", { plugins }))).toMatchObject({ status: 402 });
    expect((await rig.post("chat/completions", chat("free/chat", "hi"))).status).toBe(200);
  });

  test("because its prompt is beyond the listed context is held for by its bytes", async () => {
    leave(4_000n);
    // 2 MB at 0.5 USD per million tokens may be a dollar.
    expect(await refusal(chat("sandbox/chat", "z".repeat(2_000_000), { max_tokens: 5 }))).toMatchObject({
      status: 402,
    });
  });
});

describe("what an upstream reports beyond belief", () => {
  test.each([
    ["a cost", usage(10, 2, "9000"), 9_000n * 10n ** 12n, 51n],
    ["tokens", usage(90_000_000, 90_000_000), 180_000_000_000_000n, undefined],
  ])("is our cost, not the customer's, and an alarm: %s", async (_what, fields, cost, charge) => {
    leave(10_000_000_000n);
    const before = await alarms();
    upstream.script((_request: Arrived, response: ServerResponse) => sendJson(response, answer(fields)));
    const response = await rig.post("chat/completions", chat("sandbox/chat", "hi", { max_tokens: 100 }));
    const captured = rig.billing.callsOf(idOf(response)).at(-1);
    expect(captured).toMatchObject({ kind: "capture", cost });
    expect(captured?.credits).toBeLessThanOrEqual(charge ?? 60n);
    expect(JSON.parse(await response.text()).cost).toBe(Number(captured?.credits) / 10_000);
    expect(await alarms()).toBe(before + 1);
  });

  test("is as much as the operator says", async () => {
    const trusting = await startRig(upstream.url, { TEXT_COST_SURPLUS_PERCENT: "10000" });
    try {
      upstream.script((_, response) => sendJson(response, answer(usage(1_000, 100, "0.06"))));
      const body = chat("sandbox/chat", "z".repeat(1_000), { max_tokens: 100 });
      const response = await trusting.post("chat/completions", body);
      expect(trusting.billing.callsOf(idOf(response)).at(-1)).toMatchObject({ credits: 600n });
    } finally {
      await trusting.stop();
    }
  });

  async function alarms(): Promise<number> {
    return Number(/^text_costs_not_believed_total (\d+)/m.exec(await rig.metrics())?.[1] ?? 0);
  }
});
