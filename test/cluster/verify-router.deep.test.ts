// The program that verifies a router in a cluster finds nothing wrong with one that is right.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Router, startRouter } from "../e2e/topology.ts";
import { verifyRouter } from "./verify-router.ts";

let router: Router;
beforeAll(async () => {
  router = await startRouter("split");
});
afterAll(async () => {
  await router?.dispose();
});

test("a router whose services are processes of their own passes every step", async () => {
  const { rpc_urls: urls, internal_auth_secret: secret } = JSON.parse(
    await readFile(join(router.dataDir, "runtime.json"), "utf8"),
  );
  const steps: string[] = [];
  const place = { baseUrl: router.baseUrl, keysRpcUrl: urls.keys, billingRpcUrl: urls.billing, secret };
  await verifyRouter(place, (step) => steps.push(step));
  expect(steps).toHaveLength(6);
});
