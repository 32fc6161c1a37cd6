// The life of a key as its owner sees it, in both topologies: minted, capped, used, deleted, refused.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { call } from "./http.ts";
import { type Router, startRouter, topologies } from "./topology.ts";

const image = {
  model: "sandbox/image",
  prompt: "a kite",
  size: "1024x1024",
  response_format: "b64_ephemeral",
};

describe.each(topologies)("keys (%s)", (topology) => {
  let router: Router;
  beforeAll(async () => {
    router = await startRouter(topology);
  }, 90_000);
  afterAll(async () => {
    await router?.dispose();
  }, 60_000);

  const mint = async (body: object) =>
    call(router, "POST", "/v1/api-keys", { key: router.managementKey, body });

  test("a minted key works until it is deleted, and not one request longer", async () => {
    const minted = await mint({ name: "short-lived" });
    expect(minted.status).toBe(201);
    const { id, key } = minted.body;
    const tested = await call(router, "POST", "/v1/auth/test", { key });
    expect(tested.body).toEqual({
      success: true,
      api_key: { id, name: "short-lived", expires_at: null },
    });
    expect((await call(router, "POST", "/v1/compat/images/generations", { key, body: image })).status).toBe(
      200,
    );
    const deleted = await call(router, "DELETE", `/v1/api-keys/${id}`, { key: router.managementKey });
    expect(deleted).toMatchObject({ status: 200, body: { id, deleted: true } });
    for (const [method, path, body] of [
      ["POST", "/v1/compat/images/generations", image],
      [
        "POST",
        "/v1/compat/chat/completions",
        { model: "sandbox/chat", messages: [{ role: "user", content: "hi" }] },
      ],
      ["POST", "/v1/auth/test", undefined],
      ["GET", "/v1/credits", undefined],
    ] as const) {
      const refused = await call(router, method, path, { key, body });
      expect({ path, status: refused.status, type: refused.body.error.type }).toEqual({
        path,
        status: 401,
        type: "unauthorized",
      });
    }
    const again = await call(router, "DELETE", `/v1/api-keys/${id}`, { key: router.managementKey });
    expect(again).toMatchObject({
      status: 404,
      body: { error: { type: "invalid_request_error", param: "id" } },
    });
  });

  test("40 parallel requests on a key with a cap for 7 are paid exactly 7 times", async () => {
    const { body: minted } = await mint({ name: "capped", spend_limit: 0.07 });
    const answers = await Promise.all(
      Array.from({ length: 40 }, () =>
        call(router, "POST", "/v1/compat/images/generations", { key: minted.key, body: image }),
      ),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(7);
    expect(statuses.filter((status) => status === 402)).toHaveLength(33);
    const { body: credits } = await call(router, "GET", "/v1/credits?by_api_key=true");
    const usage = credits.usage_by_api_key.find(
      (entry: { api_key_id: string }) => entry.api_key_id === minted.id,
    );
    expect(usage).toMatchObject({
      credit_usage: "0.0700",
      total_requests: 7,
      spend_limit: "0.0700",
      is_active: true,
    });
  });

  test("each kind of key is refused where the other belongs", async () => {
    const normalOnManagement = await call(router, "GET", "/v1/api-keys");
    expect(normalOnManagement).toMatchObject({ status: 401, body: { error: { type: "unauthorized" } } });
    expect(normalOnManagement.body.error.message).toMatch(/management key is required/i);
    const managementOnNormal = await call(router, "GET", "/v1/credits", { key: router.managementKey });
    expect(managementOnNormal).toMatchObject({ status: 401, body: { error: { type: "unauthorized" } } });
  });

  test("an expired key is refused with its expiry, for reading and for spending", async () => {
    const expiresAt = new Date(Date.now() + 1_500).toISOString();
    const { body: minted } = await mint({ name: "brief", expires_at: expiresAt });
    await new Promise((resolve) => setTimeout(resolve, 1_700));
    for (const path of ["/v1/auth/test", "/v1/compat/images/generations"]) {
      const refused = await call(router, "POST", path, { key: minted.key, body: image });
      expect({ path, status: refused.status, code: refused.body.error.code }).toEqual({
        path,
        status: 401,
        code: "api_key_expired",
      });
      expect(refused.body.error.message).toContain(expiresAt);
    }
  });

  test("a refused request costs nothing and reaches no provider", async () => {
    const before = (await call(router, "GET", "/v1/credits")).body;
    const billBefore = await (await fetch(`${router.simulatorUrl}/bill`)).text();
    const refusals = await Promise.all([
      call(router, "POST", "/v1/compat/images/generations", { body: { ...image, size: "7x7" } }),
      call(router, "POST", "/v1/compat/images/generations", { body: { ...image, model: "no/such" } }),
      call(router, "POST", "/v1/compat/images/generations", { body: "{" }),
      call(router, "POST", "/v1/compat/chat/completions", { body: { model: "sandbox/chat", messages: [] } }),
      call(router, "POST", "/v1/compat/chat/completions", {
        body: { model: "sandbox/image", messages: [{ role: "user", content: "x" }] },
      }),
      call(router, "POST", "/v1/compat/chat/completions", {
        body: {
          model: "sandbox/chat",
          messages: [
            {
              role: "user",
              content: [{ type: "image_url", image_url: { url: "https://example.com/a.png" } }],
            },
          ],
        },
      }),
    ]);
    expect(refusals.map(({ status, body }) => [status, body.error.code])).toEqual([
      [400, "invalid_value"],
      [404, "model_not_found"],
      [400, "invalid_json"],
      [400, "invalid_value"],
      [400, "wrong_endpoint"],
      [400, "vision_not_supported"],
    ]);
    expect((await call(router, "GET", "/v1/credits")).body).toEqual(before);
    expect(await (await fetch(`${router.simulatorUrl}/bill`)).text()).toBe(billBefore);
  });

  test("every answer carries a request id, and unknown paths and methods have our envelope", async () => {
    const unknown = await call(router, "GET", "/v1/nothing", { key: null });
    expect(unknown).toMatchObject({ status: 404, body: { error: { type: "invalid_request_error" } } });
    const method = await call(router, "PUT", "/v1/credits");
    expect(method.status).toBe(405);
    for (const { headers } of [unknown, method])
      expect(headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  });
});
