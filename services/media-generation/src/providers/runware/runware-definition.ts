// Runware, as the operator configures it.
import { z } from "zod";
import { baseUrl, defineProvider } from "../provider-definition.ts";
import { createRunwareProvider, RUNWARE } from "./runware-provider.ts";

export const runware = defineProvider({
  name: RUNWARE,
  abilities: ["image", "video", "image-input"],
  reports: { image: "cost", video: "cost" },
  settings: z.object({
    RUNWARE_API_KEY: z.string().optional().describe("switches Runware's image and video models on"),
    RUNWARE_BASE_URL: baseUrl("https://api.runware.ai/v1"),
  }),
  credential: "RUNWARE_API_KEY",
  baseUrls: { RUNWARE_BASE_URL: { simulatedAt: "/runware/v1" } },
  create: ({ secret, settings, outbound }) =>
    createRunwareProvider({ apiKey: secret, baseUrl: settings.RUNWARE_BASE_URL, outbound }),
});
