// Answers of the sandbox's chat models beyond plain text: tool calls, values that fit a schema, several
// choices, reasoning, log probabilities, facts about a picture. Read by the SDK, in both formats and
// both APIs, whole and streamed.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import OpenAI from "openai";
import sharp from "sharp";
import { type RunningSimulator, startSimulator } from "./server.ts";
import { chat, payloadsOf, TestClient } from "./test-client.ts";

let simulator: RunningSimulator;
let client: TestClient;
beforeAll(async () => {
  simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
  client = new TestClient(simulator.url);
});
afterAll(() => simulator?.close());

const model = "sandbox/chat";
const parameters = {
  type: "object",
  properties: { city: { type: "string" }, unit: { type: "string", enum: ["celsius", "fahrenheit"] } },
  required: ["city", "unit"],
  additionalProperties: false,
};
const weather = { name: "get_weather", description: "The weather of a city now", parameters, strict: true };
const add = {
  name: "add",
  description: "Adds two numbers",
  parameters: {
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number" } },
    required: ["a", "b"],
  },
};
const chatTools = [weather, add].map((definition) => ({ type: "function" as const, function: definition }));
const responsesTools = [weather, add].map((tool) => ({ type: "function" as const, strict: null, ...tool }));
const question = "What is the weather like in Paris today?";
const answer = { city: "Paris", unit: "celsius" };
const pixel = async (background: string) => {
  const picture = { width: 30, height: 20, channels: 3, background } as const;
  return `data:image/png;base64,${(await sharp({ create: picture }).png().toBuffer()).toString("base64")}`;
};

