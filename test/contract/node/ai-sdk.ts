// Vercel's AI SDK with one of its providers: `@ai-sdk/openai` supports both APIs, `@ai-sdk/openai-compatible` chat
// only.
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, generateText, type LanguageModel, Output, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import * as ask from "./settings.ts";

type ModelOf = (id: string) => LanguageModel;

async function api(modelOf: ModelOf) {
  const model = modelOf(ask.model);
  const { text } = await generateText({ model, prompt: ask.question });
  const pieces: string[] = [];
  for await (const piece of streamText({ model, prompt: ask.question }).textStream) pieces.push(piece);
  const helped = await generateText({
    model,
    prompt: ask.toolQuestion,
    stopWhen: stepCountIs(3),
    tools: {
      [ask.weather.name]: tool({
        description: ask.weather.description,
        inputSchema: z.object({ city: z.string() }),
        execute: async () => ask.toolAnswer,
      }),
    },
  });
  const call = helped.steps.flatMap(({ toolCalls }) => toolCalls)[0];
  const person = await generateText({
    model,
    prompt: ask.personQuestion,
    output: Output.object({ schema: z.object({ name: z.string(), age: z.int() }) }),
  });
  const seen = await generateText({
    model: modelOf(ask.visionModel),
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: ask.pictureQuestion },
          { type: "image", image: ask.picture },
        ],
      },
    ],
  });
  return {
    text,
    pieces,
    tool: { name: call?.toolName, arguments: call?.input, answer: helped.text },
    structured: person.output,
    vision: seen.text,
  };
}

async function unknownModel(modelOf: ModelOf) {
  try {
    await generateText({ model: modelOf("no/such"), prompt: "hi" });
  } catch (error) {
    if (error instanceof APICallError) return error.statusCode;
    throw error;
  }
}

async function abortedAfter(modelOf: ModelOf) {
  const leaving = new AbortController();
  const stream = streamText({
    model: modelOf(ask.model),
    prompt: ask.longQuestion,
    abortSignal: leaving.signal,
  });
  for await (const piece of stream.textStream) {
    leaving.abort();
    return piece;
  }
}

const { baseURL, apiKey } = ask;
async function reportOf(chat: ModelOf, responses: ModelOf | undefined) {
  ask.report({
    chat: await api(chat),
    responses: responses === undefined ? null : await api(responses),
    unknownModel: await unknownModel(chat),
    abortedAfter: await abortedAfter(chat),
  });
}

if (process.argv[2] === "openai") {
  const provider = createOpenAI({ baseURL, apiKey });
  await reportOf(
    (id) => provider.chat(id),
    (id) => provider.responses(id),
  );
} else {
  const provider = createOpenAICompatible({
    name: "router",
    baseURL,
    apiKey,
    supportsStructuredOutputs: true,
  });
  await reportOf((id) => provider(id), undefined);
}
