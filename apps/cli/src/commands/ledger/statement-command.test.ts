// The command writes all pages of a statement into a new file, with the signature of the operator.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type RouterUnderTest, startRouter } from "../../test/start-router.ts";

const ACCOUNT = "0190c0de-0000-7000-8000-00000000000a";
const LINES = ["4", "5", "6", "7", "8"].map((seq) => JSON.stringify([seq, null]));

let router: RouterUnderTest;
let folder: string;
beforeAll(async () => {
  router = await startRouter();
  folder = await mkdtemp(join(tmpdir(), "statement-command-"));
});
afterAll(async () => {
  await router?.stop();
  await rm(folder, { recursive: true, force: true });
});

const write = (out: string) =>
  router.cli("account", "statement", "--account", ACCOUNT, "--month", "2026-10", "--out", out);

test("a statement is written page by page, signed or not", async () => {
  router.peers.statement = LINES;
  const file = join(folder, "unsigned.jsonl");
  expect(await write(file)).toMatchObject({ code: 0, out: expect.stringContaining("Wrote 5 steps") });
  const [head, ...lines] = (await readFile(file, "utf8")).trimEnd().split("\n");
  expect(JSON.parse(head ?? "")).toEqual({
    seal: ["seal 1", ACCOUNT, "2026-10"],
    hash: "abc",
    signing: null,
  });
  expect(lines).toEqual(LINES);
  router.peers.signing = { signature: "s", publicKey: "p" };
  const signed = join(folder, "signed.jsonl");
  expect((await write(signed)).out).toMatch(/The statement is signed\.\n$/);
  expect(await readFile(signed, "utf8")).toContain('"signing":{"signature":"s","public_key":"p"}');
});

test("an existing file and a missing folder are refused with one sentence", async () => {
  const file = join(folder, "once.jsonl");
  await write(file);
  expect(await write(file)).toMatchObject({
    code: 1,
    err: expect.stringContaining(`${file} exists; name another file.`),
  });
  const lost = join(folder, "none", "file.jsonl");
  expect((await write(lost)).err).toContain(`The folder of ${lost} does not exist.`);
});
