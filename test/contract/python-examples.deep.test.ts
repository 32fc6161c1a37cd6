// The examples for Python against the router, with the pinned packages of the Python clients.
import { join } from "node:path";
import { afterAll, beforeAll, test } from "@jest/globals";
import { ROOT } from "../../scripts/tool.ts";
import { type Router, startRouter } from "../e2e/topology.ts";
import { examples, expectExample } from "./examples.ts";
import { clientPython, INSTALL_MS } from "./python-environment.ts";

let router: Router;
let python: string;
beforeAll(async () => {
  python = await clientPython();
  router = await startRouter("all-in-one", { sharedPostgres: true });
}, INSTALL_MS);
afterAll(async () => {
  await router?.dispose();
});

test.each(examples)("%s prints its result in Python, and its account pays the bill", async (name) => {
  const script = join(ROOT, "examples", `${name.replaceAll("-", "_")}.py`);
  // Nothing is written beside the programs.
  await expectExample(router, name, [python, "-B", script]);
});
