// Guarantees of failures: one sentence for people, one JSON object for programs, never a stack trace.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { runWith } from "./simulated.ts";
import { type RouterUnderTest, SECRET, startRouter } from "./test/start-router.ts";

let router: RouterUnderTest;
beforeAll(async () => {
  router = await startRouter();
});
afterAll(() => router.stop());

const add = ["deposit", "add", "--account", "a"] as const;

test.each([
  ["a refusal", ["key", "list", "--account", randomUUID()], /^There is no account /, "not_found", 1],
  ["a missing option", ["account", "create"], /^required option '--name <name>' not specified$/, null, 2],
  ["a bad amount", [...add, "--usd", "NaN"], /It must be USD with at most four decimals/, null, 2],
  ["an unknown command", ["frobnicate"], /^unknown command 'frobnicate'$/, null, 2],
  ["no command", [], /^Name a command/, null, 2],
  ["a command without its verb", ["key"], /^Name a command/, null, 2],
  ["no router", ["--data-dir", "/nowhere", "doctor"], /^No router has run on \/nowhere /, null, 1],
])(
  "with --json, %s is one object on stderr and nothing on stdout",
  async (_, args, message, code, exitCode) => {
    const outcome = await router.cli("--json", ...args);
    expect(outcome).toMatchObject({ code: exitCode, out: "" });
    expect((await router.cli(...args)).code).toBe(exitCode);
    expect(JSON.parse(outcome.err)).toEqual({ error: { message: expect.stringMatching(message), code } });
  },
);

test("--json says what went wrong wherever it stands, and asking for help is no failure", async () => {
  const { err } = await router.cli("account", "create", "--json");
  expect(JSON.parse(err)).toMatchObject({ error: { message: expect.any(String) } });
  expect(await router.cli("--json", "--help")).toMatchObject({ code: 0, err: "" });
});

test("help of a command is that of the command, by either spelling, with each default once", async () => {
  const asked = await router.cli("help", "deposit", "add");
  expect(asked).toEqual(await router.cli("deposit", "add", "--help"));
  expect(asked).toMatchObject({ code: 0, err: "" });
  expect(asked.out.replaceAll(/\s+/g, " ").match(/\(default: [^)]*\)/g)).toEqual([
    "(default: completed)",
    '(default: "operator")',
    "(default: a new one)",
  ]);
  expect((await router.cli("help")).out).toBe((await router.cli("--help")).out);
});

test("--version names the version and the commit", async () => {
  const { code, out } = await router.cli("--version");
  expect(code).toBe(0);
  expect(out).toMatch(/^\d+\.\d+\.\d+-source \(\w+\)\n$/);
});

test("an amount beyond every account is refused by a sentence that says how much may be", async () => {
  const { err } = await router.cli(...add, "--usd", "100000000000.0001");
  expect(err).toMatch(/up to 100 billion/);
});

test("an address that is no RPC port is named as such, not as a failure of the router", async () => {
  const http = createServer((_request, response) => response.end("hello"));
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const env = { KEYS_RPC_URL: url, INTERNAL_AUTH_SECRET: SECRET };
  const { code, err } = await runWith(env, "account", "create", "--name", "x");
  expect({ code, err }).toEqual({
    code: 1,
    err: "What answers at the address in the environment is no RPC port.\n",
  });
  http.closeAllConnections();
  http.close();
});
