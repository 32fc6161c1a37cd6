// The official client for Node: chat completions, responses, their helpers for streams, tools and structured output.
import OpenAI, { NotFoundError } from "openai";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";
import * as ask from "./settings.ts";

const { model } = ask;
const client = new OpenAI({ baseURL: ask.baseURL, apiKey: ask.apiKey });
const person = z.object({ name: z.string(), age: z.int() });
const parameters = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
const say = (content: string) => [{ role: "user" as const, content }];

async function chat() {
  const completion = await client.chat.completions.create({ model, messages: say(ask.question) });
  const pieces: string[] = [];
  for await (const chunk of await client.chat.completions.create({
    model,
    messages: say(ask.question),
    stream: true,
  })) {
    const piece = chunk.choices[0]?.delta?.content;
    if (piece) pieces.push(piece);
  }
  let given: unknown;
  const runner = client.chat.completions.runTools({
    model,
    messages: say(ask.toolQuestion),
    tools: [
      {
        type: "function",
        function: {
          ...ask.weather,
          parameters,
          parse: JSON.parse,
          function: (args: object) => {
            given = args;
            return ask.toolAnswer;
          },
        },
      },
    ],
  });
  const answer = await runner.finalContent();
  const called = runner.messages.flatMap((message) =>
    "tool_calls" in message ? (message.tool_calls ?? []) : [],
  )[0];
  const parsed = await client.chat.completions.parse({
    model,
    messages: say(ask.personQuestion),
    response_format: zodResponseFormat(person, "person"),
  });
  const seen = await client.chat.completions.create({
    model: ask.visionModel,
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: ask.pictureQuestion },
          { type: "image_url", image_url: { url: ask.picture } },
        ],
      },
    ],
  });
  return {
    text: completion.choices[0]?.message.content,
    pieces,
    tool: { name: called?.type === "function" ? called.function.name : "", arguments: given, answer },
    structured: parsed.choices[0]?.message.parsed,
    vision: seen.choices[0]?.message.content,
  };
}

async function responses() {
  const response = await client.responses.create({ model, input: ask.question });
  const pieces: string[] = [];
  for await (const event of await client.responses.create({ model, input: ask.question, stream: true })) {
    if (event.type === "response.output_text.delta") pieces.push(event.delta);
  }
  const tools = [{ type: "function" as const, ...ask.weather, parameters, strict: true }];
  const asked = await client.responses.stream({ model, input: ask.toolQuestion, tools }).finalResponse();
  const [call] = asked.output;
  if (call?.type !== "function_call") throw new Error("no tool was called");
  const continued = await client.responses.create({
    model,
    tools,
    input: [
      ...say(ask.toolQuestion),
      { type: "function_call", call_id: call.call_id, name: call.name, arguments: call.arguments },
      { type: "function_call_output", call_id: call.call_id, output: ask.toolAnswer },
    ],
  });
  const parsed = await client.responses.parse({
    model,
    input: ask.personQuestion,
    text: { format: zodTextFormat(person, "person") },
  });
  const seen = await client.responses.create({
    model: ask.visionModel,
    input: [
      {
        role: "user",
        content: [
          { type: "input_text", text: ask.pictureQuestion },
          { type: "input_image", image_url: ask.picture, detail: "auto" },
        ],
      },
    ],
  });
  return {
    text: response.output_text,
    pieces,
    tool: { name: call.name, arguments: JSON.parse(call.arguments), answer: continued.output_text },
    structured: parsed.output_parsed,
    vision: seen.output_text,
  };
}

async function unknownModel() {
  try {
    await client.chat.completions.create({ model: "no/such", messages: say("hi") });
  } catch (error) {
    if (error instanceof NotFoundError) return error.status;
    throw error;
  }
}

async function abortedAfter() {
  const stream = await client.chat.completions.create({
    model,
    messages: say(ask.longQuestion),
    stream: true,
  });
  for await (const chunk of stream) {
    const piece = chunk.choices[0]?.delta?.content;
    if (!piece) continue;
    stream.controller.abort();
    return piece;
  }
}

ask.report({
  chat: await chat(),
  responses: await responses(),
  unknownModel: await unknownModel(),
  abortedAfter: await abortedAfter(),
});
