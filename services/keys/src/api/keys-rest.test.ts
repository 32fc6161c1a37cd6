// Guarantees of the module's REST paths, called as the gateway calls them: over HTTP with a signed principal.
import { randomUUID } from "node:crypto";
import { ServiceError } from "@gr/proto";
import { SpendPeriod } from "@gr/proto/billing";
import { KeyKind } from "@gr/proto/keys";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { addKeys } from "../test/many-keys-store.ts";
import { type KeysUnderTest, startKeys } from "../test/start-keys.ts";

type Principal = { accountId: string; keyId: string; kind: "normal" | "management" };

let world: KeysUnderTest;
let owner: Principal;

beforeAll(async () => {
  world = await startKeys();
});
afterAll(async () => {
  await world?.stop();
});
beforeEach(async () => {
  world.billing.beforePutSpender = async () => undefined;
  owner = await newOwner();
});

async function newOwner(): Promise<Principal> {
  const { accountId } = await world.keys.createAccount({ name: "Acme" });
  const { key } = await world.keys.mintKey({ accountId, name: "owner", kind: KeyKind.MANAGEMENT });
  return { accountId, keyId: key?.keyId ?? "", kind: "management" };
}

const mint = (body: string | object) => world.rest("POST", "/v1/api-keys", owner, body);
const list = (as = owner) => world.rest("GET", "/v1/api-keys", as);
const as = (keyId: string): Principal => ({ accountId: owner.accountId, keyId, kind: "normal" });

