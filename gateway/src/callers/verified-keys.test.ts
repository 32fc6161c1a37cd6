// Guarantees of cached answers of the keys service: their lifetime, and the requests that use them.

import { createKeySecret } from "@gr/identity";
import { ServiceError } from "@gr/proto";
import { KeyKind, type VerifyKeyResponse } from "@gr/proto/keys";
import { describe, expect, test } from "@jest/globals";
import { VerifiedKeys } from "./verified-keys.ts";

type Key = Partial<NonNullable<VerifyKeyResponse["key"]>> & { readonly responseFormat?: string };

/** Returns a keys service that answers on the test's command, and a clock that the test moves. */
function setUp(answer: () => Key | Error) {
  const clock = { time: 1_700_000_000_000, now: () => clock.time };
  const gates: (() => void)[] = [];
  let lookUps = 0;
  const verifyKey = async () => {
    lookUps += 1;
    await new Promise<void>((resolve) => gates.push(resolve));
    const given = answer();
    if (given instanceof Error) throw given;
    const { responseFormat = "", ...key } = given;
    return {
      responseFormat,
      key: { accountId: "a", keyId: "k", kind: KeyKind.NORMAL, active: true, ...key },
    } as VerifyKeyResponse;
  };
  const keys = new VerifiedKeys({ verifyKey }, clock);
  const settle = async <T>(result: T | Promise<T>): Promise<T> => {
    for (const open of gates.splice(0)) open();
    return result;
  };
  return { keys, clock, settle, lookUps: () => lookUps, secret: createKeySecret("normal") };
}

const reasonOf = async (result: unknown) => {
  const error: unknown = await Promise.resolve(result).then(
    () => undefined,
    (thrown) => thrown,
  );
  return error instanceof ServiceError ? error.reason : error;
};

