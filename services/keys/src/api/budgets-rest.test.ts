// Guarantees of /v1/budgets, called as the gateway calls it: over HTTP with a signed principal of a management key.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { type KeysUnderTest, startKeys } from "../test/start-keys.ts";

let world: KeysUnderTest;
let accountId: string;
beforeAll(async () => {
  world = await startKeys();
});
afterAll(() => world?.stop());
beforeEach(async () => {
  accountId = (await world.keys.createAccount({ name: "Acme" })).accountId;
});

const manager = () => ({ accountId, keyId: accountId, kind: "management" }) as const;
const create = (body: object) => world.rest("POST", "/v1/budgets", manager(), body);
const change = (id: string, body: object) => world.rest("PATCH", `/v1/budgets/${id}`, manager(), body);
const list = async (search = "") => (await world.rest("GET", `/v1/budgets${search}`, manager())).body;

describe("a budget", () => {
  test("is created with its fields, changed in the named ones, and listed as it is", async () => {
    const expires_at = new Date(world.clock.now() + 60_000).toISOString();
    const { body: above } = await create({ name: "All", level: "account" });
    const sent = {
      name: "Ünïcode 🔑",
      parent_id: above.id,
      spend_limit: 12.34567,
      spend_limit_period: "month",
    };
    const { status, body } = await create({ ...sent, expires_at });
    let expected: object = {
      ...{ ...sent, id: expect.stringMatching(/^[0-9a-f-]{36}$/), level: "customer", spend_limit: 12.3456 },
      ...{ created_at: new Date(world.clock.now()).toISOString(), state: "open", expires_at },
      ...{ period_spend: "0.0000", period_held: "0.0000", credit_usage: "0.0000", total_requests: 0 },
      resets_at: expect.stringMatching(/-01T00:00:00\.000Z$/),
    };
    expect([status, body]).toEqual([201, expected]);
    for (const [fields, effect] of [
      [{ name: "renamed" }, { name: "renamed" }],
      [{ spend_limit: 20 }, { spend_limit: 20 }],
      [{ spend_limit_period: null }, { spend_limit_period: null, resets_at: null }],
      [
        { is_open: false, expires_at: null },
        { state: "closed", expires_at: null },
      ],
      [
        { is_open: true, spend_limit: null },
        { state: "open", spend_limit: null },
      ],
      [{}, {}],
    ]) {
      expected = { ...expected, ...effect };
      expect(await change(body.id, fields ?? {})).toMatchObject({ status: 200, body: expected });
    }
    expect((await list()).data).toEqual([above, expected]);
  });

  test("has the defaults of a customer without a limit", async () => {
    expect((await create({ name: "b" })).body).toMatchObject({
      ...{
        level: "customer",
        parent_id: null,
        spend_limit: null,
        spend_limit_period: null,
        expires_at: null,
      },
    });
  });

  test.each([
    ["name", {}],
    ["name", { name: "" }],
    ["level", { name: "b", level: "key" }],
    ["level", { name: "b", level: "job" }],
    ["spend_limit", { name: "b", spend_limit: "5" }],
    ["spend_limit", { name: "b", spend_limit: -1 }],
    ["spend_limit_period", { name: "b", spend_limit_period: "year" }],
    ["expires_at", { name: "b", expires_at: "2001-01-01" }],
    ["parent_id", { name: "b", parent_id: "none" }],
    ["parent_id", { name: "b", parent_id: "5b0e0a3c-5a7e-4a51-9d5f-6a1f2f2f9c11" }],
    ["limit", { name: "b", limit: 5 }],
  ])("is refused for its %s: %j", async (param, body) => {
    const { status, body: refused } = await create(body);
    expect([status, refused.error.code, refused.error.param]).toEqual([400, "invalid_value", param]);
    expect(await list()).toEqual({ data: [] });
  });

  test("of another account, of a key, or of no account is not found", async () => {
    const { body: minted } = await world.rest("POST", "/v1/api-keys", manager(), { name: "k" });
    const { body: other } = await create({ name: "b" });
    accountId = (await world.keys.createAccount({ name: "Other" })).accountId;
    for (const id of [other.id, randomUUID(), "none"]) {
      const { status, body } = await change(id, { name: "c" });
      expect([status, body.error.code, body.error.param]).toEqual([404, "not_found", "id"]);
    }
    const { body: own } = await world.rest("POST", "/v1/api-keys", manager(), { name: "k" });
    expect((await change(own.id, { spend_limit: 5 })).status).toBe(404);
    expect(minted.id).not.toBe(own.id);
  });

  test("needs a management key", async () => {
    const normal = { accountId, keyId: randomUUID(), kind: "normal" } as const;
    for (const [method, path] of [
      ["POST", "/v1/budgets"],
      ["GET", "/v1/budgets"],
      ["PATCH", `/v1/budgets/${randomUUID()}`],
    ] as const) {
      for (const as of [normal, null]) {
        const body = method === "GET" ? undefined : { name: "b" };
        expect((await world.rest(method, path, as, body)).status).toBe(401);
      }
    }
  });
});

