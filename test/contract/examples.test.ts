// The examples for Node against the router. They are few lines, and each one exists for both languages.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { ROOT } from "../../scripts/tool.ts";
import { type Router, startRouter } from "../e2e/topology.ts";
import { examples, expectExample } from "./examples.ts";

const FOLDER = join(ROOT, "examples");
let router: Router;
beforeAll(async () => {
  router = await startRouter("all-in-one", { inProcess: true });
});
afterAll(async () => {
  await router?.dispose();
});

test("each program exists for Node and for Python, with at most 40 lines", () => {
  const expected = examples.flatMap((name) => [`${name}.mjs`, `${name.replaceAll("-", "_")}.py`]);
  const programs = readdirSync(FOLDER).filter((file) => file !== "README.md");
  expect(programs.sort()).toEqual(expected.sort());
  for (const file of programs)
    expect([file, readFileSync(join(FOLDER, file), "utf8").split("\n").length <= 41]).toEqual([file, true]);
});

test.each(examples)("%s.mjs prints its result, and its account pays the bill", async (name) => {
  await expectExample(router, name, [process.execPath, join(FOLDER, `${name}.mjs`)]);
});
