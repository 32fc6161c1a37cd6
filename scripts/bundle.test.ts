// A bundle is all that a container has: it must run under plain Node, away from this checkout.
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { startChild, type TestDatabase, testDatabase } from "@gr/testing";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { bundleProgram } from "./bundle.ts";

const run = promisify(execFile);
const BUILD = { version: /^\d+\.\d+\.\d+$/, commit: /^([0-9a-f]{12}(-dirty)?|unknown)$/ };
let database: TestDatabase;
let out: string;
let main: string;

beforeAll(async () => {
  database = await testDatabase("empty");
  out = await mkdtemp(join(tmpdir(), "bundle-"));
  main = await bundleProgram("billing", join(out, "billing"));
});
afterAll(async () => {
  await database?.drop();
  await rm(out, { recursive: true, force: true });
});

test("a bundle says its build, migrates, then serves, and knows no other argument", async () => {
  const env = { DATABASE_URL: database.url, INTERNAL_AUTH_SECRET: "a secret for tests that is long enough" };
  const command = (...args: string[]) => run(process.execPath, [main, ...args], { env, cwd: out });
  const { stdout: output } = await command("--version");
  const [, version = "", commit = ""] = /^(\S+) \((\S+)\)\n$/.exec(output) ?? [];
  expect({ version, commit }).toEqual({
    version: expect.stringMatching(BUILD.version),
    commit: expect.stringMatching(BUILD.commit),
  });

  expect((await command("migrate")).stdout).toMatch(/^billing: applied 0001-.*\.sql\.\n$/);
  expect((await command("migrate")).stdout).toBe("billing: nothing to do.\n");
  await expect(command("serve")).rejects.toMatchObject({
    code: 1,
    stderr: '"serve" is no command; use migrate, --version, or no argument to serve.\n',
  });

  // Ready without migrating itself.
  const child = await startChild(main, { ...env, LOG_LEVEL: "silent" });
  try {
    expect(await (await fetch(`${child.url}/livez`)).json()).toEqual({ status: "ok", version, commit });
    const metrics = await (await fetch(`${child.url}/metrics`)).text();
    expect(metrics).toContain(`generation_router_info{version="${version}",commit="${commit}"} 1`);
  } finally {
    await child.stop();
  }
});

test("the command line's bundle has the models that an operator's own files change", async () => {
  const cli = await bundleProgram("cli", join(out, "cli"));
  const own = await mkdtemp(join(tmpdir(), "bundle-own-"));
  await writeFile(join(own, "mine.json"), '{ "models": [{ "id": "openai/gpt-image-2", "hidden": true }] }');
  const { stdout } = await run(process.execPath, [cli, "catalog", "validate", own], { env: {}, cwd: out });
  expect(stdout).toBe(`${own} is right: 0 added, 0 changed, 1 hidden.\n`);
  await rm(own, { recursive: true });
});
