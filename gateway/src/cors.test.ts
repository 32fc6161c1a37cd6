// Browsers may call the API from any page, with a key that the page's script sends.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { call } from "./test/call.ts";
import { type Ring, startRing, topologies } from "./test/ring.ts";

const CHAT = "/v1/compat/chat/completions";

describe.each(topologies)("CORS, %s", (topology) => {
  let ring: Ring;
  beforeAll(async () => {
    ring = await startRing(topology);
  });
  afterAll(() => ring.stop());

  test("a preflight is answered without a key, without asking anybody", async () => {
    const before = ring.keys.lookUps;
    const answer = await call(`${ring.baseUrl}${CHAT}`, {
      method: "OPTIONS",
      headers: {
        origin: "https://page.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type,idempotency-key",
      },
    });
    expect(answer.status).toBe(204);
    expect(answer.headers.get("access-control-allow-origin")).toBe("*");
    expect(answer.headers.get("access-control-allow-headers")).toContain("authorization");
    expect(answer.headers.get("access-control-allow-methods")).toContain("DELETE");
    expect(answer.headers.get("access-control-max-age")).toBe("86400");
    expect(answer.headers.get("access-control-allow-credentials")).toBeNull();
    expect(answer.headers.get("x-request-id")).not.toBeNull();
    expect(ring.keys.lookUps).toBe(before);
  });

  test("no page of another origin may call the console's API", async () => {
    for (const method of ["OPTIONS", "GET"]) {
      const { headers } = await call(`${ring.baseUrl}/console/api/session`, {
        method,
        headers: { origin: "https://page.example", "access-control-request-method": "POST" },
      });
      expect([method, headers.get("access-control-allow-origin")]).toEqual([method, null]);
    }
  });

  test("answers and errors may be read by the page, with their request id", async () => {
    for (const path of ["/v1/models", "/v1/credits", "/nowhere"]) {
      const { headers } = await call(`${ring.baseUrl}${path}`, {
        headers: { origin: "https://page.example" },
      });
      expect(headers.get("access-control-allow-origin")).toBe("*");
      const exposed = headers.get("access-control-expose-headers")?.split(", ");
      expect(exposed).toEqual(
        expect.arrayContaining(["x-request-id", "retry-after", "x-ratelimit-remaining-requests"]),
      );
    }
  });
});
