// Launcher settings are the launchers' own environment variables. All others belong to the modules.

import { gatewayConfig } from "@gr/gateway";
import {
  dataDirConfig,
  type Environment,
  OperatorError,
  port,
  postgresConfig,
  readConfig,
  stopConfig,
} from "@gr/runtime";
import { textUpstreamConfig } from "@gr/text-upstream";
import { z } from "zod";

/** Settings of the launchers themselves, and those of modules that launchers read, too. */
export const launcherConfig = z.object({
  ...gatewayConfig.pick({ HOST: true, PORT: true }).shape,
  ...dataDirConfig.shape,
  ...stopConfig.shape,
  ...textUpstreamConfig.shape,
  DATABASE_URL: postgresConfig.shape.DATABASE_URL.optional(),
  SIMULATOR_PORT: port(8090).meta({
    description: "port of the simulator",
    byDefault: "`8090`, else a free one",
  }),
  SIMULATOR_TOKEN_DELAY_MS: z.coerce
    .number()
    .int()
    .min(0)
    .max(10_000)
    .default(15)
    .describe("pause between two tokens of a streamed answer"),
});
export type LauncherConfig = z.infer<typeof launcherConfig>;

/** @throws OperatorError naming every variable that cannot be used. */
export function readLauncherConfig(env: Environment): LauncherConfig {
  const result = readConfig("launcher", launcherConfig, env);
  if ("config" in result) return result.config;
  throw new OperatorError(`The configuration is not usable: ${result.problems.join("; ")}.`);
}
