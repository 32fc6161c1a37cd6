// BytePlus ModelArk, as the operator configures it: ByteDance's models outside China.
import { z } from "zod";
import { baseUrl, defineProvider } from "../provider-definition.ts";
import { BYTEPLUS, createBytePlusProvider } from "./byteplus-provider.ts";

export const bytePlus = defineProvider({
  name: BYTEPLUS,
  abilities: ["image", "video", "image-input"],
  reports: { image: "tokens", video: "tokens" },
  settings: z.object({
    BYTEPLUS_API_KEY: z
      .string()
      .optional()
      .describe(
        "switches ByteDance's image and video models on; a key of BytePlus ModelArk, valid in one region",
      ),
    BYTEPLUS_BASE_URL: baseUrl("https://ark.ap-southeast.bytepluses.com/api/v3"),
  }),
  credential: "BYTEPLUS_API_KEY",
  baseUrls: { BYTEPLUS_BASE_URL: { simulatedAt: "/byteplus/api/v3" } },
  create: ({ secret, settings, outbound }) =>
    createBytePlusProvider({ apiKey: secret, baseUrl: settings.BYTEPLUS_BASE_URL, outbound }),
});
