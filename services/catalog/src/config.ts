// What the catalogue reads from the environment.
import { textUpstreamConfig } from "@gr/clients";
import { milliseconds, postgresConfig } from "@gr/runtime";
import { z } from "zod";

export const catalogConfig = z.object({
  ...postgresConfig.shape,
  ...textUpstreamConfig.shape,
  SANDBOX_MODELS: z
    .enum(["true", "false"])
    .default("false")
    .transform((value) => value === "true")
    .describe("list the models that only a simulator serves"),
  TEXT_IMPORT_INTERVAL_MS: milliseconds(3_600_000).describe("pause between two imports of the text models"),
  TEXT_IMPORT_TIMEOUT_MS: milliseconds(20_000).describe("how long one listing may take to arrive"),
});
