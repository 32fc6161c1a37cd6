// Guarantees of headers that only the console receives: cookies, the origin of a page, and the gateway's own network
// header.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { call } from "./test/call.ts";
import type { Seen } from "./test/fake-modules.ts";
import { type Ring, startRing, topologies } from "./test/ring.ts";

describe.each(topologies)("%s", (topology) => {
  let ring: Ring;
  beforeAll(async () => {
    ring = await startRing(topology);
  });
  afterAll(() => ring.stop());

  const headers = {
    cookie: "gr_session=1",
    origin: "http://a.example",
    "sec-fetch-site": "same-origin",
    "x-client-network": "203.0.113.7",
  };

  test("the console sees cookie and origin, and the network is that of the connection", async () => {
    const { status, body } = await call(`${ring.baseUrl}/console/api/session`, { headers });
    expect(status).toBe(200);
    expect((body as Seen).headers).toMatchObject({ ...headers, "x-client-network": "127.0.0.1" });
    expect((body as Seen).principal).toBeNull();
  });

  test("no other module sees any of them", async () => {
    const key = ring.keys.add("normal").secret;
    const { body } = await call(`${ring.baseUrl}/v1/credits`, { headers, key });
    for (const name of Object.keys(headers)) expect((body as Seen).headers).not.toHaveProperty(name);
  });

  test("the description of the public API has none of the console's routes", async () => {
    const { body } = await call(`${ring.baseUrl}/openapi.json`);
    const paths = Object.keys((body as { paths: object }).paths);
    expect(paths).toContain("/v1/credits");
    expect(paths.filter((path) => path.startsWith("/console"))).toEqual([]);
  });
});
