// Guarantees of IssueWebToken, and of web tokens where keys are verified, over the real transport.
import { generateKeyPairSync, randomUUID } from "node:crypto";
import type { Principal } from "@gr/identity";
import { ServiceError } from "@gr/proto";
import { SpendPeriod } from "@gr/proto/billing";
import { KeyKind } from "@gr/proto/keys";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { keysConfig } from "../config.ts";
import { refusal } from "../test/refusal.ts";
import { type KeysUnderTest, startKeys, TOKEN_KEY } from "../test/start-keys.ts";
import { createWebTokens } from "./web-token.ts";

let world: KeysUnderTest;
let accountId: string;

beforeAll(async () => {
  world = await startKeys();
});
afterAll(async () => {
  await world?.stop();
});
beforeEach(async () => {
  world.billing.beforePutSpender = async () => undefined;
  accountId = (await world.keys.createAccount({ name: "Acme" })).accountId;
  world.billing.spenders.length = 0;
});

const issue = (lifetimeMs = 0n) => world.keys.issueWebToken({ accountId, lifetimeMs });

describe("IssueWebToken", () => {
  test("answers a token that is verified as the account's, until it expires", async () => {
    const { token, expiresAt } = await issue();
    const { key } = await world.keys.verifyKey({ secret: token });
    expect(key).toMatchObject({
      keyId: accountId,
      accountId,
      name: "Temporary web token",
      kind: KeyKind.WEB_TOKEN,
      active: true,
      expiresAt,
      hint: "",
    });
    expect(key?.capCredits).toBeUndefined();
    world.clock.set(Number(expiresAt) - 1);
    await world.keys.verifyKey({ secret: token });
    world.clock.set(Number(expiresAt));
    expect(await refusal(world.keys.verifyKey({ secret: token }))).toEqual({
      reason: "api_key_expired",
      param: undefined,
      message: `This web token expired at ${new Date(Number(expiresAt)).toISOString()}.`,
    });
  });

  test("answers a token that names the person whom it was issued to, and none where there is no person", async () => {
    const verified = async (personId?: string) => {
      const { token } = await world.keys.issueWebToken({ accountId, ...(personId && { personId }) });
      return (await world.keys.verifyKey({ secret: token })).key?.personId;
    };
    const longest = "p".repeat(100);
    expect([await verified("person 1"), await verified(longest), await verified()]).toEqual([
      "person 1",
      longest,
      undefined,
    ]);
    for (const personId of ["", `${longest}p`]) {
      expect(await refusal(world.keys.issueWebToken({ accountId, personId }))).toMatchObject({
        param: "person_id",
      });
    }
  });

  test("writes the account's spender of web tokens, without a cap, before a token exists", async () => {
    await issue();
    await issue(1_000n);
    const { rows } = await world.db.query("SELECT created_at FROM keys.account WHERE id = $1", [accountId]);
    const spender = {
      spenderId: accountId,
      accountId,
      name: "Temporary web token",
      period: SpendPeriod.LIFETIME,
      active: true,
      createdAt: BigInt(rows[0].created_at.getTime()),
    };
    expect(world.billing.spenders).toMatchObject([spender, spender]);
    for (const { capCredits, expiresAt } of world.billing.spenders) {
      expect([capCredits, expiresAt]).toEqual([undefined, undefined]);
    }
    world.billing.beforePutSpender = async () => {
      throw new ServiceError("billing_unavailable", "down");
    };
    expect(await refusal(issue())).toMatchObject({ reason: "billing_unavailable" });
  });

  test.each([randomUUID(), "no-uuid", ""])("refuses an account that does not exist (%s)", async (unknown) => {
    expect(await refusal(world.keys.issueWebToken({ accountId: unknown }))).toMatchObject({
      reason: "account_not_found",
      param: "account_id",
    });
    expect(world.billing.spenders).toEqual([]);
  });

  test("gives five minutes when nothing is asked for, and never more", async () => {
    const lifetimeOf = async (lifetimeMs: bigint) =>
      Number((await issue(lifetimeMs)).expiresAt) - world.clock.now();
    for (const [asked, most] of [
      [0n, 300_000],
      [300_000n, 300_000],
      [60_000n, 60_000],
      [1_000n, 1_000],
    ] as const) {
      const lifetime = await lifetimeOf(asked);
      expect(lifetime).toBeLessThanOrEqual(most);
      expect(lifetime).toBeGreaterThan(most - 1_000);
    }
    for (const asked of [-1n, 1n, 999n, 300_001n, 2n ** 62n]) {
      expect(await refusal(issue(asked))).toMatchObject({ reason: "invalid_value", param: "lifetime_ms" });
    }
  });

  test("is never listed and costs no query to verify", async () => {
    const { token } = await issue();
    expect((await world.keys.listKeys({ accountId })).keys).toEqual([]);
    await world.proxy.cut();
    try {
      expect((await world.keys.verifyKey({ secret: token })).key?.keyId).toBe(accountId);
    } finally {
      await world.proxy.mend();
    }
  });

  test("counts what it issues and refuses, and keeps tokens out of the counters", async () => {
    const { token } = await issue();
    await refusal(world.keys.verifyKey({ secret: `${token.slice(0, -4)}AAAA` }));
    const text = await world.metrics();
    expect(text).toMatch(/keys_web_tokens_issued_total [1-9]/);
    expect(text).toMatch(/keys_refused_total\{cause="token"\} [1-9]/);
    expect(text).not.toContain(token.slice(0, 40));
  });
});

