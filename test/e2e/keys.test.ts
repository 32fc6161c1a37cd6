// The life of a key from its owner's view, through the whole router: minted, limited, used, changed, expired, deleted.

import { creditsOf, formatCredits } from "@gr/money";
import { SpendPeriod } from "@gr/proto/billing";
import { KeyKind } from "@gr/proto/keys";
import { until } from "@gr/testing";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { call } from "./http.ts";
import { keysOf } from "./operator.ts";
import { type Router, startRouter, topologiesByDepth } from "./topology.ts";

const PATIENCE = { timeoutMs: 60_000 };
/** Long enough for a slow machine to mint a key with that expiry, short enough to wait for. */
const SOON_MS = 10_000;

const image = {
  model: "sandbox/image",
  prompt: "a kite",
  size: "1024x1024",
  response_format: "b64_ephemeral",
};

const chat = { model: "sandbox/chat", messages: [{ role: "user", content: "hi" }], max_tokens: 16 };

/** Routes that admit a normal key or a web token; spending ones first. */
const doors = [
  ["POST", "/v1/compat/images/generations", image],
  ["POST", "/v1/compat/chat/completions", chat],
  ["POST", "/v1/compat/responses", { model: "sandbox/chat", input: "hi", max_output_tokens: 16 }],
  ["POST", "/v1/auth/test", undefined],
  ["GET", "/v1/credits", undefined],
  ["GET", "/v1/models", undefined],
] as const;

/** Routes that admit a management key only. */
const managementDoors = [
  ["POST", "/v1/api-keys", { name: "k" }],
  ["GET", "/v1/api-keys", undefined],
  ["DELETE", "/v1/api-keys/no-such-key", undefined],
] as const;

