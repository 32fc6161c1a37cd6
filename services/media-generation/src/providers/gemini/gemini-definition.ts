// Google's Gemini API, as the operator configures it.
import { z } from "zod";
import { baseUrl, defineProvider } from "../provider-definition.ts";
import { createGeminiProvider, GEMINI } from "./gemini-provider.ts";

export const gemini = defineProvider({
  name: GEMINI,
  abilities: ["image", "video", "image-input"],
  reports: { image: "tokens", video: "tokens" },
  settings: z.object({
    GEMINI_API_KEY: z.string().optional().describe("switches Google's image and video models on"),
    GEMINI_BASE_URL: baseUrl("https://generativelanguage.googleapis.com/v1beta"),
  }),
  credential: "GEMINI_API_KEY",
  baseUrls: { GEMINI_BASE_URL: { simulatedAt: "/gemini/v1beta" } },
  create: ({ secret, settings, outbound }) =>
    createGeminiProvider({ apiKey: secret, baseUrl: settings.GEMINI_BASE_URL, outbound }),
});
