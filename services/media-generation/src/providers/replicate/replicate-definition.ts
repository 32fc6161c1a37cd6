// Settings, abilities and factory of the provider Replicate.
import { vendorName } from "@gr/runtime";
import { z } from "zod";
import { baseUrl, defineProvider } from "../provider-definition.ts";
import { createReplicateProvider, REPLICATE } from "./replicate-provider.ts";

export const replicate = defineProvider({
  name: REPLICATE,
  abilities: ["image", "video", "image-input"],
  reports: { image: "nothing", video: "nothing" },
  settings: z.object({
    REPLICATE_API_KEY: z
      .string()
      .optional()
      .meta({
        description:
          "switches Replicate's image and video models on; also read from `REPLICATE_API_TOKEN`, Replicate's own name",
        ...vendorName("REPLICATE_API_TOKEN"),
      }),
    REPLICATE_BASE_URL: baseUrl("https://api.replicate.com/v1"),
  }),
  credential: "REPLICATE_API_KEY",
  baseUrls: { REPLICATE_BASE_URL: { simulatedAt: "/replicate/v1" } },
  create: ({ secret, settings, outbound }) =>
    createReplicateProvider({ apiKey: secret, baseUrl: settings.REPLICATE_BASE_URL, outbound }),
});