describe("POST /v1/api-keys", () => {
  test("answers every field of a key, and its secret", async () => {
    const expiresAt = new Date(world.clock.now() + 60_000).toISOString();
    const { status, body, headers } = await mint({
      name: "Ünïcode 🔑",
      spend_limit: 12.3456,
      spend_limit_period: "month",
      expires_at: expiresAt,
    });
    expect(status).toBe(201);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      name: "Ünïcode 🔑",
      key: expect.stringMatching(/^gr_live_[0-9A-Za-z]{36}$/),
      created_at: new Date(world.clock.now()).toISOString(),
      is_active: true,
      is_management: false,
      spend_limit: 12.3456,
      spend_limit_period: "month",
      expires_at: expiresAt,
    });
    expect(world.billing.spenders.at(-1)).toMatchObject({
      spenderId: body.id,
      accountId: owner.accountId,
      capCredits: 123_456n,
      period: SpendPeriod.MONTH,
      expiresAt: BigInt(Date.parse(expiresAt)),
      active: true,
    });
    const verified = await world.keys.verifyKey({ secret: body.key });
    expect(verified.key).toMatchObject({ keyId: body.id, kind: KeyKind.NORMAL });
  });

  test("with a name alone makes a key without cap, period and expiry", async () => {
    const { body } = await mint({ name: "plain" });
    expect(body).toMatchObject({ spend_limit: null, spend_limit_period: null, expires_at: null });
    const { capCredits, period, expiresAt } = world.billing.spenders.at(-1) ?? {};
    expect({ capCredits, period, expiresAt }).toEqual({
      capCredits: undefined,
      period: SpendPeriod.LIFETIME,
      expiresAt: undefined,
    });
  });

  test("with a default response_format makes a key that says so, in each list and verification", async () => {
    const { status, body } = await mint({ name: "pictures", default_response_format: "b64_json" });
    expect([status, body.default_response_format]).toEqual([201, "b64_json"]);
    const { key: secret, ...record } = body;
    expect((await list()).body.data).toEqual([record]);
    expect((await world.keys.verifyKey({ secret })).responseFormat).toBe("b64_json");
    expect(await mint({ name: "plain" })).not.toHaveProperty("body.default_response_format");
  });

  test.each(["0", "-0", "0.0001", "0.1", "99999999999.9999", "100000000000"])(
    "a limit of %s is answered as the same JSON number",
    async (json) => {
      const { body } = await mint(`{"name":"k","spend_limit":${json}}`);
      expect(JSON.stringify(body.spend_limit)).toBe(json === "-0" ? "0" : json);
      const { data } = (await list()).body;
      expect(JSON.stringify(data[0].spend_limit)).toBe(json === "-0" ? "0" : json);
    },
  );

  test("an expiry in another zone is answered in UTC with milliseconds", async () => {
    const { body } = await mint({ name: "k", expires_at: "2199-06-01T02:30+02:00" });
    expect(body.expires_at).toBe("2199-06-01T00:30:00.000Z");
  });

  test.each([
    ["name", '{"name":""}'],
    ["spend_limit", '{"name":"k","spend_limit":-1}'],
    ["spend_limit_period", '{"name":"k","spend_limit":1,"spend_limit_period":"year"}'],
    ["spend_limit_period", '{"name":"k","spend_limit_period":"day"}'],
    ["expires_at", '{"name":"k","expires_at":"2001-01-01"}'],
    ["default_response_format", '{"name":"k","default_response_format":"base64"}'],
  ])("a malformed %s gets a 400 that names it, and writes nothing: %s", async (field, json) => {
    const before = world.billing.spenders.length;
    const { status, body } = await mint(json);
    expect({ status, type: body.error.type, param: body.error.param }).toEqual({
      status: 400,
      type: "invalid_request_error",
      param: field,
    });
    expect(world.billing.spenders).toHaveLength(before);
    expect((await list()).body.data).toEqual([]);
  });

  test.each([
    ["{"],
    [""],
    ["[]"],
    ["null"],
    ['{"name":"k",}'],
    ['\ufeff{"name":"k"}x'],
    ['{"__proto__":{}}'],
  ])("the body %j is a 400", async (body) => {
    const answer = await mint(body);
    expect({ status: answer.status, type: answer.body.error.type }).toEqual({
      status: 400,
      type: "invalid_request_error",
    });
  });

  test("when billing fails no key exists, whatever the failure", async () => {
    for (const failure of [
      new Error("a bug"),
      new ServiceError("billing_unavailable", "down", { retryAfterMs: 1_000 }),
      new ServiceError("service_unavailable", "down", { retryAfterMs: 1_000 }),
    ]) {
      world.billing.beforePutSpender = async () => {
        throw failure;
      };
      const answer = await mint({ name: "k" });
      expect({ status: answer.status, error: answer.body.error }).toEqual({
        status: 500,
        error: { message: "Creating the API key failed; try again shortly.", type: "internal_error" },
      });
    }
    expect((await list()).body).toEqual({ data: [] });
  });
});

describe("GET /v1/api-keys", () => {
  test("lists the normal keys of the account, newest first, without secrets", async () => {
    const first = (await mint({ name: "first", spend_limit: 1, spend_limit_period: "day" })).body;
    const second = (await mint({ name: "second" })).body;
    const gone = (await mint({ name: "gone" })).body;
    await world.rest("DELETE", `/v1/api-keys/${gone.id}`, owner);
    await newOwner();
    const { status, body } = await list();
    expect(status).toBe(200);
    const withoutSecret = ({ key: _, ...rest }: Record<string, unknown>) => rest;
    expect(body).toEqual({ data: [withoutSecret(second), withoutSecret(first)] });
  });
});

