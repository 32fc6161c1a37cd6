// Guarantees of allow-lists over REST and RPC, with a real PostgreSQL. The catalogue has a model for each name of a list.
// Each answer about the key has its lists. They remain unchanged until a change names them.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { ServiceError } from "@gr/proto";
import { KeyKind, type MintKeyRequestSchema, type UpdateKeyRequestSchema } from "@gr/proto/keys";
import { until } from "@gr/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { type KeysUnderTest, startKeys } from "../test/start-keys.ts";

let world: KeysUnderTest;
let accountId: string;

beforeAll(async () => {
  world = await startKeys();
  const arrived = () => post({ name: "first", allowed_models: ["*"] }).then(({ status }) => status === 201);
  accountId = (await world.keys.createAccount({ name: "Acme" })).accountId;
  await until(arrived, { timeoutMs: 60_000 });
});
afterAll(() => world?.stop());
beforeEach(async () => {
  accountId = (await world.keys.createAccount({ name: "Acme" })).accountId;
  world.billing.spenders.length = 0;
});

const manager = () => ({ accountId, keyId: accountId, kind: "management" }) as const;
const post = (body: object) => world.rest("POST", "/v1/api-keys", manager(), body);
const list = async () => (await world.rest("GET", "/v1/api-keys", manager())).body.data;

const mint = (options: Omit<MessageInitShape<typeof MintKeyRequestSchema>, "$typeName"> = {}) =>
  world.keys.mintKey({ accountId, name: "a key", kind: KeyKind.NORMAL, ...options });
const update = (keyId: string, change: Omit<MessageInitShape<typeof UpdateKeyRequestSchema>, "$typeName">) =>
  world.keys.updateKey({ accountId, keyId, ...change });

async function refusal(call: Promise<unknown>) {
  const error: unknown = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ServiceError)) throw new Error(`not refused: ${String(error)}`);
  return [error.reason, error.param];
}

describe("POST /v1/api-keys", () => {
  test("answers the lists, and each list and verification of the key has them", async () => {
    const lists = { allowed_models: ["openai/gpt-5", "bfl/*"], allowed_providers: ["openai", "bfl"] };
    const { status, body } = await post({ name: "k", ...lists });
    expect([status, body]).toEqual([201, expect.objectContaining(lists)]);
    const { key: secret, ...record } = body;
    expect(await list()).toEqual([record]);
    const { key } = await world.keys.verifyKey({ secret });
    expect([key?.allowedModels?.names, key?.allowedProviders?.names]).toEqual(Object.values(lists));
  });

  test.each([undefined, null])("with %p allows all models and providers", async (all) => {
    const { status, body } = await post({ name: "k", allowed_models: all, allowed_providers: all });
    expect(status).toBe(201);
    expect(Object.keys(body).filter((field) => field.startsWith("allowed"))).toEqual([]);
    const { key } = await world.keys.verifyKey({ secret: body.key });
    expect([key?.allowedModels, key?.allowedProviders]).toEqual([undefined, undefined]);
  });

  test("stores a repeated name once", async () => {
    const { body } = await post({ name: "k", allowed_models: ["bfl/*", "openai/gpt-5", "bfl/*"] });
    expect(body.allowed_models).toEqual(["bfl/*", "openai/gpt-5"]);
  });

  test("accepts 100 names", async () => {
    const names = Array.from({ length: 100 }, (_, at) => "openai/gpt-5*".slice(0, 1 + (at % 12)).concat("*"));
    expect((await post({ name: "k", allowed_models: names })).status).toBe(201);
  });

  test.each([
    ["allowed_models", []],
    ["allowed_models", "openai/gpt-5"],
    ["allowed_models", {}],
    ["allowed_models", [null]],
    ["allowed_models", [""]],
    ["allowed_models", Array(101).fill("openai/gpt-5")],
    ["allowed_models", ["x".repeat(201)]],
    ["allowed_models", Array.from({ length: 100 }, (_, at) => `${at}`.padStart(50, "x"))],
    ["allowed_models", ["*/gpt-5"]],
    ["allowed_models", ["openai/*-mini"]],
    ["allowed_models", ["openai/**"]],
    ["allowed_models", ["openai/gpt-6"]],
    ["allowed_models", ["openai/gpt-5", "openai/gpt-6*"]],
    // A bare name is resolved before the comparison, so it is in no list.
    ["allowed_models", ["gpt-5"]],
    ["allowed_models", ["OPENAI/GPT-5"]],
    ["allowed_providers", []],
    ["allowed_providers", [1]],
    ["allowed_providers", Array(101).fill("openai")],
    ["allowed_providers", ["openai*"]],
    ["allowed_providers", ["nobody"]],
  ])("refuses a bad %s with its name, and writes nothing (%#)", async (field, value) => {
    const { status, body } = await post({ name: "k", [field]: value });
    expect([status, body.error.type]).toEqual([400, "invalid_request_error"]);
    // A bad name is named with its place: allowed_models[0].
    expect(body.error.param.replace(/\[0\]$/, "")).toBe(field);
    expect(body.error.message).toContain(`"${body.error.param}"`);
    expect(await list()).toEqual([]);
    expect(world.billing.spenders).toEqual([]);
  });
});