describe("verified keys", () => {
  test("look-ups for spending that run at the same time are one; the others are their own", async () => {
    const { keys, settle, lookUps, secret } = setUp(() => ({}));
    const spending = [keys.ofSpender(secret, "1"), keys.ofSpender(secret, "2")];
    expect(lookUps()).toBe(1);
    const fresh = [keys.asOfNow(secret, "3"), keys.asOfNow(secret, "4")];
    expect(lookUps()).toBe(3);
    const principals = await settle(Promise.all([...spending, ...fresh]));
    for (const principal of principals) {
      expect(principal).toEqual({ accountId: "a", keyId: "k", kind: "normal" });
    }
  });

  test("a request that starts after a key was deleted never joins a look-up from before", async () => {
    let deleted = false;
    const { keys, settle, secret } = setUp(() =>
      deleted ? new ServiceError("invalid_api_key", "gone") : {},
    );
    const before = keys.asOfNow(secret, "1");
    await settle(before);
    deleted = true;
    expect(await reasonOf(settle(keys.asOfNow(secret, "2")))).toBe("invalid_api_key");
  });

  test("an answer serves spending requests for five seconds", async () => {
    const { keys, clock, settle, lookUps, secret } = setUp(() => ({}));
    await settle(keys.ofSpender(secret, "1"));
    clock.time += 4_999;
    expect(keys.ofSpender(secret, "2")).toEqual({ accountId: "a", keyId: "k", kind: "normal" });
    expect(lookUps()).toBe(1);
    clock.time += 1;
    await settle(keys.ofSpender(secret, "3"));
    expect(lookUps()).toBe(2);
  });

  test("a key that expires while its answer is kept is refused at that moment, with the time", async () => {
    const { keys, clock, settle, secret } = setUp(() => ({ expiresAt: 1_700_000_003_000n }));
    await settle(keys.ofSpender(secret, "1"));
    clock.time += 2_999;
    expect(keys.ofSpender(secret, "2")).toMatchObject({ keyId: "k" });
    clock.time += 1;
    const refused = settle(keys.ofSpender(secret, "3"));
    await expect(refused).rejects.toThrow("This API key expired at 2023-11-14T22:13:23.000Z.");
  });

  test("a key that is given a later expiry just before its old one is not refused at the old one", async () => {
    let expiresAt = 1_700_000_003_000n;
    const { keys, clock, settle, secret } = setUp(() => ({ expiresAt }));
    await settle(keys.ofSpender(secret, "1"));
    expiresAt += 60_000n;
    clock.time += 3_000;
    expect(await settle(keys.ofSpender(secret, "2"))).toMatchObject({ keyId: "k" });
  });

  test("a web token is never served beyond its expiry, however late it was asked for", async () => {
    const expiresAt = 1_700_000_003_000;
    const token = { kind: KeyKind.WEB_TOKEN, keyId: "a", personId: "p", expiresAt: BigInt(expiresAt) };
    const { keys, clock, settle, lookUps, secret } = setUp(() => token);
    const principal = { accountId: "a", keyId: "a", kind: "web_token", expiresAt, personId: "p" };
    expect(await settle(keys.ofSpender(secret, "1"))).toEqual(principal);
    clock.time = expiresAt - 1;
    expect(keys.ofSpender(secret, "2")).toEqual(principal);
    expect(lookUps()).toBe(1);
    clock.time = expiresAt;
    // The keys service of this test still accepts it, as a service with a slow clock would.
    await expect(settle(keys.ofSpender(secret, "3"))).rejects.toThrow(
      "This web token expired at 2023-11-14T22:13:23.000Z.",
    );
  });

  test("the default response_format of a key is part of its principal; unknown ones are not", async () => {
    const { keys, settle, secret } = setUp(() => ({ responseFormat: "b64_json" }));
    expect(await settle(keys.ofSpender(secret, "1"))).toEqual({
      accountId: "a",
      keyId: "k",
      kind: "normal",
      responseFormat: "b64_json",
    });
    const later = setUp(() => ({ responseFormat: "of a later version" }));
    expect(await later.settle(later.keys.ofSpender(later.secret, "1"))).not.toHaveProperty("responseFormat");
  });

  test("the allow-lists of a key are part of its principal, each alone", async () => {
    const models = { names: ["openai/*"] } as never;
    const { keys, settle, secret } = setUp(() => ({ allowedModels: models }));
    expect(await settle(keys.ofSpender(secret, "1"))).toMatchObject({ allowed: { models: ["openai/*"] } });
    const both = setUp(() => ({ allowedModels: models, allowedProviders: { names: ["fal"] } as never }));
    expect(await both.settle(both.keys.ofSpender(both.secret, "1"))).toMatchObject({
      allowed: { models: ["openai/*"], providers: ["fal"] },
    });
  });

  test("a refusal is not kept, and ends what was known", async () => {
    let answer: Key | Error = {};
    const { keys, settle, lookUps, secret } = setUp(() => answer);
    await settle(keys.ofSpender(secret, "1"));
    answer = new ServiceError("invalid_api_key", "gone");
    expect(await reasonOf(settle(keys.asOfNow(secret, "2")))).toBe("invalid_api_key");
    expect(await reasonOf(settle(keys.ofSpender(secret, "3")))).toBe("invalid_api_key");
    expect(lookUps()).toBe(3);
    answer = {};
    expect(await settle(keys.ofSpender(secret, "4"))).toMatchObject({ keyId: "k" });
  });

  test("a request that starts after a key was enabled is not refused by a look-up from before", async () => {
    let answer: Key | Error = new ServiceError("invalid_api_key", "disabled");
    const { keys, settle, lookUps, secret } = setUp(() => answer);
    const [before, after] = [keys.ofSpender(secret, "1"), keys.ofSpender(secret, "2")];
    expect(lookUps()).toBe(1);
    expect(await reasonOf(settle(before))).toBe("invalid_api_key");
    answer = {};
    // The second request starts its own look-up after the refusal of the one that it had joined.
    await new Promise((resolve) => setImmediate(resolve));
    expect(await settle(after)).toMatchObject({ keyId: "k" });
    expect(lookUps()).toBe(2);
  });

  test("when the keys service does not answer, those who joined do not ask it once more", async () => {
    const { keys, settle, lookUps, secret } = setUp(() => new Error("down"));
    const both = [keys.ofSpender(secret, "1"), keys.ofSpender(secret, "2")].map(reasonOf);
    expect(await settle(Promise.all(both))).toEqual(["service_unavailable", "service_unavailable"]);
    expect(lookUps()).toBe(1);
  });

  test("a key that the service itself calls inactive is refused", async () => {
    const { keys, settle, secret } = setUp(() => ({ active: false }));
    expect(await reasonOf(settle(keys.asOfNow(secret, "1")))).toBe("invalid_api_key");
  });

  test("whatever goes wrong with a look-up is our failure, never the caller's", async () => {
    const failures = [
      new ServiceError("service_unavailable", "down"),
      new ServiceError("internal_error", "?"),
      new Error("?"),
    ];
    for (const failure of failures) {
      const { keys, settle, secret } = setUp(() => failure);
      expect(await reasonOf(settle(keys.ofSpender(secret, "1")))).toBe("service_unavailable");
    }
    const { keys, settle, secret } = setUp(() => ({ kind: KeyKind.UNSPECIFIED }));
    expect(await reasonOf(settle(keys.asOfNow(secret, "1")))).toBe("service_unavailable");
  });

  test("a key that saves texts says so, and other keys have no such field", async () => {
    const saving = setUp(() => ({ savesTexts: true }));
    expect(await saving.settle(saving.keys.ofSpender(saving.secret, "1"))).toMatchObject({
      savesTexts: true,
    });
    const other = setUp(() => ({ savesTexts: false }));
    expect(await other.settle(other.keys.ofSpender(other.secret, "1"))).not.toHaveProperty("savesTexts");
  });
});
