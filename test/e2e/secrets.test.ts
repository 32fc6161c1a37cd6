// The secrets of an installation: created once, kept permanently. An additional one changes no other.
import { createPrivateKey } from "node:crypto";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadSecrets } from "@gr/all-in-one";
import { afterEach, beforeEach, expect, test } from "@jest/globals";

let dataDir: string;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "generation-router-secrets-"));
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

const file = () => join(dataDir, "secrets.json");
const kept = async () => JSON.parse(await readFile(file(), "utf8"));

test("are made on the first start and the same on every later one", async () => {
  const first = await loadSecrets(dataDir, {});
  expect(await loadSecrets(dataDir, {})).toEqual(first);
  expect(await kept()).toEqual(first);
  expect((await stat(file())).mode & 0o777).toBe(0o600);
  expect(first.KEY_PEPPER).not.toBe(first.INTERNAL_AUTH_SECRET);
  const der = Buffer.from(first.WEB_TOKEN_PRIVATE_KEY, "base64");
  expect(createPrivateKey({ key: der, format: "der", type: "pkcs8" }).asymmetricKeyType).toBe("ed25519");
});

test("of an older installation stay as they are when a new one is added", async () => {
  const older = { KEY_PEPPER: "p".repeat(43), INTERNAL_AUTH_SECRET: "s".repeat(43) };
  await writeFile(file(), JSON.stringify(older));
  const secrets = await loadSecrets(dataDir, {});
  expect(secrets).toEqual({
    ...older,
    CONSOLE_SECRET: expect.stringMatching(/^.{43}$/),
    WEB_TOKEN_PRIVATE_KEY: expect.stringMatching(/^MC4CAQAw/),
  });
  expect(await loadSecrets(dataDir, {})).toEqual(secrets);
});

test("of the environment win and are not written down", async () => {
  const env = { KEY_PEPPER: "e".repeat(43), WEB_TOKEN_PRIVATE_KEY: "the deployment's own", OTHER: "x" };
  const secrets = await loadSecrets(dataDir, env);
  expect(secrets).toMatchObject({
    KEY_PEPPER: env.KEY_PEPPER,
    WEB_TOKEN_PRIVATE_KEY: "the deployment's own",
  });
  const { CONSOLE_SECRET, INTERNAL_AUTH_SECRET } = secrets;
  expect(await kept()).toEqual({ CONSOLE_SECRET, INTERNAL_AUTH_SECRET });
});
