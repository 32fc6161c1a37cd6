// Guarantees of the answer of a stream. Text, thoughts and calls of tools are joined for each choice. A response is that of its
// last event. An answer above the limit has its size alone.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { MOST_SAVED_BYTES } from "@gr/clients";
import { expect, test } from "@jest/globals";
import type { TextApi } from "../request/text-request.ts";
import { StreamAnswer } from "./stream-answer.ts";

const events = (...payloads: readonly unknown[]) =>
  Buffer.from(payloads.map((payload) => `data: ${JSON.stringify(payload)}\n\n`).join(""));

function answerOf(api: TextApi, ...blocks: readonly Buffer[]) {
  const answer = new StreamAnswer(api);
  for (const block of blocks) answer.add(block);
  const { body, bytes } = answer.whole();
  return { answer: body && JSON.parse(Buffer.from(body).toString()), bytes };
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const delta = (fields: object, index = 0) => ({ id: "x", choices: [{ index, delta: fields }] });

test("pieces are joined by choice, and the role occurs once", () => {
  const { answer } = answerOf(
    "chat",
    events(delta({ role: "assistant", content: "a" }), delta({ content: "b" }, 1)),
    Buffer.from(": keep-alive\n\n"),
    events(delta({ role: "assistant", content: "c", reasoning: "why" }), delta({ reasoning: " not" })),
    Buffer.from("data: [DONE]\n\n"),
  );
  expect(answer.choices).toEqual([
    { index: 0, message: { role: "assistant", content: "ac", reasoning: "why not" }, finish_reason: null },
    { index: 1, message: { role: "assistant", content: "b" }, finish_reason: null },
  ]);
});

test("calls of tools have name and arguments once", () => {
  const call = (fields: object) => delta({ tool_calls: [{ index: 0, ...fields }] });
  const { answer } = answerOf(
    "chat",
    events(
      call({ id: "c", type: "function", function: { name: "search", arguments: "" } }),
      call({ function: { arguments: '{"q":' } }),
      call({ function: { arguments: "1}" } }),
    ),
  );
  expect(answer.choices[0].message.tool_calls).toEqual([
    { id: "c", type: "function", function: { name: "search", arguments: '{"q":1}' } },
  ]);
});

test("a response is that of its last event, and before it the text so far", () => {
  const begun = {
    type: "response.created",
    response: { id: "r", object: "response", created_at: 1, model: "m" },
  };
  const piece = { type: "response.output_text.delta", delta: "half" };
  expect(answerOf("responses", events(begun, piece)).answer).toEqual({
    ...{ id: "r", object: "response", created_at: 1, model: "m" },
    output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: "half" }] }],
  });
  const whole = { id: "r", output: [{ type: "message" }], usage: { cost: 1 } };
  const end = { type: "response.completed", response: whole };
  expect(answerOf("responses", events(begun, piece, end)).answer).toEqual(whole);
});

test("a stream without any content has no answer", () => {
  expect(answerOf("chat", Buffer.from(": keep-alive\n\n"))).toEqual({ answer: undefined, bytes: 0 });
  expect(answerOf("responses", events({ type: "response.in_progress" }))).toEqual({
    answer: undefined,
    bytes: 0,
  });
});

test.each(["chat", "responses"] as const)("an answer of %s above the limit has its size alone", (api) => {
  const piece = "x".repeat(60_000);
  const event =
    api === "chat" ? delta({ content: piece }) : { type: "response.output_text.delta", delta: piece };
  const blocks = Array.from({ length: 20 }, () => events(event));
  const { answer, bytes } = answerOf(api, ...blocks);
  expect(answer).toBeUndefined();
  expect(bytes).toBeGreaterThan(MOST_SAVED_BYTES);
});

test("a text in very small pieces has a few times its bytes in memory", () => {
  const pieces = Array.from({ length: 2_000 }, (_, index) =>
    delta({ content: String.fromCharCode(97 + (index % 26)) }),
  );
  const block = events(...pieces);
  const heapBytes = () => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const answer = new StreamAnswer("chat");
  answer.add(block);
  const before = heapBytes();
  for (let count = 1; count < 200; count += 1) answer.add(block);
  expect(heapBytes() - before).toBeLessThan(4 * MOST_SAVED_BYTES);
  const { body } = answer.whole();
  expect(JSON.parse(Buffer.from(body ?? []).toString()).choices[0].message.content).toHaveLength(400_000);
});
