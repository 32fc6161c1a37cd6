// OpenAI, as the operator configures it. Text to image only: its edits take files, which the adapter does not send yet.
import { z } from "zod";
import { defineProvider } from "../provider-definition.ts";
import { createOpenAiProvider, OPENAI } from "./openai-provider.ts";

export const openAi = defineProvider({
  name: OPENAI,
  abilities: ["image"],
  settings: z.object({
    OPENAI_API_KEY: z.string().optional().describe("switches OpenAI's image models on"),
    OPENAI_BASE_URL: z
      .url({ protocol: /^https?$/, error: "must be an http:// or https:// URL" })
      .default("https://api.openai.com/v1"),
  }),
  credential: "OPENAI_API_KEY",
  baseUrl: "OPENAI_BASE_URL",
  simulatedAt: "/openai/v1",
  create: ({ secret, settings, outbound, lookUp }) =>
    createOpenAiProvider({ apiKey: secret, baseUrl: settings.OPENAI_BASE_URL, outbound, lookUp }),
});
