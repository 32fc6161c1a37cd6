// Together's definition for the operator's settings. Images and videos have different hosts.
import { z } from "zod";
import { baseUrl, defineProvider } from "../provider-definition.ts";
import { createTogetherProvider, TOGETHER } from "./together-provider.ts";

export const together = defineProvider({
  name: TOGETHER,
  abilities: ["image", "video", "image-input"],
  reports: { image: "nothing", video: "cost" },
  settings: z.object({
    TOGETHER_API_KEY: z.string().optional().describe("switches Together's image and video models on"),
    TOGETHER_BASE_URL: baseUrl("https://api.together.xyz/v1").describe("address for images"),
    TOGETHER_VIDEO_BASE_URL: baseUrl("https://api.together.ai/v2").describe("address for videos"),
  }),
  credential: "TOGETHER_API_KEY",
  baseUrls: {
    TOGETHER_BASE_URL: { simulatedAt: "/together/v1" },
    TOGETHER_VIDEO_BASE_URL: { simulatedAt: "/together/v2" },
  },
  create: ({ secret, settings, outbound }) =>
    createTogetherProvider({
      apiKey: secret,
      baseUrl: settings.TOGETHER_BASE_URL,
      videoBaseUrl: settings.TOGETHER_VIDEO_BASE_URL,
      outbound,
    }),
});
