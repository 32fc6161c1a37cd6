// The program that verifies a router in a cluster finds no fault in a correct router.
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer } from "node:net";
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

/** Starts a proxy that cuts off its first callers, like the network of a new pod. @returns its URL, end, and count of calls */
async function shutAtFirst(url: string, times: number) {
  let calls = 0;
  const front = createServer((caller) => {
    calls += 1;
    caller.on("error", () => undefined);
    if (calls <= times) {
      caller.destroy();
      return;
    }
    const { hostname, port } = new URL(url);
    const behind = connect(Number(port), hostname);
    behind.on("error", () => caller.destroy());
    caller.once("close", () => behind.destroy());
    caller.pipe(behind).pipe(caller);
  });
  await once(front.listen(0, "127.0.0.1"), "listening");
  const { port } = front.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, end: () => front.close(), calls: () => calls };
}

test("a router whose services are processes of their own passes every step, once it can be reached", async () => {
  const { rpc_urls: urls, internal_auth_secret: secret } = JSON.parse(
    await readFile(join(router.dataDir, "runtime.json"), "utf8"),
  );
  const fronts = await Promise.all(
    [router.baseUrl, urls.keys, urls.billing].map((url) => shutAtFirst(url, 2)),
  );
  const [gateway, keys, billing] = fronts.map(({ url }) => url);
  const place = { baseUrl: gateway ?? "", keysRpcUrl: keys ?? "", billingRpcUrl: billing ?? "", secret };
  const steps: string[] = [];
  try {
    await verifyRouter(place, (step) => steps.push(step));
  } finally {
    for (const { end } of fronts) end();
  }
  expect(steps).toHaveLength(6);
  for (const { calls } of fronts) expect(calls()).toBeGreaterThan(2);
});
