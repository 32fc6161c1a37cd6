// The recipes of CONTRIBUTING.md are complete: followed word for word in a copy of the repository, the checks are green.
// The test fails for a recipe without its last step.
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { ROOT } from "../../scripts/tool.ts";
import type { Recipe } from "./edit.ts";
import { recipes } from "./recipes.ts";

/** Runs a program to its end. @throws Error with its output */
async function run(
  program: string,
  args: readonly string[],
  cwd: string,
  env = process.env,
): Promise<string> {
  try {
    const options = { cwd, env, maxBuffer: 64 * 1024 * 1024 };
    return (await promisify(execFile)(program, args, options)).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${program} ${args.join(" ")}: ${stdout}${stderr}`, { cause: error });
  }
}

const COPY_MS = 1_800_000;
const ERRORS = "packages/runtime/src/http/render-error";
const CONSOLE_ROUTES = "packages/console-api/src/console-routes";
const PRICES = "services/catalog/src/golden-prices.test";
const PROVIDERS = "services/media-generation/src/providers/media-providers";
const DEPLOYMENT = "deploy/deploy.test";
/** Tests that compare an addition with its list. */
const LISTS = ["test/tidy", "scripts/settings-pages", ERRORS, CONSOLE_ROUTES, PRICES, PROVIDERS, DEPLOYMENT];

let copy: string;
beforeAll(async () => {
  copy = await mkdtemp(join(tmpdir(), "recipes-"));
  const listed = await run("git", ["ls-files", "-coz", "--exclude-standard"], ROOT);
  for (const file of listed.split("\0").filter((name) => name !== ""))
    await cp(join(ROOT, file), join(copy, file), { verbatimSymlinks: true });
  await symlink(join(ROOT, ".tools"), join(copy, ".tools"));
  await run("git", ["init", "--quiet"], copy);
  // .gitignore names a folder, and here it is a link.
  await writeFile(join(copy, ".git/info/exclude"), ".tools\n");
  for (const recipe of recipes) await follow(recipe);
  await bootstrapped("scripts/generate.ts");
}, COPY_MS);
afterAll(() => rm(copy, { recursive: true, force: true }));

async function follow({ edits }: Recipe): Promise<void> {
  for (const { file, change } of edits) {
    const place = join(copy, file);
    const text = await readFile(place, "utf8").catch(() => "");
    const changed = change(text);
    expect([file, changed === text]).toEqual([file, false]);
    await mkdir(dirname(place), { recursive: true });
    await writeFile(place, changed);
  }
}

/** Runs a TypeScript file as every npm command does. */
const bootstrapped = (entry: string, args: readonly string[] = [], env: Record<string, string> = {}) =>
  run(process.execPath, ["scripts/bootstrap.mjs", entry, ...args], copy, { ...process.env, ...env });
const types = () => run(process.execPath, ["node_modules/typescript/bin/tsc", "-b"], copy);
const lists = (tests: readonly string[]) => bootstrapped("scripts/test.ts", tests);

/** Runs with one file as it is in the repository. */
async function without(file: string, act: () => Promise<unknown>): Promise<void> {
  const kept = await readFile(join(copy, file));
  await cp(join(ROOT, file), join(copy, file));
  try {
    await act();
  } finally {
    await writeFile(join(copy, file), kept);
  }
}

test("each recipe is a row of CONTRIBUTING.md, and edits only files that the row names", async () => {
  const rows = (await readFile(join(ROOT, "CONTRIBUTING.md"), "utf8")).split("\n");
  for (const { adds, edits } of recipes) {
    const row = rows.find((line) => line.startsWith(`| ${adds} |`)) ?? "";
    const named = [...row.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name.replace(/<\w+>.*$/, ""));
    const unnamed = edits.filter(({ file }) => !named.some((name) => file.includes(name)));
    expect([adds, unnamed.map(({ file }) => file)]).toEqual([adds, []]);
  }
});

test("with all recipes the types, the house rules and the lists are right", async () => {
  await types();
  await lists(LISTS);
});

test("the new provider has an adapter that is safe for money, and is offered when it is configured", async () => {
  const places = [
    "services/media-generation/src/providers/recipe",
    "apps/all-in-one/src/installation/sandbox",
  ];
  await bootstrapped("scripts/test.ts", places);
});

test("the new route is served and described, and spends nothing", async () => {
  const described = ["test/contract/description", "test/prices/every-route"];
  await bootstrapped("scripts/test.ts", described, { UPDATE_OPENAPI: "1" });
  const api = JSON.parse(await readFile(join(copy, "docs/openapi.json"), "utf8"));
  expect(Object.keys(api.paths)).toContain("/v1/recipe");
});

test.each([
  ["docs/errors.md", ERRORS, "docs/errors.md › has one row for each reason"],
  ["docs/console-api.md", CONSOLE_ROUTES, "docs/console-api.md lists every route as the table has it"],
  ["docs/operations.md", PROVIDERS, "docs/operations.md says of each provider"],
  ["deploy/base/media-generation.yaml", DEPLOYMENT, "every provider can be switched on by its key"],
  ["services/catalog/src/test/golden-prices.ts", PRICES, "services/catalog/src/golden-prices.test.ts"],
])("a forgotten edit of %s is noticed", async (file, list, notice) => {
  await without(file, () => expect(lists([list])).rejects.toThrow(notice));
});

test.each(["services/keys/src/api/rpc.ts", "services/console/src/routes/account/member-routes.ts"])(
  "a forgotten handler in %s is noticed",
  async (file) => {
    await without(file, () => expect(types()).rejects.toThrow("'readRecipe' is missing"));
  },
);