describe.each(["openrouter/api/v1", "openai/v1"])("at /%s", (base) => {
  let openai: OpenAI;
  beforeAll(() => {
    openai = new OpenAI({ baseURL: `${simulator.url}/${base}`, apiKey: "test", maxRetries: 0 });
  });
  const ask = (content: string, more: object = {}) => ({
    model,
    messages: [{ role: "user" as const, content }],
    ...more,
  });

  describe("chat completions", () => {
    test("call the tool that the message is about, and answer in words what it said", async () => {
      for (const streamed of [false, true]) {
        const body = ask(question, { tools: chatTools });
        const completion = streamed
          ? await openai.chat.completions.stream(body).finalChatCompletion()
          : await openai.chat.completions.create(body);
        const [choice] = completion.choices;
        expect(choice).toMatchObject({ finish_reason: "tool_calls", message: { content: null } });
        const [call, ...others] = choice?.message.tool_calls ?? [];
        if (call?.type !== "function") throw new Error("no function was called");
        expect(others).toEqual([]);
        expect(call.function.name).toBe("get_weather");
        expect(JSON.parse(call.function.arguments)).toEqual(answer);
        const continued = await openai.chat.completions.create({
          model,
          tools: chatTools,
          messages: [
            { role: "user", content: question },
            { role: "assistant", tool_calls: [call] },
            { role: "tool", tool_call_id: call.id, content: "18 degrees and sunny" },
          ],
        });
        expect(continued.choices[0]?.finish_reason).toBe("stop");
        expect(continued.choices[0]?.message.content).toContain("18 degrees and sunny");
      }
    });

    test("under required call each tool once before any of them again", async () => {
      const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: question }];
      const called: string[] = [];
      for (let turn = 0; turn < 3; turn += 1) {
        const body = { model, messages, tools: chatTools, tool_choice: "required" as const };
        const { choices } = await openai.chat.completions.create(body);
        const [call] = choices[0]?.message.tool_calls ?? [];
        if (call?.type !== "function") throw new Error("no function was called");
        called.push(call.function.name);
        messages.push({ role: "assistant", tool_calls: [call] });
        messages.push({ role: "tool", tool_call_id: call.id, content: "done" });
      }
      expect(called).toEqual(["get_weather", "add", "get_weather"]);
    });

    test("call all tools that the message names, at once or one, and just those that the caller wants", async () => {
      const called = async (content: string, more: object) => {
        const { choices } = await openai.chat.completions.create(ask(content, { tools: chatTools, ...more }));
        const calls = choices[0]?.message.tool_calls ?? [];
        return calls.map((call) =>
          call.type === "function" ? [call.function.name, JSON.parse(call.function.arguments)] : [],
        );
      };
      const both = "Use add on 2 and 40, and get_weather for Rome.";
      expect(await called(both, {})).toEqual([
        ["get_weather", { city: "Rome", unit: "celsius" }],
        ["add", { a: 2, b: 40 }],
      ]);
      expect(await called(both, { parallel_tool_calls: false })).toHaveLength(1);
      expect(await called(both, { tool_choice: "none" })).toEqual([]);
      const forced = { tool_choice: { type: "function", function: { name: "add" } } };
      expect(await called("hello", forced)).toEqual([["add", { a: 1, b: 1 }]]);
      const unknown = { tools: chatTools, tool_choice: { type: "function", function: { name: "nope" } } };
      const refused = await client.post(`/${base}/chat/completions`, chat(model, "hi", unknown));
      expect([refused.status, refused.text]).toEqual([400, expect.stringContaining("'nope'")]);
    });

    test("stream two calls so that each can be told from the other", async () => {
      const runner = openai.chat.completions.stream(
        ask("add 1 and 2, then get_weather", { tools: chatTools }),
      );
      const seen: number[] = [];
      for await (const chunk of runner) {
        for (const { index } of chunk.choices[0]?.delta.tool_calls ?? []) seen.push(index);
      }
      expect([...new Set(seen)]).toEqual([0, 1]);
      const calls = (await runner.finalChatCompletion()).choices[0]?.message.tool_calls ?? [];
      expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
      for (const call of calls) if (call.type === "function") JSON.parse(call.function.arguments);
    });

    test("fit the schema that they are given, or are some object", async () => {
      const schema = {
        type: "object",
        properties: {
          name: { type: "string" },
          participants: { type: "array", items: { type: "string" }, minItems: 2 },
        },
        required: ["name", "participants"],
        additionalProperties: false,
      };
      const format = { type: "json_schema", json_schema: { name: "event", strict: true, schema } };
      for (const stream of [false, true]) {
        const body = ask("Alice and Bob go to a Science Fair", { response_format: format });
        const completion = stream
          ? await openai.chat.completions.stream(body).finalChatCompletion()
          : await openai.chat.completions.create(body);
        expect(JSON.parse(completion.choices[0]?.message.content ?? "")).toEqual({
          name: "Bob",
          participants: ["Science Fair", "Bob"],
        });
      }
      const some = await openai.chat.completions.create(
        ask("JSON please", { response_format: { type: "json_object" } }),
      );
      expect(JSON.parse(some.choices[0]?.message.content ?? "")).toEqual({ answer: expect.any(String) });
      const bad = {
        response_format: { type: "json_schema", json_schema: { name: "a", schema: { $ref: "#" } } },
      };
      const refused = await client.post(`/${base}/chat/completions`, chat(model, "hi", bad));
      expect([refused.status, refused.text]).toEqual([
        400,
        expect.stringContaining("Invalid schema for response_format 'a'"),
      ]);
    });

    test("come n at a time, each with words of its own, and all are billed", async () => {
      const whole = await openai.chat.completions.create(ask("hi", { n: 3 }));
      const texts = whole.choices.map(({ message }) => message.content ?? "");
      expect(new Set(texts).size).toBe(3);
      const streamed = await openai.chat.completions
        .stream({ ...ask("hi", { n: 3 }), stream_options: { include_usage: true } })
        .finalChatCompletion();
      expect(streamed.choices.map(({ message }) => message.content)).toEqual(texts);
      expect(streamed.usage?.completion_tokens).toBe(whole.usage?.completion_tokens);
      const one = await openai.chat.completions.create(ask("hi"));
      expect(whole.usage?.completion_tokens).toBeGreaterThan(3 * (one.usage?.completion_tokens ?? 0));
    });

    test("think as hard as they are told to, which is billed as output", async () => {
      const tokens = async (effort: "low" | "high") => {
        const { usage } = await openai.chat.completions.create(ask("hi", { reasoning_effort: effort }));
        return [usage?.completion_tokens_details?.reasoning_tokens, usage?.completion_tokens];
      };
      const { usage } = await openai.chat.completions.create(ask("hi"));
      const plain = usage?.completion_tokens ?? 0;
      expect(usage?.completion_tokens_details?.reasoning_tokens).toBe(0);
      expect(await tokens("low")).toEqual([8, plain + 8]);
      expect(await tokens("high")).toEqual([32, plain + 32]);
      const cut = await openai.chat.completions.create(
        ask("hi", { reasoning_effort: "high", max_completion_tokens: 10 }),
      );
      expect(cut.choices[0]).toMatchObject({ finish_reason: "length", message: { content: null } });
      const refused = await client.post(
        `/${base}/chat/completions`,
        chat(model, "hi", { reasoning_effort: "endless" }),
      );
      expect(refused.status).toBe(400);
    });

    test("tell how likely their tokens are, in a stream too", async () => {
      const likely = { logprobs: true, top_logprobs: 3 };
      const whole = await openai.chat.completions.create(ask("hi", likely));
      const content = whole.choices[0]?.logprobs?.content ?? [];
      expect(content.map(({ token }) => token).join("")).toBe(whole.choices[0]?.message.content);
      for (const { token, logprob, bytes, top_logprobs: top } of content) {
        expect(Buffer.from(bytes ?? []).toString()).toBe(token);
        expect(top.map(({ logprob: value }) => value)).toEqual([logprob, logprob - 1, logprob - 2]);
      }
      const streamed = await openai.chat.completions.stream(ask("hi", likely)).finalChatCompletion();
      expect(streamed.choices[0]?.logprobs?.content).toEqual(content);
    });

    test("see the size and the main colour of a picture", async () => {
      const look = async (url: string, more: object = {}) => {
        const content = [
          { type: "text" as const, text: "What is this?" },
          { type: "image_url" as const, image_url: { url } },
        ];
        const body = {
          model: "sandbox/chat-vision",
          messages: [{ role: "user" as const, content }],
          ...more,
        };
        return (await openai.chat.completions.create(body)).choices[0]?.message.content ?? "";
      };
      for (const [background, name] of [
        ["#d01010", "red"],
        ["#1030e0", "blue"],
        ["#fff", "white"],
        ["#0a0a0a", "black"],
        ["#20a030", "green"],
        ["#808080", "grey"],
      ] as const) {
        expect(await look(await pixel(background))).toContain(`30 × 20 pixels, PNG, mostly ${name}`);
      }
      expect(await look("https://example.com/a.png")).toContain("at an address that I did not open");
      const properties = { colour: { type: "string" }, width: { type: "integer" } };
      const schema = { type: "object", properties, required: ["colour", "width"] };
      const format = {
        response_format: { type: "json_schema" as const, json_schema: { name: "seen", schema } },
      };
      expect(JSON.parse(await look(await pixel("#f0d010"), format))).toEqual({ colour: "yellow", width: 30 });
      await expect(look("data:image/png;base64,iVBORw0KGgo=")).rejects.toMatchObject({ status: 400 });
      await expect(look("file:///etc/passwd")).rejects.toMatchObject({ status: 400 });
    });
  });

  describe("responses", () => {
    test("under required call each tool once before any of them again", async () => {
      const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: question }];
      const called: string[] = [];
      for (let turn = 0; turn < 3; turn += 1) {
        const body = { model, input, tools: responsesTools, tool_choice: "required" as const };
        const [call] = (await openai.responses.create(body)).output;
        if (call?.type !== "function_call") throw new Error("no function was called");
        called.push(call.name);
        input.push(call, { type: "function_call_output", call_id: call.call_id, output: "done" });
      }
      expect(called).toEqual(["get_weather", "add", "get_weather"]);
    });

    test("call tools, and answer in words what they said", async () => {
      for (const streamed of [false, true]) {
        const body = { model, input: question, tools: responsesTools };
        const response = streamed
          ? await openai.responses.stream(body).finalResponse()
          : await openai.responses.create(body);
        const [call, ...others] = response.output;
        if (call?.type !== "function_call") throw new Error("no function was called");
        expect(others).toEqual([]);
        expect([call.name, JSON.parse(call.arguments), call.status]).toEqual([
          "get_weather",
          answer,
          "completed",
        ]);
        const output = {
          type: "function_call_output" as const,
          call_id: call.call_id,
          output: "18 degrees and sunny",
        };
        const continued = await openai.responses.create({
          model,
          tools: responsesTools,
          input: [{ role: "user", content: question }, call, output],
        });
        expect(continued.output_text).toContain("18 degrees and sunny");
      }
    });

    test("fit the schema that they are given", async () => {
      const schema = {
        type: "object",
        properties: { age: { type: "integer" } },
        required: ["age"],
        additionalProperties: false,
      };
      const text = { format: { type: "json_schema" as const, name: "person", strict: true, schema } };
      for (const streamed of [false, true]) {
        const body = { model, input: "Jane is 54", text };
        const { output_text: json } = streamed
          ? await openai.responses.stream(body).finalResponse()
          : await openai.responses.create(body);
        expect(JSON.parse(json)).toEqual({ age: 54 });
      }
    });

    test("think, say so to those who ask for a summary, and tell how likely their tokens are", async () => {
      const body = {
        model,
        input: "hi",
        reasoning: { effort: "low" as const, summary: "auto" as const },
        include: ["message.output_text.logprobs" as const],
        top_logprobs: 2,
      };
      const types: string[] = [];
      const stream = openai.responses.stream(body);
      for await (const { type } of stream) types.push(type);
      expect([...new Set(types)]).toEqual([
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
        "response.reasoning_summary_part.done",
        "response.output_item.done",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.completed",
      ]);
      for (const response of [await stream.finalResponse(), await openai.responses.create(body)]) {
        const [thought, message] = response.output;
        if (thought?.type !== "reasoning" || message?.type !== "message")
          throw new Error("something is missing");
        expect(thought.summary[0]?.text).toContain("The sandbox thinks");
        expect(response.usage?.output_tokens_details.reasoning_tokens).toBe(8);
        const [part] = message.content;
        if (part?.type !== "output_text") throw new Error("there is no text");
        expect(part.logprobs?.map(({ token }) => token).join("")).toBe(part.text);
      }
      const silent = await openai.responses.create({ model, input: "hi", reasoning: { effort: "low" } });
      expect(silent.output[0]).toMatchObject({ type: "reasoning", summary: [] });
    });

    test("are numbered without a gap, whatever is in them, and end incomplete where the limit cut them", async () => {
      const body = {
        model,
        input: question,
        tools: responsesTools,
        reasoning: { effort: "low" },
        max_output_tokens: 9,
        stream: true,
      };
      const { text } = await client.post(`/${base}/responses`, body);
      type Event = { type: string; sequence_number: number; response?: { output: object[] } };
      const events = payloadsOf<Event>(text);
      expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
      expect(events.at(-1)).toMatchObject({
        type: "response.incomplete",
        response: { output: [{ type: "reasoning" }, { type: "function_call", status: "incomplete" }] },
      });
    });

    test("see the size and the main colour of a picture", async () => {
      const image = {
        type: "input_image" as const,
        image_url: await pixel("#d01010"),
        detail: "auto" as const,
      };
      const input = [
        { role: "user" as const, content: [{ type: "input_text" as const, text: "What is this?" }, image] },
      ];
      const response = await openai.responses.create({ model: "sandbox/chat-vision", input });
      expect(response.output_text).toContain("30 × 20 pixels, PNG, mostly red");
    });
  });
});

