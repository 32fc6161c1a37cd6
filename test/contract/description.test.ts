// The description at /openapi.json passes the tools of its readers: a linter has no finding, and a generated client
// compiles and works.
import { execFile } from "node:child_process";
import { copyFile, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Router, startRouter } from "../e2e/topology.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const here = (file: string) => fileURLToPath(new URL(file, import.meta.url));
const PATH = [join(ROOT, "node_modules/.bin"), join(process.execPath, ".."), process.env["PATH"]].join(
  delimiter,
);

let router: Router;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "generation-router-client-"));
  router = await startRouter("all-in-one", { inProcess: true });
  const answer = await fetch(`${router.baseUrl}/openapi.json`);
  await writeFile(join(folder, "openapi.json"), await answer.text());
});
afterAll(async () => {
  await router?.dispose();
  await rm(folder, { recursive: true, force: true });
});

test("docs/openapi.json is the description; UPDATE_OPENAPI=1 rewrites it", async () => {
  const kept = join(ROOT, "docs/openapi.json");
  const served = JSON.parse(await readFile(join(folder, "openapi.json"), "utf8"));
  const text = `${JSON.stringify(served, null, 2)}\n`;
  if (process.env["UPDATE_OPENAPI"] === "1") await writeFile(kept, text);
  expect((await readFile(kept, "utf8")).split("\n")).toEqual(text.split("\n"));
});

test("each group of operations has a name for people", async () => {
  const { paths, tags } = JSON.parse(await readFile(join(folder, "openapi.json"), "utf8"));
  const operations = Object.values<Record<string, { tags: string[] }>>(paths).flatMap((item) =>
    Object.values(item),
  );
  const used = new Set(operations.flatMap((operation) => operation.tags));
  const named = tags.map((tag: Record<string, string>) => [tag["name"], typeof tag["x-displayName"]]);
  expect(named.toSorted()).toEqual([...used].toSorted().map((name) => [name, "string"]));
});

test("Redocly finds nothing to complain of", async () => {
  const { lint, loadConfig } = await import("@redocly/openapi-core");
  const config = await loadConfig({ configPath: here("redocly.yaml") });
  const problems = await lint({ ref: join(folder, "openapi.json"), config });
  expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual(
    [],
  );
});

test("a client that is generated from it compiles, and what it is told is so", async () => {
  await copyFile(here("generated/client.ts"), join(folder, "client.ts"));
  await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
  await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  const compilerOptions = {
    ...{ noEmit: true, composite: false, declaration: false, emitDeclarationOnly: false },
    ...{ rootDir: folder, allowImportingTsExtensions: true, rewriteRelativeImportExtensions: false },
  };
  const config = { extends: join(ROOT, "tsconfig.base.json"), compilerOptions, files: ["client.ts"] };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
  await tool("openapi-typescript", "openapi.json", "--output", "api.ts");
  await tool("tsc", "--project", "tsconfig.json");

  const report = JSON.parse(await tool(process.execPath, "client.ts"));
  expect(report.chat).toMatchObject({
    text: expect.stringContaining("“Is the sea blue?”"),
    tokens: expect.any(Number),
    cost: expect.any(Number),
    requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
  const { events } = report.chat as { events: string[] };
  expect(events.at(-1)).toBe("data: [DONE]");
  expect(JSON.parse(events.at(-2)?.slice("data: ".length) ?? "")).toMatchObject({
    usage: { cost: expect.any(Number) },
  });
  expect(report.images).toEqual({
    urls: 2,
    cost: expect.any(Number),
    type: "image/png",
    bytes: expect.any(Number),
    edited: 1,
  });
  expect(report.generations).toEqual({ listed: 2, model: "sandbox/image-edit", cost: expect.any(Number) });
  expect(report.models).toEqual({ listed: 3, found: "sandbox/image" });
  expect(report.keys).toEqual({ secret: true, listed: true, deleted: true });
  expect(report.others).toEqual({ response: "response", job: "video", receivers: 0 });
  expect(report.refusals).toEqual(["model_not_found", "model", "unauthorized"]);
  expect(report.money).toEqual({
    cost: expect.any(Number),
    remaining: expect.stringMatching(/^\d+\.\d{4}$/),
    keys: expect.any(Number),
  });
});

/** Runs in the folder, with the client's environment. @throws with the printed output */
async function tool(program: string, ...args: readonly string[]): Promise<string> {
  const { baseUrl: BASE_URL, apiKey: API_KEY, managementKey: MANAGEMENT_KEY } = router;
  const env = { PATH, BASE_URL, API_KEY, MANAGEMENT_KEY };
  try {
    return (await promisify(execFile)(program, args, { cwd: folder, env })).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${program} failed: ${stdout}${stderr}`);
  }
}