describe("VerifyKey", () => {
  test("a token that another key signed, or that lives too long, is an invalid key", async () => {
    const other = createWebTokens(generateKeyPairSync("ed25519").privateKey);
    const own = createWebTokens(TOKEN_KEY);
    const now = world.clock.now();
    for (const { token } of [
      await other.sign(accountId, now, 300_000),
      await own.sign(accountId, now, 301_000),
      await own.sign(accountId, now + 3_600_000, 300_000),
    ]) {
      expect(await refusal(world.keys.verifyKey({ secret: token }))).toEqual({
        reason: "invalid_api_key",
        param: undefined,
        message: "The API key is not valid.",
      });
    }
    const { token } = await own.sign(accountId, now, 300_000);
    await world.keys.verifyKey({ secret: token });
  });
});

describe("the REST paths", () => {
  const principal = (expiresAt?: number): Principal => ({
    ...{ accountId, keyId: accountId, kind: "web_token" },
    ...(expiresAt === undefined ? {} : { expiresAt }),
  });

  test("POST /v1/auth/test answers a token's place in the list of usage, its name and its expiry", async () => {
    const expiresAt = world.clock.now() + 60_000;
    const { status, body } = await world.rest("POST", "/v1/auth/test", principal(expiresAt));
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        success: true,
        api_key: {
          id: "web_token",
          name: "Temporary web token",
          expires_at: new Date(expiresAt).toISOString(),
        },
      },
    });
  });

  test("POST /v1/auth/test refuses a token that has expired since the gateway looked", async () => {
    const expiresAt = world.clock.now();
    const { status, body } = await world.rest("POST", "/v1/auth/test", principal(expiresAt));
    expect({ status, error: body.error }).toEqual({
      status: 401,
      error: {
        message: `This web token expired at ${new Date(expiresAt).toISOString()}.`,
        type: "unauthorized",
        code: "api_key_expired",
      },
    });
    expect((await world.rest("POST", "/v1/auth/test", principal())).status).toBe(401);
  });

  test.each([
    ["POST", "/v1/api-keys", { name: "k" }],
    ["GET", "/v1/api-keys", undefined],
    ["DELETE", `/v1/api-keys/${randomUUID()}`, undefined],
  ] as const)("%s %s tells a token that a management key is required", async (method, path, body) => {
    const answer = await world.rest(method, path, principal(world.clock.now() + 60_000), body);
    expect({ status: answer.status, error: answer.body.error }).toEqual({
      status: 401,
      error: {
        message: "A management key is required here; this is a web token.",
        type: "unauthorized",
        code: "wrong_key_kind",
      },
    });
    expect(world.billing.spenders).toEqual([]);
  });
});

test("without a key to sign with, issuing says so in one sentence and no token is valid", async () => {
  const { token } = await createWebTokens(TOKEN_KEY).sign(accountId, world.clock.now(), 300_000);
  const keyless = await startKeys({ WEB_TOKEN_PRIVATE_KEY: "" });
  try {
    const { accountId: account } = await keyless.keys.createAccount({ name: "Acme" });
    expect(await refusal(keyless.keys.issueWebToken({ accountId: account }))).toEqual({
      reason: "service_unavailable",
      param: undefined,
      message: "Web tokens cannot be issued: WEB_TOKEN_PRIVATE_KEY is not set.",
    });
    expect(await refusal(keyless.keys.verifyKey({ secret: token }))).toMatchObject({
      reason: "invalid_api_key",
    });
    expect(keyless.billing.spenders).toEqual([]);
  } finally {
    await keyless.stop();
  }
});

describe("WEB_TOKEN_PRIVATE_KEY", () => {
  const { WEB_TOKEN_PRIVATE_KEY: schema } = keysConfig.shape;
  const pem = TOKEN_KEY.export({ format: "pem", type: "pkcs8" }).toString();
  const base64 = TOKEN_KEY.export({ format: "der", type: "pkcs8" }).toString("base64");

  test.each([
    ["a PEM", pem],
    ["a PEM with other line ends", pem.replaceAll("\n", "\r\n")],
    ["a PEM on one line, as env files write it", pem.trim().replaceAll("\n", "\\n")],
    ["its base64", base64],
  ])("may be %s", (_, text) => {
    expect(schema.parse(text)?.equals(TOKEN_KEY)).toBe(true);
  });

  test("that is anything else is refused in a sentence that does not repeat it", () => {
    const rsa = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
    for (const text of [
      "x",
      base64.slice(4),
      pem.replace("MC4C", "MC4D"),
      rsa.export({ format: "pem", type: "pkcs8" }).toString(),
      generateKeyPairSync("x25519").privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
      generateKeyPairSync("ed25519").publicKey.export({ format: "pem", type: "spki" }).toString(),
    ]) {
      const result = schema.safeParse(text);
      expect(result.error?.issues).toMatchObject([
        { message: "must be an Ed25519 private key as PKCS#8, in PEM or its base64" },
      ]);
      expect(JSON.stringify(result.error?.issues)).not.toContain(text.slice(30, 60) || text);
    }
  });
});
