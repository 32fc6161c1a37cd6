// Each sample for a shell or for JavaScript in README and in the guides runs as it is written, against one router. The
// account pays exactly the bill of its provider.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { ROOT } from "../../scripts/tool.ts";
import { expectPaid } from "../e2e/expect-paid.ts";
import { type Router, startRouter } from "../e2e/topology.ts";
import { DOCUMENTED_URL, GUIDES, isForOperators, runSamples, samplesOf } from "./samples.ts";

/** Blocks that other tests use: programs in Python, clients with their settings, output. */
const ELSEWHERE = ["python", "diff", "toml", "json", "yaml", "text"];

let router: Router;
beforeAll(async () => {
  router = await startRouter("all-in-one", { sharedPostgres: true });
});
afterAll(() => router?.dispose());

const inShell = async (path: string) =>
  (await samplesOf(path)).filter((sample) => sample.language === "sh" && !isForOperators(sample));
const inJavaScript = async (path: string) =>
  (await samplesOf(path)).filter(({ language }) => language === "js");

test.each(["README.md", "docs/api.md"])("the commands of %s work in an empty folder", async (path) => {
  const samples = await inShell(path);
  expect(samples.length).toBeGreaterThan(0);
  await expectPaid(router, () => runSamples(router, samples, "bash"));
});

test.each([
  ["docs/api.md", /\nsucceeded http[\s\S]*\ntrue\n/],
  ["docs/clients.md", /“Describe a lighthouse\.”/],
])("the JavaScript of %s works as one file", async (path, printed) => {
  const samples = await inJavaScript(path);
  const output = await expectPaid(router, () => runSamples(router, samples, process.execPath));
  expect(output).toMatch(printed);
});

describe.each(GUIDES)("%s", (path) => {
  test("has no sample in a language that no test runs", async () => {
    const known = ["sh", "js", ...ELSEWHERE];
    const others = (await samplesOf(path)).filter(({ language }) => !known.includes(language));
    expect(others.map(({ line, language }) => `${path}:${line} ${language}`)).toEqual([]);
  });
});

test("a command of a document that fails is reported with its line", async () => {
  const sample = { language: "sh", section: "", before: "", text: `curl ${DOCUMENTED_URL}/v1/no/such` };
  const samples = [
    { ...sample, line: 7, text: "true" },
    { ...sample, line: 9 },
  ];
  await expect(runSamples(router, samples, "bash")).rejects.toThrow(/line 7\nline 9\n[\s\S]*404/);
});

test("README shows the lines that the router prints at its start", async () => {
  const readme = await readFile(join(ROOT, "README.md"), "utf8");
  const shown = /```text\n([\s\S]*?)```/.exec(readme)?.[1]?.trim().split("\n") ?? [];
  const printed = router.output().replaceAll(router.baseUrl, DOCUMENTED_URL);
  expect(shown.length).toBeGreaterThan(1);
  for (const line of shown) expect(printed).toContain(line.trim());
});

test("the router serves each document that /llms.txt lists, compressed and with a tag", async () => {
  const overview = await (await fetch(`${router.baseUrl}/llms.txt`)).text();
  const paths = [...overview.matchAll(/\]\((\/[^)]+)\)/g)].map(([, path = ""]) => path);
  expect(paths).toEqual(expect.arrayContaining(["/docs/api.md", "/docs/clients.md", "/docs/errors.md"]));
  for (const path of [...paths, "/docs/api", "/docs/clients", "/docs/errors"]) {
    const { status, headers } = await fetch(router.baseUrl + path);
    expect([path, status]).toEqual([path, 200]);
    if (!path.startsWith("/docs/")) continue;
    expect([path, headers.get("content-encoding")]).toEqual([path, "br"]);
    expect(headers.get("etag")).toMatch(/"/);
  }
});
