// Clients for Node, unchanged, against the router.
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, test } from "@jest/globals";
import { type Router, startRouter } from "../e2e/topology.ts";
import { expectKept } from "./contract.ts";

let router: Router;
beforeAll(async () => {
  router = await startRouter("all-in-one", { inProcess: true });
});
afterAll(async () => {
  await router?.dispose();
});

test.each([
  ["openai", "openai.ts", []],
  ["the AI SDK with @ai-sdk/openai", "ai-sdk.ts", ["openai"]],
  ["the AI SDK with @ai-sdk/openai-compatible", "ai-sdk.ts", ["compatible"]],
  ["LangChain", "langchain.ts", []],
])(
  "%s sees what it should, and its account is charged what the upstream billed",
  async (_client, file, args) => {
    await expectKept(router, [
      process.execPath,
      fileURLToPath(new URL(`./node/${file}`, import.meta.url)),
      ...args,
    ]);
  },
);
