// Guarantees of streams that another upstream continues: only at the client's request, and only with plain text
// so far. Each part is charged at its own bill and marked in the stream. In every other case the client
// receives the error, at no cost.
import { chargeOf } from "@gr/money";
import { HoldState } from "@gr/proto/billing";
import { until } from "@gr/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { payloadsOf } from "./test/read-stream.ts";
import { chat, idOf, type Rig, startRig } from "./test/rig.ts";
import { type Script, ScriptedUpstream, sendJson, startStream } from "./test/scripted-upstream.ts";

const PATIENCE = { timeoutMs: 60_000 };
const wanted = { headers: { "x-continue-elsewhere": "true" } };
const chunk = (delta: object, more: object = {}) =>
  `data: ${JSON.stringify({ id: "one", choices: [{ index: 0, delta, finish_reason: null, ...more }] })}\n\n`;
const breaksAfter =
  (...events: string[]): Script =>
  (_, response) => {
    startStream(response);
    response.write(events.join(""), () => response.destroy());
  };
const continuing: Script = (_, response) => {
  startStream(response);
  const usage = { prompt_tokens: 20, completion_tokens: 3, total_tokens: 23 };
  response.end(
    `${chunk({ content: " world" })}data: ${JSON.stringify({ id: "two", choices: [], usage })}\n\ndata: [DONE]\n\n`,
  );
};
/** Cost at the second upstream of its output above. */
const SECOND_COST = 20n * 1_500_000n + 3n * 4_500_000n;

let first: ScriptedUpstream;
let second: ScriptedUpstream;
const rigs: Rig[] = [];

const upstreams = (fields: object, others: object) => ({
  TEXT_UPSTREAMS: JSON.stringify([
    { name: "first", kind: "openai-compatible", base_url: first.url, ...fields },
    { name: "second", kind: "openai-compatible", base_url: second.url, ...others },
  ]),
});
async function rigOf(fields: object = {}, others: object = { continues: "vllm" }): Promise<Rig> {
  const rig = await startRig("", upstreams(fields, others));
  rigs.push(rig);
  return rig;
}

let rig: Rig;
beforeAll(async () => {
  first = await new ScriptedUpstream().start();
  second = await new ScriptedUpstream().start();
  rig = await rigOf();
});
afterAll(async () => {
  await Promise.all(rigs.map((each) => each.stop()));
  await first?.stop();
  await second?.stop();
});
beforeEach(() => {
  first.script(breaksAfter(chunk({ role: "assistant", content: "Hello" }), chunk({ content: "," })));
  second.script(continuing);
});

const ask = (of: Rig, more: object = {}, init: RequestInit = wanted) =>
  of.post("chat/completions", chat("shared/chat", "hi", { stream: true, max_tokens: 100, ...more }), init);

test("it goes on where it broke off, is marked, and each part is charged", async () => {
  const response = await ask(rig);
  const text = await response.text();
  const events: ReturnType<typeof JSON.parse>[] = payloadsOf(text);
  const words = events.map((event) => event.choices?.[0]?.delta?.content ?? "");
  expect(words.join("")).toBe("Hello, world");
  expect(text).toMatch(/data: \[DONE\]\n\n$/);
  expect(events.filter((event) => "continued" in event)).toMatchObject([
    { id: "one", continued: { attempt: 2 } },
  ]);

  const sent = JSON.parse(second.requests[0]?.body.toString() ?? "");
  expect(sent.messages).toEqual([
    { role: "user", content: "hi" },
    { role: "assistant", content: "Hello," },
  ]);
  expect(sent).toMatchObject({ model: "two", continue_final_message: true, add_generation_prompt: false });
  /** As metered: at least one a chunk. */
  const delivered = 100 - sent.max_tokens;
  expect(delivered).toBeGreaterThanOrEqual(2);
  expect(delivered).toBeLessThan(10);

  const calls = rig.billing.callsOf(idOf(response));
  const part = calls.find(({ kind }) => kind === "nextAttempt")?.cost ?? 0n;
  expect(part).toBeGreaterThan(0n);
  expect(calls.at(-1)).toMatchObject({
    kind: "capture",
    cost: SECOND_COST,
    credits: chargeOf(part + SECOND_COST),
  });
  const { usage } = events.find((event) => event.usage != null) ?? {};
  expect(usage.cost).toBe(Number(part + SECOND_COST) / 1e12);
  expect([usage.completion_tokens, usage.prompt_tokens > 20]).toEqual([delivered + 3, true]);
  expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens);
});

