// Each sample in Python of README and of the guides runs as it is written, with the pinned packages of the clients in
// Python.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { clientPython, INSTALL_MS } from "../contract/python-environment.ts";
import { expectPaid } from "../e2e/expect-paid.ts";
import { type Router, startRouter } from "../e2e/topology.ts";
import { changedProgram, runSamples, samplesOf } from "./samples.ts";

let router: Router;
let python: string;
beforeAll(async () => {
  python = await clientPython();
  router = await startRouter("all-in-one", { sharedPostgres: true });
}, INSTALL_MS);
afterAll(() => router?.dispose());

test.each(["docs/api.md", "docs/clients.md"])("the Python of %s works as one file", async (path) => {
  const samples = (await samplesOf(path)).filter(({ language }) => language === "python");
  expect(samples.length).toBeGreaterThan(0);
  await expectPaid(router, () => runSamples(router, samples, python));
});

test("the changed application in README works", async () => {
  const diffs = (await samplesOf("README.md")).filter(({ language }) => language === "diff");
  expect(diffs).toHaveLength(1);
  const samples = diffs.map((sample) => ({ ...sample, language: "python", text: changedProgram(sample) }));
  const output = await expectPaid(router, () => runSamples(router, samples, python));
  expect(output).toMatch(/\S/);
});
