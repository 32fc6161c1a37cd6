// The table of clients and abilities in README.md: it is as features.ts has it, each cell is filled, and each named test exists.
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { expect, test } from "@jest/globals";
import { CLIENTS, FEATURES, featureTable } from "./features.ts";

const ROOT = join(import.meta.dirname, "../..");
const README = join(import.meta.dirname, "README.md");
const [BEGIN, END] = ["<!-- features: UPDATE_FEATURES=1 rewrites it -->", "<!-- end of features -->"];

test("each cell is a test that exists, or a reason", () => {
  for (const { name, before, cells } of CLIENTS) {
    expect([name, before.length, cells.length]).toEqual([name, FEATURES.length, FEATURES.length]);
    for (const cell of cells) {
      if ("test" in cell) expect([cell.test, existsSync(join(ROOT, cell.test))]).toEqual([cell.test, true]);
      else expect(cell.no).not.toBe("");
    }
  }
});

test("README.md has the table; UPDATE_FEATURES=1 rewrites it", async () => {
  const linkOf = (file: string) => relative(import.meta.dirname, join(ROOT, file));
  const before = await readFile(README, "utf8");
  const [head = "", rest = ""] = before.split(BEGIN);
  const [, tail = ""] = rest.split(END);
  const after = `${head}${BEGIN}\n${featureTable(linkOf)}\n${END}${tail}`;
  if (process.env["UPDATE_FEATURES"] === "1") await writeFile(README, after);
  expect((await readFile(README, "utf8")).split("\n")).toEqual(after.split("\n"));
});