test("OpenRouter's chat shows what the model thinks", async () => {
  const path = "/openrouter/api/v1/chat/completions";
  const whole = JSON.parse(
    (await client.post(path, chat(model, "hi", { reasoning: { effort: "low" } }))).text,
  );
  const { reasoning, reasoning_details: details } = whole.choices[0].message;
  expect(reasoning).toContain("The sandbox thinks");
  expect(details).toEqual([{ type: "reasoning.text", text: reasoning, format: "unknown", index: 0 }]);
  const { text } = await client.post(path, chat(model, "hi", { reasoning: { effort: "low" }, stream: true }));
  type Chunk = { choices: { delta: { reasoning?: string } }[] };
  expect(
    payloadsOf<Chunk>(text)
      .map(({ choices }) => choices[0]?.delta.reasoning ?? "")
      .join(""),
  ).toBe(reasoning);
});

test("a tool's answer is input that is billed", async () => {
  const call = { id: "call_1", type: "function", function: { name: "f", arguments: "{}" } };
  const messages = (content: string) => [
    { role: "user", content: "hi" },
    { role: "assistant", tool_calls: [call] },
    { role: "tool", tool_call_id: "call_1", content },
  ];
  const tokens = async (path: string, body: object, name: string) =>
    JSON.parse((await client.post(`/openai/v1/${path}`, body)).text).usage[name] as number;
  const words = "12345678".repeat(10);
  const chatTokens = await tokens("chat/completions", { model, messages: messages(words) }, "prompt_tokens");
  expect(chatTokens).toBe(3 * 4 + Math.ceil((2 + 80) / 4));
  const input = [
    { role: "user", content: "hi" },
    { type: "function_call_output", call_id: "call_1", output: words },
  ];
  expect(await tokens("responses", { model, input }, "input_tokens")).toBe(2 * 4 + Math.ceil((2 + 80) / 4));
});