describe.each(topologiesByDepth)("keys (%s)", (topology) => {
  let router: Router;
  beforeAll(async () => {
    router = await startRouter(topology, { inProcess: true });
  });
  afterAll(async () => {
    await router?.dispose();
  });

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

  test("an expired key is refused with its expiry, for reading and for spending", async () => {
    const end = Date.now() + SOON_MS;
    const expiresAt = new Date(end).toISOString();
    const { status, body: minted } = await mint({ name: "brief", expires_at: expiresAt });
    expect(status).toBe(201);
    await until(() => Date.now() > end, PATIENCE);
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

  const through = async (which: typeof doors | typeof managementDoors, key: string) => {
    const answers = [];
    for (const [method, path, body] of which) answers.push(await call(router, method, path, { key, body }));
    return answers;
  };
  const codes = (answers: Awaited<ReturnType<typeof through>>) =>
    answers.map(({ status, body }) => [status, body.error?.code]);

  test("what an operator changes of a key holds everywhere when it is answered", async () => {
    const keys = await keysOf(router.dataDir);
    const { body: minted } = await mint({ name: "changing", spend_limit: 0.01 });
    const update = (change: object) =>
      keys.updateKey({ accountId: router.accountId, keyId: minted.id, ...change });
    const send = () =>
      call(router, "POST", "/v1/compat/images/generations", { key: minted.key, body: image });
    expect((await send()).status).toBe(200);
    expect(await send()).toMatchObject({ status: 402, body: { error: { type: "spend_limit_exceeded" } } });
    await update({ cap: { case: "capCredits", value: 200n } });
    expect((await send()).status).toBe(200);
    expect((await send()).status).toBe(402);
    // Another period begins at zero.
    await update({ period: SpendPeriod.DAY });
    expect((await send()).status).toBe(200);
    await update({ cap: { case: "noCap", value: true } });
    for (let round = 0; round < 2; round += 1) {
      expect(codes(await through(doors, minted.key))).toEqual(doors.map(() => [200, undefined]));
      await update({ active: false });
      expect(codes(await through(doors, minted.key))).toEqual(doors.map(() => [401, "invalid_api_key"]));
      await update({ active: true });
    }
    expect(
      (await call(router, "GET", "/v1/api-keys", { key: router.managementKey })).body.data[0],
    ).toMatchObject({ id: minted.id, is_active: true, spend_limit: null, spend_limit_period: null });
  });

  test("a key with allow-lists uses and lists the models that it allows, and follows each change", async () => {
    const keys = await keysOf(router.dataDir);
    const { body: minted } = await mint({ name: "bound", allowed_models: ["sandbox/cha*"] });
    const isText = doors.map(([, path]) => /chat|responses/.test(path));
    const isMedia = doors.map(([, path]) => path.includes("images"));
    const refused = (which: readonly boolean[]) =>
      doors.map((_, at) => (which[at] ? [403, "model_not_allowed"] : [200, undefined]));
    expect(codes(await through(doors, minted.key))).toEqual(refused(isMedia));
    const listed = async () => {
      const { body } = await call(router, "GET", "/v1/compat/models?type=all", { key: minted.key });
      return body.data.map(({ id }: { id: string }) => id);
    };
    expect(await listed()).toContain("sandbox/chat");
    expect(await listed()).not.toContain("sandbox/image");
    await keys.updateKey({
      ...{ accountId: router.accountId, keyId: minted.id },
      models: { case: "allowedModels", value: { names: ["sandbox/image"] } },
    });
    expect(await listed()).toEqual(["sandbox/image"]);
    // Spending routes reuse the verification of a key for some seconds.
    const expected = JSON.stringify(refused(isText));
    await until(async () => JSON.stringify(codes(await through(doors, minted.key))) === expected, PATIENCE);
    const { body: used } = await call(router, "GET", "/v1/credits?by_api_key=true");
    const usage = used.usage_by_api_key.find((one: { api_key_id: string }) => one.api_key_id === minted.id);
    expect(usage.total_requests).toBeGreaterThanOrEqual(3);
  });

  test("a management key that is disabled or was deleted manages nothing; its keys stay valid", async () => {
    const keys = await keysOf(router.dataDir);
    const { accountId } = router;
    const minted = await keys.mintKey({ accountId, name: "second", kind: KeyKind.MANAGEMENT });
    const secret = minted.secret;
    const keyId = minted.key?.keyId ?? "";
    const created = await call(router, "POST", "/v1/api-keys", { key: secret, body: { name: "made" } });
    const all = (code: string) => managementDoors.map(() => [401, code]);
    await keys.updateKey({ accountId, keyId, active: false });
    expect(codes(await through(managementDoors, secret))).toEqual(all("invalid_api_key"));
    await keys.updateKey({ accountId, keyId, active: true });
    expect((await call(router, "GET", "/v1/api-keys", { key: secret })).status).toBe(200);
    await keys.deleteKey({ accountId, keyId, kind: KeyKind.MANAGEMENT });
    expect(codes(await through(managementDoors, secret))).toEqual(all("invalid_api_key"));
    expect((await call(router, "POST", "/v1/auth/test", { key: created.body.key })).status).toBe(200);
  });

  test("a web token spends from the account, as one entry of the usage, and manages nothing", async () => {
    const keys = await keysOf(router.dataDir);
    const { accountId } = router;
    const issued = await keys.issueWebToken({ accountId, lifetimeMs: 60_000n });
    const token = issued.token;
    const tested = await call(router, "POST", "/v1/auth/test", { key: token });
    expect({ status: tested.status, body: tested.body }).toEqual({
      status: 200,
      body: {
        success: true,
        api_key: {
          id: "web_token",
          name: "Temporary web token",
          expires_at: new Date(Number(issued.expiresAt)).toISOString(),
        },
      },
    });
    const before = (await call(router, "GET", "/v1/credits", { key: token })).body;
    const spent = (await through(doors, token)).slice(0, 3);
    expect(codes(spent)).toEqual(spent.map(() => [200, undefined]));
    const refused = await through(managementDoors, token);
    expect(codes(refused)).toEqual(managementDoors.map(() => [401, "wrong_key_kind"]));
    for (const { body } of refused) expect(body.error.message).toMatch(/management key is required/i);

    const { body: after } = await call(router, "GET", "/v1/credits?by_api_key=true", { key: token });
    const charged = spent.reduce((total, { body }) => total + creditsOf(String(body.cost)), 0n);
    expect(creditsOf(after.credit_usage) - creditsOf(before.credit_usage)).toBe(charged);
    const entries = after.usage_by_api_key.filter((entry: { api_key_id: string }) =>
      ["web_token", accountId].includes(entry.api_key_id),
    );
    expect(entries).toEqual([
      {
        api_key_id: "web_token",
        api_key_name: "Temporary web token",
        credit_usage: formatCredits(charged),
        total_requests: 3,
        created_at: null,
        is_active: false,
        spend_limit: null,
        spend_limit_period: null,
        period_spend: formatCredits(charged),
        period_start: null,
        expires_at: null,
      },
    ]);

    for (const forged of [`${token.slice(0, -1)}${token.endsWith("A") ? "Q" : "A"}`, `${token}x`]) {
      expect(codes(await through(doors, forged))).toEqual(doors.map(() => [401, "invalid_api_key"]));
    }
  });
});
