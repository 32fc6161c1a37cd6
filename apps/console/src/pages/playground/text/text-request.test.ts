// Guarantees of a text request: set parameters that the model accepts, and a conversation that providers accept.
import { expect, test } from "@jest/globals";
import { TEXT } from "../../../test/sample-models.ts";
import { EMPTY_TEXT, type Message, parseText } from "../drafts.ts";
import { textRequest, toolsOf, unusedByText } from "./text-request.ts";

const user = (id: number, content: string): Message => ({ id, role: "user", content });
const answer = (id: number, content: string): Message => ({ id, role: "assistant", content });
const full = {
  ...EMPTY_TEXT,
  system: "Be brief.",
  temperature: 0.4,
  maxTokens: 100,
  effort: "low",
  isJson: true,
};

test("unset parameters are not sent", () => {
  expect(textRequest(TEXT, EMPTY_TEXT, [user(1, "Hello")]).body).toEqual({
    ...{ model: "acme/text", stream: true },
    messages: [{ role: "user", content: "Hello" }],
  });
});

test("parameters have the names that the model's list has", () => {
  const { body } = textRequest(TEXT, { ...full, tools: '[{"type":"function"}]' }, [user(1, "Hello")]);
  expect(body).toMatchObject({
    ...{ temperature: 0.4, max_tokens: 100, reasoning: { effort: "low" } },
    ...{ response_format: { type: "json_object" }, tools: [{ type: "function" }] },
    messages: [{ role: "system", content: "Be brief." }, { role: "user" }],
  });
  const newer = { ...TEXT, supported_parameters: ["max_completion_tokens", "reasoning_effort"] };
  expect(textRequest(newer, full, []).body).toMatchObject({
    max_completion_tokens: 100,
    reasoning_effort: "low",
  });
  expect(unusedByText(newer, full)).toEqual(["Temperature", "JSON output"]);
});

test("an answer without a word is not sent again", () => {
  const draft = { ...EMPTY_TEXT, messages: [user(1, "Hello"), answer(2, "")] };
  expect(textRequest(TEXT, draft, [user(3, "Again")]).body["messages"]).toEqual([
    { role: "user", content: "Hello" },
    { role: "user", content: "Again" },
  ]);
});

test("a call of a tool and its result are sent in OpenAI's form", () => {
  const call = { id: "c1", name: "get_weather", arguments: '{"city":"Oslo"}' };
  const draft = { ...EMPTY_TEXT, messages: [user(1, "Weather?"), { ...answer(2, ""), toolCalls: [call] }] };
  const result: Message = { id: 3, role: "tool", toolCallId: "c1", content: '{"c": 4}' };
  expect(textRequest(TEXT, draft, [result]).body["messages"]).toEqual([
    { role: "user", content: "Weather?" },
    {
      ...{ role: "assistant", content: null },
      tool_calls: [
        { id: "c1", type: "function", function: { name: "get_weather", arguments: '{"city":"Oslo"}' } },
      ],
    },
    { role: "tool", tool_call_id: "c1", content: '{"c": 4}' },
  ]);
});

test("tools are a JSON array", () => {
  expect(toolsOf(" ")).toEqual([]);
  expect(toolsOf("[1")).toBeUndefined();
  expect(toolsOf("{}")).toBeUndefined();
});

test("a message whose answer a reload interrupted returns to the box", () => {
  const messages = [user(1, "Hello"), answer(2, "Hi"), user(3, "How much?")];
  expect(parseText({ ...EMPTY_TEXT, messages })).toMatchObject({
    text: "How much?",
    messages: messages.slice(0, 2),
  });
  expect(parseText({ messages: "broken", temperature: {} })).toEqual(EMPTY_TEXT);
});
