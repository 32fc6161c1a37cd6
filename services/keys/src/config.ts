// What the keys module reads from the environment.
import { postgresConfig } from "@gr/runtime";
import { z } from "zod";

export const keysConfig = z.object({
  ...postgresConfig.shape,
  /** Turns secrets into digests. Changing it makes every key unknown, so it is made once and kept. */
  KEY_PEPPER: z
    .string()
    .min(32, "must have at least 32 characters")
    .describe("keys the digests under which API keys are stored"),
});
