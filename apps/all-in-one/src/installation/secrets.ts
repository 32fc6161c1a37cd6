// Secrets of a laptop installation are created on the first start and stored in DATA_DIR with mode 0600.
// A deployment sets them in the environment instead, and then nothing is written.
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Environment } from "@gr/runtime";
import { readPrivateFile, writePrivateFile } from "./private-file.ts";

/** Generators of the secrets. */
const MAKERS = {
  KEY_PEPPER: () => randomBytes(32).toString("base64url"),
  INTERNAL_AUTH_SECRET: () => randomBytes(32).toString("base64url"),
  CONSOLE_SECRET: () => randomBytes(32).toString("base64url"),
  WEB_TOKEN_PRIVATE_KEY: () =>
    generateKeyPairSync("ed25519").privateKey.export({ format: "der", type: "pkcs8" }).toString("base64"),
} as const;
const NAMES = Object.keys(MAKERS) as (keyof typeof MAKERS)[];
export type Secrets = Record<keyof typeof MAKERS, string>;

/** Every secret from the environment, else from `secrets.json`, else new. */
export async function loadSecrets(dataDir: string, env: Environment): Promise<Secrets> {
  const file = join(dataDir, "secrets.json");
  const kept = ((await readPrivateFile(file)) ?? {}) as Partial<Secrets>;
  const secrets = Object.fromEntries(
    NAMES.map((name) => [name, env[name] || kept[name] || MAKERS[name]()]),
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
