// The text of a stream is metered independently of all other bytes, in either API.
import { describe, expect, test } from "@jest/globals";
import { StreamMeter } from "./stream-meter.ts";

const chatChunk = (delta: object, more: object = {}) =>
  `data: ${JSON.stringify({ id: "gen-7", object: "chat.completion.chunk", model: "m", ...more, choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`;
const event = (type: string, fields: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: 1, ...fields })}\n\n`;
const meterOf = (api: "chat" | "responses", events: readonly string[]) => {
  const meter = new StreamMeter({ api });
  for (const each of events) meter.add(Buffer.from(each));
  return meter;
};
const TEXT = "x".repeat(100);

describe("a chat stream", () => {
  const chunkOf = (text: string) => chatChunk({ content: text });

  test("has the bytes of its text", () => {
    const events = [chunkOf(""), ...Array.from({ length: 10 }, () => chunkOf(TEXT))];
    expect(meterOf("chat", events).tokens(2)).toBe(500);
    expect(meterOf("chat", [events.join("")]).tokens(2)).toBe(500);
    expect(meterOf("chat", events).events).toBe(11);
  });

  test("is not measured by its last chunk, its end or comments, which say nothing", () => {
    const events = [
      chunkOf("a"),
      chunkOf("b"),
      ": alive\n\n",
      chatChunk({}),
      "data: [DONE]\n\n",
      "data: {}\n\n",
    ];
    expect(meterOf("chat", events).tokens(1)).toBe(2);
    const spaced = 'data: {"choices": [{"delta": {}}]}\n\n';
    expect(meterOf("chat", [chunkOf("a"), spaced]).tokens(1)).toBe(1);
    expect(meterOf("chat", [chunkOf(""), spaced, chunkOf(TEXT)]).tokens(2)).toBe(50);
  });

  test("whose chunks are all of a size has the most of that, whatever stands before its text", () => {
    const large = chatChunk({ content: "x".repeat(1_000) }, { filters: "f".repeat(600) });
    expect(meterOf("chat", [large, large, large]).tokens(2)).toBe(1_500);
  });

  test("that says all in one chunk has the most of that", () => {
    expect(meterOf("chat", [chunkOf("x".repeat(100_000))]).tokens(2)).toBeGreaterThan(49_000);
  });

  test("of a server that speaks otherwise counts by its bytes as well", () => {
    const odd = `data: {"text":"${"x".repeat(100_000)}"}\n\n`;
    expect(meterOf("chat", [odd]).tokens(2)).toBeGreaterThan(49_000);
  });

  test("with the probability of each token is not taken for more text", () => {
    const entry = (token: string) => ({ token, logprob: -0.25, bytes: [120], top_logprobs: [] });
    const chunk = (tokens: readonly string[]) =>
      `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: tokens.join("") }, logprobs: { content: tokens.map(entry) } }] })}\n\n`;
    const some = (count: number) => chunk(Array.from({ length: count }, () => "x"));
    expect(meterOf("chat", [some(0), some(40), some(60)]).tokens(2)).toBe(100);
  });

  test("with probabilities has its whole text, where each event has many tokens", () => {
    const entry = { token: "xxxx", logprob: -0.25, bytes: [120, 120, 120, 120], top_logprobs: [] };
    const logprobs = { content: Array.from({ length: 250 }, () => entry) };
    const chunk = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "x".repeat(1_000) }, logprobs }] })}\n\n`;
    expect(meterOf("chat", [chunk, chunk, chunk]).tokens(2)).toBe(1_500);
  });

  test("has thoughts once, calls, refusals and what is spoken", () => {
    const details = [{ type: "reasoning.text", text: TEXT, format: "unknown" }];
    const call = { index: 0, id: "call_1", type: "function", function: { name: "", arguments: TEXT } };
    const events = [
      chatChunk({ content: "", reasoning: TEXT, reasoning_details: details }),
      chatChunk({ tool_calls: [call] }),
      chatChunk({ refusal: TEXT }),
      chatChunk({ audio: { id: "audio_1", transcript: TEXT, data: "A".repeat(5_120) } }),
    ];
    expect(meterOf("chat", events).tokens(2)).toBe(200 + 10);
  });

  test("has the bytes of text whose characters are escaped, and of text that looks like an event", () => {
    const escaped = chatChunk({ content: "中" }).replace("中", "\\u4e2d");
    expect(meterOf("chat", [escaped]).tokens(1)).toBe(3);
    expect(meterOf("chat", [chunkOf('data: {"delta":1}')])).toMatchObject({ events: 1 });
  });
});

describe("a stream of a response", () => {
  const delta = (text: string) => event("response.output_text.delta", { item_id: "i", delta: text });

  test("has the text of its deltas, and not what is said again at its end", () => {
    const whole = TEXT.repeat(10);
    const events = [
      event("response.created", { response: { id: "r", instructions: whole } }),
      delta(""),
      ...Array.from({ length: 10 }, () => delta(TEXT)),
      event("response.output_text.done", { text: whole }),
      event("response.content_part.done", { part: { text: whole } }),
      event("response.completed", { response: { output: [whole] } }),
    ];
    expect(meterOf("responses", events).tokens(2)).toBe(500);
    expect(meterOf("responses", events).events).toBe(15);
  });

  test("has all text of events of one size", () => {
    const events = Array.from({ length: 10 }, () => delta("x".repeat(1_000)));
    expect(meterOf("responses", events).tokens(2)).toBe(5_000);
  });

  test("has the arguments of calls and counts probabilities one by one", () => {
    const call = event("response.function_call_arguments.delta", { item_id: "i", delta: TEXT });
    const likely = Array.from({ length: 3 }, () => ({ token: "x", logprob: -1 }));
    const text = event("response.output_text.delta", { delta: "xxx", logprobs: likely });
    expect(meterOf("responses", [call]).tokens(2)).toBe(50);
    expect(meterOf("responses", [text]).tokens(2)).toBe(3);
  });

  test("cannot hide its text behind words that look like the name of an event", () => {
    const events = [delta(""), event("response.output_text.done", { text: 'a.delta"b'.repeat(100) })];
    expect(meterOf("responses", events).tokens(1)).toBe(0);
  });
});
