// The figures of README are those of docs/facts.json, and no others.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { ROOT } from "../../scripts/tool.ts";
import { readFacts, withBlock } from "./facts.ts";
import { readTables } from "./measure.ts";

test("README shows the facts of docs/facts.json", async () => {
  const readme = await readFile(join(ROOT, "README.md"), "utf8");
  expect(readme).toBe(withBlock(readme, await readFacts()));
});

test("each fact of README's four claims is measured, with date, commit and machine", async () => {
  const { crashes, prices, tests, chat } = await readFacts();
  for (const part of [crashes, prices, tests, chat])
    expect(part).toMatchObject({
      date: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
      commit: expect.stringMatching(/^[0-9a-f]{8}$/),
      machine: expect.stringContaining("cores"),
    });
});

test("another figure in README is noticed", async () => {
  const readme = await readFile(join(ROOT, "README.md"), "utf8");
  const facts = await readFacts();
  const changed = readme.replace(" in `npm test`", "1 in `npm test`");
  expect(changed).not.toBe(readme);
  expect(withBlock(changed, facts)).toBe(readme);
});

test("the bench's tables are read by contestant and connections", () => {
  const head = `${"".padEnd(36)}  CPU µs/req       req/s`;
  const row = (name: string, micros: string) => `${name.padEnd(36)}${micros.padStart(12)}        1374`;
  const output = [
    "Node v26, 3 rounds",
    "",
    "chat, not streamed, closed loop, 1 connections",
    ...[head, row("bare undici proxy", "93.4"), row("Portkey 1.15.2, nothing on", "907"), ""],
    "chat, not streamed, closed loop, 10 connections",
    ...[head, row("bare undici proxy", "61.2"), ""],
    "time to the first byte of a stream, one at a time",
    ...[head, row("bare undici proxy", "3.1")],
  ];
  expect(Object.fromEntries(readTables(output.join("\n")))).toEqual({
    "bare undici proxy": { 1: 93, 10: 61 },
    "Portkey 1.15.2, nothing on": { 1: 907 },
  });
});
