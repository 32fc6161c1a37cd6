// Clients for Python, unchanged, against the router.
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Router, startRouter } from "../e2e/topology.ts";
import { expectKept, reportOf } from "./contract.ts";
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

test.each([
  ["openai", "openai_client.py"],
  ["LangChain", "langchain_client.py"],
  ["LiteLLM", "litellm_client.py"],
])("%s sees what it should, and its account is charged what the upstream billed", async (_client, file) => {
  const script = fileURLToPath(new URL(`./python/${file}`, import.meta.url));
  // Python writes no cache beside the scripts.
  await expectKept(router, [python, "-B", script]);
});

test("LiteLLM makes an image and edits it", async () => {
  const script = fileURLToPath(new URL("./python/litellm_images.py", import.meta.url));
  expect(await reportOf(router, [python, "-B", script])).toEqual({ formats: ["WEBP", "WEBP"] });
});
