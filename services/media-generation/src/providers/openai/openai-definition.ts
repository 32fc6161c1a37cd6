// OpenAI, as the operator configures it.
import { z } from "zod";
import { baseUrl, defineProvider } from "../provider-definition.ts";
import { createOpenAiProvider, OPENAI } from "./openai-provider.ts";

export const openAi = defineProvider({
  name: OPENAI,
  abilities: ["image", "image-input"],
  reports: { image: "tokens" },
  settings: z.object({
    OPENAI_API_KEY: z.string().optional().describe("switches OpenAI's image models on"),
    OPENAI_BASE_URL: baseUrl("https://api.openai.com/v1"),
  }),
  credential: "OPENAI_API_KEY",
  baseUrls: { OPENAI_BASE_URL: { simulatedAt: "/openai/v1" } },
  create: ({ secret, settings, outbound }) =>
    createOpenAiProvider({ apiKey: secret, baseUrl: settings.OPENAI_BASE_URL, outbound }),
});