describe("a repeat of a creation with the same Idempotency-Key", () => {
  const createAs = (key: string, body: object) =>
    world.rest("POST", "/v1/budgets", manager(), body, { "idempotency-key": key });

  test("creates no second budget, even at the same time", async () => {
    const { body: above } = await create({ name: "All", level: "account" });
    const expires_at = new Date(world.clock.now() + 60_000).toISOString();
    const limits = { spend_limit: 5, spend_limit_period: "day", expires_at };
    const sent = { name: "b", parent_id: above.id, ...limits };
    const answers = await Promise.all([createAs("order 1", sent), createAs("order 1", sent)]);
    world.clock.advance(1_000);
    answers.push(await createAs("order 1", sent));
    for (const answer of answers) expect(answer).toMatchObject({ status: 201, body: answers[0]?.body });
    expect((await list()).data).toEqual([above, answers[0]?.body]);
  });

  test("is refused with other fields, and changes nothing", async () => {
    const { body: first } = await createAs("k", { name: "b", spend_limit: 5 });
    for (const body of [
      { name: "c", spend_limit: 5 },
      { name: "b" },
      { name: "b", spend_limit: 5, level: "member" },
    ]) {
      const { status, body: refused } = await createAs("k", body);
      expect([status, refused.error.code, refused.error.param]).toEqual([
        ...[422, "idempotency_mismatch", "Idempotency-Key"],
      ]);
    }
    await change(first.id, { spend_limit: 6 });
    expect((await createAs("k", { name: "b", spend_limit: 5 })).status).toBe(422);
    expect((await list()).data).toMatchObject([{ id: first.id, name: "b", spend_limit: 6 }]);
  });

  test("is another budget of another account, and without the header each creation is", async () => {
    const { body: first } = await createAs("k", { name: "b" });
    const { body: second } = await createAs("l", { name: "b" });
    accountId = (await world.keys.createAccount({ name: "Other" })).accountId;
    const { body: foreign } = await createAs("k", { name: "b" });
    const ids = [
      first,
      second,
      foreign,
      (await create({ name: "b" })).body,
      (await create({ name: "b" })).body,
    ];
    expect(new Set(ids.map(({ id }) => id)).size).toBe(5);
    expect((await list()).data).toHaveLength(3);
  });

  test.each(["", "é", "k".repeat(256)])("is refused with the invalid key %j", async (key) => {
    const { status, body } = await createAs(key, { name: "b" });
    expect([status, body.error.param]).toEqual([400, "Idempotency-Key"]);
  });
});

test("the list has pages, without the budgets of keys", async () => {
  const ids: string[] = [];
  for (let count = 0; count < 5; count += 1) {
    await world.rest("POST", "/v1/api-keys", manager(), { name: "k" });
    ids.push((await create({ name: `b${count}` })).body.id);
  }
  const idsOf = (page: { data: { id: string }[] }) => page.data.map(({ id }) => id);
  const first = await list("?limit=2");
  expect([idsOf(first), first.has_more]).toEqual([ids.slice(0, 2), true]);
  const rest = await list(`?limit=3&after=${ids[1]}`);
  expect([idsOf(rest), rest.has_more]).toEqual([ids.slice(2), undefined]);
  const { status, body } = await world.rest("GET", `/v1/budgets?after=${randomUUID()}`, manager());
  expect([status, body.error.param]).toEqual([400, "after"]);
});
