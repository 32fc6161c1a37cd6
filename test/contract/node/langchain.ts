// LangChain's JavaScript client for OpenAI's APIs: chat completions, and responses if an option selects them.
import { HumanMessage, type ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { z } from "zod";
import * as ask from "./settings.ts";

const { apiKey, baseURL } = ask;
const person = z.object({ name: z.string(), age: z.int() });
const weather = tool(async () => ask.toolAnswer, { ...ask.weather, schema: z.object({ city: z.string() }) });

function open(model: string, useResponsesApi: boolean) {
  return new ChatOpenAI({ model, apiKey, useResponsesApi, configuration: { baseURL } });
}

async function api(useResponsesApi: boolean) {
  const model = open(ask.model, useResponsesApi);
  const { text } = await model.invoke(ask.question);
  const pieces: string[] = [];
  for await (const piece of await model.stream(ask.question)) {
    if (piece.text !== "") pieces.push(piece.text);
  }
  const helped = model.bindTools([weather]);
  const asked = new HumanMessage(ask.toolQuestion);
  const calling = await helped.invoke([asked]);
  const call = calling.tool_calls?.[0];
  if (call === undefined) throw new Error("no tool was called");
  const result: ToolMessage = await weather.invoke({ ...call, type: "tool_call" });
  const answered = await helped.invoke([asked, calling, result]);
  const structured = await model.withStructuredOutput(person, { name: "person" }).invoke(ask.personQuestion);
  const seen = await open(ask.visionModel, useResponsesApi).invoke([
    new HumanMessage({
      content: [
        { type: "text", text: ask.pictureQuestion },
        { type: "image_url", image_url: { url: ask.picture } },
      ],
    }),
  ]);
  return {
    text,
    pieces,
    tool: { name: call.name, arguments: call.args, answer: answered.text },
    structured,
    vision: seen.text,
  };
}

async function unknownModel() {
  try {
    await open("no/such", false).invoke("hi");
  } catch (error) {
    if (error instanceof Error && "status" in error) return error.status;
    throw error;
  }
}

async function abortedAfter() {
  const leaving = new AbortController();
  const stream = await open(ask.model, false).stream(ask.longQuestion, { signal: leaving.signal });
  for await (const piece of stream) {
    if (piece.text === "") continue;
    leaving.abort();
    return piece.text;
  }
}

ask.report({
  chat: await api(false),
  responses: await api(true),
  unknownModel: await unknownModel(),
  abortedAfter: await abortedAfter(),
});
