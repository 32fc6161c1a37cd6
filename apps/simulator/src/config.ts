// The simulator's settings when it runs alone, read once from the environment.
import { z } from "zod";

const configSchema = z.object({
  /** Address to listen on. */
  HOST: z.string().min(1).default("127.0.0.1"),
  /** Port to listen on; 0 chooses any free one. */
  SIMULATOR_PORT: z.coerce.number().int().min(0).max(65_535).default(8090),
  /** Folder of the bill. */
  DATA_DIR: z.string().min(1).default("./.data"),
  /** Milliseconds between two tokens of a stream. */
  SIMULATOR_TOKEN_DELAY_MS: z.coerce.number().min(0).max(60_000).default(15),
});

export type SimulatorConfig = z.infer<typeof configSchema>;

/** An empty variable counts as unset. Throws one error that names every invalid setting. */
export function parseConfig(environment: Record<string, string | undefined>): SimulatorConfig {
  const parsed = configSchema.safeParse(
    Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== "")),
  );
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
  throw new Error(`The simulator's settings are wrong. ${problems.join("; ")}`);
}