describe("UpdateKey", () => {
  const namesOf = async (secret: string) => {
    const { key } = await world.keys.verifyKey({ secret });
    return [key?.allowedModels?.names, key?.allowedProviders?.names];
  };

  test("changes each list alone, and removes each alone", async () => {
    const { key, secret } = await mint({ allowedModels: { names: ["openai/*"] } });
    const keyId = key?.keyId ?? "";
    await update(keyId, { providers: { case: "allowedProviders", value: { names: ["openai"] } } });
    expect(await namesOf(secret)).toEqual([["openai/*"], ["openai"]]);
    await update(keyId, { name: "renamed", active: true });
    expect(await namesOf(secret)).toEqual([["openai/*"], ["openai"]]);
    await update(keyId, { models: { case: "allowedModels", value: { names: ["bfl/flux-2"] } } });
    expect(await namesOf(secret)).toEqual([["bfl/flux-2"], ["openai"]]);
    await update(keyId, { models: { case: "allModels", value: true } });
    expect(await namesOf(secret)).toEqual([undefined, ["openai"]]);
    await update(keyId, { providers: { case: "allProviders", value: true } });
    expect(await namesOf(secret)).toEqual([undefined, undefined]);
  });

  test("refuses the names that POST refuses", async () => {
    const { key, secret } = await mint({ allowedModels: { names: ["openai/*"] } });
    const keyId = key?.keyId ?? "";
    for (const names of [[], ["nobody/*"], ["a*b"]]) {
      const models = { case: "allowedModels", value: { names } } as const;
      expect(await refusal(update(keyId, { models }))).toEqual(["invalid_value", "allowed_models"]);
      const providers = { case: "allowedProviders", value: { names } } as const;
      expect(await refusal(update(keyId, { providers }))).toEqual(["invalid_value", "allowed_providers"]);
    }
    const models = { case: "allModels", value: false } as const;
    expect(await refusal(update(keyId, { models }))).toEqual(["invalid_value", "all_models"]);
    expect(await namesOf(secret)).toEqual([["openai/*"], undefined]);
  });

  test("a management key has no lists", async () => {
    const kind = KeyKind.MANAGEMENT;
    const { key } = await mint({ kind });
    const names = { names: ["openai"] };
    const bad = (field: string) => ["invalid_value", field];
    expect(await refusal(mint({ kind, allowedModels: { names: ["*"] } }))).toEqual(bad("allowed_models"));
    expect(await refusal(mint({ kind, allowedProviders: names }))).toEqual(bad("allowed_providers"));
    const providers = { case: "allowedProviders", value: names } as const;
    expect(await refusal(update(key?.keyId ?? "", { providers }))).toEqual(bad("allowed_providers"));
  });
});
