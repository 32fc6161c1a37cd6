// fal, as the operator configures it.
import { vendorName } from "@gr/runtime";
import { z } from "zod";
import { baseUrl, defineProvider } from "../provider-definition.ts";
import { createFalProvider, FAL } from "./fal-provider.ts";

export const fal = defineProvider({
  name: FAL,
  abilities: ["image", "video", "image-input"],
  reports: { image: "tokens of some models", video: "nothing" },
  settings: z.object({
    FAL_API_KEY: z
      .string()
      .optional()
      .meta({
        description: "switches fal's image and video models on; also read from `FAL_KEY`, fal's own name",
        ...vendorName("FAL_KEY"),
      }),
    FAL_BASE_URL: baseUrl("https://queue.fal.run"),
  }),
  credential: "FAL_API_KEY",
  baseUrls: { FAL_BASE_URL: { simulatedAt: "/fal" } },
  create: ({ secret, settings, outbound }) =>
    createFalProvider({ apiKey: secret, baseUrl: settings.FAL_BASE_URL, outbound }),
});