test("an upstream that needs no words of its own gets the beginning of the answer alone", async () => {
  await (await ask(await rigOf({}, { continues: "assistant" }))).text();
  const sent = JSON.parse(second.requests[0]?.body.toString() ?? "");
  expect(sent.messages.at(-1)).toEqual({ role: "assistant", content: "Hello," });
  expect(sent).not.toHaveProperty("continue_final_message");
});

test("what the first upstream says afterwards that it billed is what its part costs", async () => {
  const own = await rigOf({ kind: "openrouter" });
  first.generations = (_, response) => {
    const data = { total_cost: 0.000123, tokens_prompt: 7, tokens_completion: 2 };
    sendJson(
      response,
      JSON.stringify({ data: { ...data, native_tokens_prompt: 7, native_tokens_completion: 2 } }),
    );
  };
  const response = await ask(own);
  await response.text();
  const calls = own.billing.callsOf(idOf(response));
  expect(calls.find(({ kind }) => kind === "nextAttempt")?.cost).toBe(123_000_000n);
  expect(calls.at(-1)).toMatchObject({ credits: chargeOf(123_000_000n + SECOND_COST), cost: SECOND_COST });
});

test("a part that nobody bills us for is the customer's all the same, as its price says", async () => {
  const own = await rigOf({ billed: false });
  const response = await ask(own);
  await response.text();
  const calls = own.billing.callsOf(idOf(response));
  expect(calls.find(({ kind }) => kind === "nextAttempt")?.cost).toBe(0n);
  expect(calls.at(-1)?.credits).toBeGreaterThanOrEqual(chargeOf(SECOND_COST));
});

describe("the honest error stays, and nothing is charged,", () => {
  test.each<[string, Script, object, RequestInit]>([
    ["without the wish", breaksAfter(chunk({ content: "Hello" })), {}, {}],
    ["of an answer that calls a tool", breaksAfter(chunk({ tool_calls: [{ index: 0 }] })), {}, wanted],
    [
      "of an answer that has ended",
      breaksAfter(chunk({ content: "x" }, { finish_reason: "stop" })),
      {},
      wanted,
    ],
    ["of nothing but thoughts", breaksAfter(chunk({ reasoning: "Hm." })), {}, wanted],
    [
      "of an answer in a shape",
      breaksAfter(chunk({ content: "{" })),
      { response_format: { type: "json_object" } },
      wanted,
    ],
    ["at the limit on output", breaksAfter(chunk({ content: "Hello" })), { max_tokens: 1 }, wanted],
  ])("%s", async (_what, script, more, init) => {
    first.script(script);
    const response = await ask(rig, more, init);
    expect(await response.text()).toContain('"finish_reason":"error"');
    expect(second.requests).toEqual([]);
    await until(() => rig.billing.state(idOf(response)) === HoldState.RELEASED, PATIENCE);
  });

  test("where the next upstream cannot go on", async () => {
    const response = await ask(await rigOf({}, {}));
    expect(await response.text()).toContain('"finish_reason":"error"');
    expect(second.requests).toEqual([]);
  });

  test("where the next upstream refuses, or breaks off before a word", async () => {
    for (const script of [
      ((_, response) => void response.writeHead(404).end()) satisfies Script,
      breaksAfter(": nothing yet\n\n"),
    ]) {
      second.script(script);
      const response = await ask(rig);
      expect(await response.text()).toMatch(/Hello.*"finish_reason":"error"/s);
      expect(second.requests).toHaveLength(1);
      await until(() => rig.billing.state(idOf(response)) === HoldState.RELEASED, PATIENCE);
    }
  });
});

test("the wish is true or false", async () => {
  const response = await ask(rig, {}, { headers: { "x-continue-elsewhere": "maybe" } });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { param: "x-continue-elsewhere" } });
});
