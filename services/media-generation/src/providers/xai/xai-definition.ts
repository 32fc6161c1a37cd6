// xAI, as the operator configures it.
import { z } from "zod";
import { baseUrl, defineProvider } from "../provider-definition.ts";
import { createXaiProvider, XAI } from "./xai-provider.ts";

export const xai = defineProvider({
  name: XAI,
  abilities: ["image", "video", "image-input"],
  reports: { image: "cost", video: "cost" },
  settings: z.object({
    XAI_API_KEY: z.string().optional().describe("switches xAI's image and video models on"),
    XAI_BASE_URL: baseUrl("https://api.x.ai/v1"),
  }),
  credential: "XAI_API_KEY",
  baseUrls: { XAI_BASE_URL: { simulatedAt: "/xai/v1" } },
  create: ({ secret, settings, outbound }) =>
    createXaiProvider({ apiKey: secret, baseUrl: settings.XAI_BASE_URL, outbound }),
});