describe("pages of GET /v1/api-keys", () => {
  const page = async (search: string) => (await world.rest("GET", `/v1/api-keys${search}`, owner)).body;
  const namesOf = ({ data }: { data: { name: string }[] }) => data.map(({ name }) => name);

  test("follow each other, also after a key that was deleted meanwhile", async () => {
    const ids: Record<string, string> = {};
    for (const name of ["first", "second", "third"]) ids[name] = (await mint({ name })).body.id;
    const newest = await page("?limit=2");
    expect([namesOf(newest), newest.has_more]).toEqual([["third", "second"], true]);
    await world.rest("DELETE", `/v1/api-keys/${ids["second"]}`, owner);
    const rest = await page(`?limit=2&after=${ids["second"]}`);
    expect([namesOf(rest), rest.has_more]).toEqual([["first"], undefined]);
  });

  test("are as long as any answer may be, when nobody asks for pages", async () => {
    await addKeys(world.db, owner.accountId, 1_001);
    const { data, has_more: hasMore } = await page("");
    expect([data.length, hasMore]).toEqual([1_000, true]);
    expect((await page(`?after=${data[999].id}`)).data).toHaveLength(1);
  });

  test.each([
    ["limit", "?limit=0"],
    ["limit", "?limit=1001"],
    ["limit", "?limit=x"],
    ["after", "?after=x"],
    ["after", `?after=${randomUUID()}`],
  ])("%s is checked: %s", async (param, search) => {
    expect((await page(search)).error).toMatchObject({ code: "invalid_value", param });
  });

  test("begin after keys of the account only", async () => {
    const { id } = (await mint({ name: "mine" })).body;
    owner = await newOwner();
    expect((await page(`?after=${id}`)).error).toMatchObject({ code: "invalid_value", param: "after" });
  });
});

test("an account has so many keys and no more, until one is deleted", async () => {
  const small = await startKeys({ MAX_KEYS_PER_ACCOUNT: "2" });
  const { accountId } = await small.keys.createAccount({ name: "Small" });
  const manager: Principal = { accountId, keyId: randomUUID(), kind: "management" };
  const ask = () => small.rest("POST", "/v1/api-keys", manager, { name: "k" });
  const first = await ask();
  expect([first.status, (await ask()).status]).toEqual([201, 201]);
  expect(await ask()).toMatchObject({ status: 409, body: { error: { code: "too_many_keys" } } });
  await small.rest("DELETE", `/v1/api-keys/${first.body.id}`, manager);
  expect((await ask()).status).toBe(201);
  await small.stop();
});

describe("DELETE /v1/api-keys/:id", () => {
  test("deletes at once and for good", async () => {
    const { id, key } = (await mint({ name: "k" })).body;
    const deleted = await world.rest("DELETE", `/v1/api-keys/${id}`, owner);
    expect({ status: deleted.status, body: deleted.body }).toEqual({
      status: 200,
      body: { id, deleted: true },
    });
    await expect(world.keys.verifyKey({ secret: key })).rejects.toMatchObject({ reason: "invalid_api_key" });
    expect((await world.rest("DELETE", `/v1/api-keys/${id}`, owner)).status).toBe(404);
  });

  test("a JSON content type without a body does no harm", async () => {
    const { id } = (await mint({ name: "k" })).body;
    expect((await world.rest("DELETE", `/v1/api-keys/${id}`, owner, "")).status).toBe(200);
  });

  test("unknown, foreign, management and malformed ids get the very same 404", async () => {
    const { id } = (await mint({ name: "k" })).body;
    const stranger = await newOwner();
    const answers = await Promise.all([
      world.rest("DELETE", `/v1/api-keys/${randomUUID()}`, owner),
      world.rest("DELETE", `/v1/api-keys/${id}`, stranger),
      world.rest("DELETE", `/v1/api-keys/${owner.keyId}`, owner),
      world.rest("DELETE", "/v1/api-keys/1", owner),
      world.rest("DELETE", "/v1/api-keys/a%2Fb%00", owner),
      world.rest("DELETE", `/v1/api-keys/${"x".repeat(400)}`, owner),
    ]);
    for (const { status, body } of answers) {
      expect(status).toBe(404);
      expect(body).toEqual({
        error: { message: "The API key was not found.", type: "invalid_request_error", param: "id" },
      });
    }
    expect((await list()).body.data).toHaveLength(1);
  });
});

