// Secrets of a laptop installation: made on the first start, kept in DATA_DIR with mode 0600, used ever after.
// A deployment sets them in the environment instead, and then nothing is written.
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Environment } from "@gr/runtime";
import { readPrivateFile, writePrivateFile } from "./private-file.ts";

const NAMES = ["KEY_PEPPER", "INTERNAL_AUTH_SECRET"] as const;
export type Secrets = Record<(typeof NAMES)[number], string>;

/** Every secret from the environment, else from `secrets.json`, else new. */
export async function loadSecrets(dataDir: string, env: Environment): Promise<Secrets> {
  const file = join(dataDir, "secrets.json");
  const kept = ((await readPrivateFile(file)) ?? {}) as Partial<Secrets>;
  const secrets = Object.fromEntries(
    NAMES.map((name) => [name, env[name] || kept[name] || randomBytes(32).toString("base64url")]),
  ) as Secrets;
  const generated = NAMES.filter((name) => !env[name]);
  if (generated.some((name) => kept[name] === undefined)) {
    await writePrivateFile(file, {
      ...kept,
      ...Object.fromEntries(generated.map((name) => [name, secrets[name]])),
    });
  }
  return secrets;
}
