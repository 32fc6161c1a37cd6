// OpenRouter, as the operator configures it for media. Its text models are the text upstream's,
// which has settings of its own.
import { z } from "zod";
import { baseUrl, defineProvider } from "../provider-definition.ts";
import { createOpenRouterProvider, OPENROUTER } from "./openrouter-provider.ts";

export const openRouter = defineProvider({
  name: OPENROUTER,
  abilities: ["image", "video", "image-input"],
  reports: { image: "cost", video: "cost" },
  settings: z.object({
    OPENROUTER_API_KEY: z
      .string()
      .optional()
      .describe(
        "switches OpenRouter's image and video models on; text uses `TEXT_UPSTREAM_API_KEY`, which may be the same key",
      ),
    OPENROUTER_BASE_URL: baseUrl("https://openrouter.ai/api/v1"),
  }),
  credential: "OPENROUTER_API_KEY",
  baseUrls: { OPENROUTER_BASE_URL: { simulatedAt: "/openrouter/api/v1" } },
  create: ({ secret, settings, outbound }) =>
    createOpenRouterProvider({ apiKey: secret, baseUrl: settings.OPENROUTER_BASE_URL, outbound }),
});