describe("POST /v1/auth/test", () => {
  test("answers the key's id, name and expiry, whatever body is sent", async () => {
    const expires_at = new Date(world.clock.now() + 60_000).toISOString();
    const { id } = (await mint({ name: "mine", expires_at })).body;
    for (const body of [undefined, "", "{}", "{ not json"]) {
      const answer = await world.rest("POST", "/v1/auth/test", as(id), body);
      expect({ status: answer.status, body: answer.body }).toEqual({
        status: 200,
        body: { success: true, api_key: { id, name: "mine", expires_at } },
      });
    }
  });

  test("refuses a key that was deleted or has expired since the gateway looked", async () => {
    const deleted = (await mint({ name: "k" })).body.id;
    await world.rest("DELETE", `/v1/api-keys/${deleted}`, owner);
    const expires_at = new Date(world.clock.now() + 1_000).toISOString();
    const expired = (await mint({ name: "k", expires_at })).body.id;
    world.clock.advance(1_000);
    const codes = [];
    for (const id of [deleted, expired, randomUUID(), "web_token"]) {
      const { status, body } = await world.rest("POST", "/v1/auth/test", as(id));
      codes.push([status, body.error.type, body.error.code]);
      if (id === expired) expect(body.error.message).toContain(expires_at);
    }
    expect(codes).toEqual([
      [401, "unauthorized", "invalid_api_key"],
      [401, "unauthorized", "api_key_expired"],
      [401, "unauthorized", "invalid_api_key"],
      [401, "unauthorized", "invalid_api_key"],
    ]);
  });
});

test("a key is tested as a key of its own account only", async () => {
  const { id } = (await mint({ name: "k" })).body;
  const { accountId } = await newOwner();
  const { status } = await world.rest("POST", "/v1/auth/test", { accountId, keyId: id, kind: "normal" });
  expect(status).toBe(401);
});

describe("kinds of key", () => {
  test("a normal key manages nothing, and a management key is no key for anything else", async () => {
    const { id } = (await mint({ name: "k" })).body;
    const before = world.billing.spenders.length;
    for (const [method, path, body] of [
      ["POST", "/v1/api-keys", { name: "k" }],
      ["GET", "/v1/api-keys", undefined],
      ["DELETE", `/v1/api-keys/${id}`, undefined],
    ] as const) {
      const answer = await world.rest(method, path, as(id), body);
      expect(answer.status).toBe(401);
      expect(answer.body.error).toMatchObject({ type: "unauthorized", code: "wrong_key_kind" });
      expect(answer.body.error.message).toMatch(/management key is required/i);
    }
    const tested = await world.rest("POST", "/v1/auth/test", owner);
    expect([tested.status, tested.body.error.code]).toEqual([401, "wrong_key_kind"]);
    expect(world.billing.spenders).toHaveLength(before);
  });

  test("nobody is refused everywhere", async () => {
    for (const [method, path] of [
      ["POST", "/v1/auth/test"],
      ["GET", "/v1/api-keys"],
      ["DELETE", `/v1/api-keys/${randomUUID()}`],
    ] as const) {
      const { status, body } = await world.rest(method, path, null);
      expect([status, body.error.code]).toEqual([401, "invalid_api_key"]);
    }
  });
});

test("while the database is away the module says so, and it serves again without a restart", async () => {
  const { id } = (await mint({ name: "k" })).body;
  const healthy = { status: 200, body: { status: "ok", problems: [] } };
  expect(await world.readyz()).toEqual(healthy);
  await world.proxy.cut();
  try {
    expect(await world.readyz()).toMatchObject({
      status: 503,
      body: { problems: [expect.stringMatching(/^keys: PostgreSQL does not answer/)] },
    });
    const tested = await world.rest("POST", "/v1/auth/test", as(id));
    expect({ status: tested.status, error: tested.body.error }).toEqual({
      status: 503,
      error: {
        message: "API keys cannot be read right now; try again shortly.",
        type: "internal_error",
        code: "service_unavailable",
      },
    });
  } finally {
    await world.proxy.mend();
  }
  expect(await world.readyz()).toEqual(healthy);
  expect((await world.rest("POST", "/v1/auth/test", as(id))).status).toBe(200);
});
