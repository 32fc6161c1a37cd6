// Black Forest Labs, as the operator configures it.
import { z } from "zod";
import { baseUrl, defineProvider } from "../provider-definition.ts";
import { BFL, createBflProvider } from "./bfl-provider.ts";

export const bfl = defineProvider({
  name: BFL,
  abilities: ["image", "video", "image-input"],
  reports: { image: "cost", video: "cost" },
  settings: z.object({
    BFL_API_KEY: z.string().optional().describe("switches Black Forest Labs' image and video models on"),
    BFL_BASE_URL: baseUrl("https://api.bfl.ai/v1").describe(
      "a region is `https://api.eu.bfl.ai/v1` or `https://api.us.bfl.ai/v1`",
    ),
  }),
  credential: "BFL_API_KEY",
  baseUrls: { BFL_BASE_URL: { simulatedAt: "/bfl/v1" } },
  create: ({ secret, settings, outbound }) =>
    createBflProvider({ apiKey: secret, baseUrl: settings.BFL_BASE_URL, outbound }),
});
