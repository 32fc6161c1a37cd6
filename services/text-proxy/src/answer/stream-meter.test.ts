// The text of a stream is metered whatever stands around it, in either API.
import { describe, expect, test } from "@jest/globals";
import { StreamMeter } from "./stream-meter.ts";

const chatChunk = (delta: object, more: object = {}) =>
  `data: ${JSON.stringify({ id: "gen-7", object: "chat.completion.chunk", model: "m", ...more, choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`;
const event = (type: string, fields: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: 1, ...fields })}\n\n`;
const meterOf = (api: "chat" | "responses", events: readonly string[], logprobs = false) => {
  const meter = new StreamMeter({ api, logprobs });
  for (const each of events) meter.add(Buffer.from(each));
  return meter;
};
const TEXT = "x".repeat(100);

describe("a chat stream", () => {
  const said = (text: string) => chatChunk({ content: text });

  test("has the bytes of its text beyond its smallest chunk", () => {
    const events = [said(""), ...Array.from({ length: 10 }, () => said(TEXT))];
    expect(meterOf("chat", events).tokens(2)).toBe(500);
    expect(meterOf("chat", [events.join("")]).tokens(2)).toBe(500);
    expect(meterOf("chat", events).events).toBe(11);
  });

  test("is not measured by its last chunk, its end or comments, which say nothing", () => {
    const events = [said("a"), said("b"), ": alive\n\n", chatChunk({}), "data: [DONE]\n\n", "data: {}\n\n"];
    expect(meterOf("chat", events).tokens(1)).toBe(0);
    const spaced = 'data: {"choices": [{"delta": {}}]}\n\n';
    expect(meterOf("chat", [said("a"), spaced]).tokens(1)).toBe(0);
    expect(meterOf("chat", [said(""), spaced, said(TEXT)]).tokens(2)).toBe(50);
  });

  test("whose chunks are all of a size has the most of that, whatever stands before its text", () => {
    const large = chatChunk({ content: "x".repeat(1_000) }, { filters: "f".repeat(600) });
    const tokens = meterOf("chat", [large, large, large]).tokens(2);
    expect(tokens).toBeGreaterThan(1_100);
    expect(tokens).toBeLessThan(1_600);
  });

  test("that says all in one chunk has the most of that", () => {
    expect(meterOf("chat", [said("x".repeat(100_000))]).tokens(2)).toBeGreaterThan(49_000);
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
    const tokens = meterOf("chat", [some(0), some(40), some(60)], true).tokens(2);
    expect(tokens).toBeGreaterThanOrEqual(100);
    expect(tokens).toBeLessThan(300);
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

  test("cannot hide its text behind words that look like the name of an event", () => {
    const events = [delta(""), event("response.output_text.done", { text: 'a.delta"b'.repeat(100) })];
    expect(meterOf("responses", events).tokens(1)).toBe(0);
  });
});
