// Guarantees of rotations: the key, its limit and its spend stay. The former secret works until its time and no longer, and
// a repeated rotation with an overlap does not end it.
import { createHmac } from "node:crypto";
import { ServiceError } from "@gr/proto";
import { KeyKind } from "@gr/proto/keys";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { type KeysUnderTest, PEPPER, startKeys } from "../test/start-keys.ts";

const HOUR = 3_600_000;
let world: KeysUnderTest;
let accountId: string;
let keyId: string;
let first: string;

beforeAll(async () => {
  world = await startKeys();
});
afterAll(() => world?.stop());
beforeEach(async () => {
  accountId = (await world.keys.createAccount({ name: "Acme" })).accountId;
  const minted = await world.keys.mintKey({ accountId, name: "k", kind: KeyKind.NORMAL, capCredits: 100n });
  keyId = minted.key?.keyId ?? "";
  first = minted.secret;
  world.billing.spenders.length = 0;
});

const rotate = (overlapMs: number) =>
  world.keys.rotateKey({ accountId, keyId, overlapMs: BigInt(overlapMs) });
const found = async (secret: string) => (await world.keys.verifyKey({ secret })).key;
const reasonOf = async (call: Promise<unknown>) => {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return error instanceof ServiceError ? error.reason : "accepted";
};

test("both secrets are the same key until the overlap ends, so they spend from one limit", async () => {
  const { key, secret } = await rotate(HOUR);
  const endsAt = BigInt(world.clock.now() + HOUR);
  expect(key).toMatchObject({ keyId, name: "k", formerEndsAt: endsAt });
  expect([key?.hint.slice(-4), key?.formerHint.slice(-4)]).toEqual([secret.slice(-4), first.slice(-4)]);
  expect(await found(secret)).toMatchObject({ keyId, spendLimitCredits: 100n });
  expect((await found(secret))?.expiresAt).toBeUndefined();
  // A gateway that remembers the former secret forgets it at its end.
  expect(await found(first)).toMatchObject({ keyId, expiresAt: endsAt });
  expect(world.billing.spenders).toEqual([]);
  world.clock.advance(HOUR);
  expect([await reasonOf(found(first)), await reasonOf(found(secret))]).toEqual([
    "api_key_expired",
    "accepted",
  ]);
});

test("a repeated rotation keeps the former secret and its end, and replaces only the newest secret", async () => {
  const endsAt = BigInt(world.clock.now() + HOUR);
  const { secret: lost } = await rotate(HOUR);
  world.clock.advance(HOUR / 2);
  const { secret: third, key } = await rotate(HOUR);
  expect(key).toMatchObject({ formerEndsAt: endsAt });
  expect(key?.formerHint.slice(-4)).toBe(first.slice(-4));
  expect(await found(first)).toMatchObject({ keyId, expiresAt: endsAt });
  expect([await reasonOf(found(lost)), (await found(third))?.keyId]).toEqual(["invalid_api_key", keyId]);
  // Behind the end of the former secret, the newest secret becomes the former one.
  world.clock.advance(HOUR / 2);
  await rotate(HOUR);
  expect([await reasonOf(found(first)), (await found(third))?.keyId]).toEqual(["invalid_api_key", keyId]);
});

test("without an overlap all other secrets end at once", async () => {
  const { secret: second } = await rotate(HOUR);
  const { secret: third, key } = await rotate(0);
  for (const ended of [first, second]) expect(await reasonOf(found(ended))).toBe("invalid_api_key");
  expect([(await found(third))?.keyId, key?.formerHint, key?.formerEndsAt]).toEqual([keyId, "", undefined]);
});

test("the former secret of an expiring, disabled or deleted key works no longer than the key", async () => {
  await world.keys.updateKey({
    ...{ accountId, keyId },
    expiry: { case: "expiresAt", value: BigInt(world.clock.now() + HOUR / 2) },
  });
  await rotate(HOUR);
  expect((await found(first))?.expiresAt).toBe(BigInt(world.clock.now() + HOUR / 2));
  await world.keys.updateKey({ accountId, keyId, active: false });
  expect(await reasonOf(found(first))).toBe("invalid_api_key");
  await world.keys.deleteKey({ accountId, keyId });
  expect([await reasonOf(found(first)), await reasonOf(rotate(HOUR))]).toEqual([
    "invalid_api_key",
    "key_not_found",
  ]);
});

test("after simultaneous rotations the former secret and one new secret work", async () => {
  const secrets = (await Promise.all(Array.from({ length: 8 }, () => rotate(HOUR)))).map(
    (answer) => answer.secret,
  );
  const accepted = await Promise.all(secrets.map((secret) => reasonOf(found(secret))));
  expect(accepted.filter((reason) => reason === "accepted")).toHaveLength(1);
  expect((await found(first))?.keyId).toBe(keyId);
});

test("another account's key and an overlap above 30 days are refused", async () => {
  const { accountId: other } = await world.keys.createAccount({ name: "Other" });
  expect(await reasonOf(world.keys.rotateKey({ accountId: other, keyId, overlapMs: 0n }))).toBe(
    "key_not_found",
  );
  for (const overlap of [-1, 31 * 24 * HOUR]) expect(await reasonOf(rotate(overlap))).toBe("invalid_value");
  expect((await found(first))?.keyId).toBe(keyId);
});

test("while the pepper is changed the former secret is found, and moved at its first use", async () => {
  const NEXT = "the-next-pepper-of-the-keys-tests-0123456789";
  const changing = await startKeys({ KEY_PEPPER: NEXT, KEY_PEPPER_OTHER: PEPPER });
  try {
    const { accountId: account } = await changing.keys.createAccount({ name: "Acme" });
    const { key, secret: former } = await changing.keys.mintKey({
      ...{ accountId: account, name: "k", kind: KeyKind.NORMAL },
    });
    const id = key?.keyId ?? "";
    await changing.keys.rotateKey({ accountId: account, keyId: id, overlapMs: BigInt(HOUR) });
    const under = (pepper: string) => createHmac("sha256", pepper).update(former).digest();
    await changing.db.query("UPDATE keys.api_key SET former_digest = $1", [under(PEPPER)]);
    expect((await changing.keys.verifyKey({ secret: former })).key?.keyId).toBe(id);
    const { rows } = await changing.db.query("SELECT former_digest FROM keys.api_key");
    expect(rows).toEqual([{ former_digest: under(NEXT) }]);
  } finally {
    await changing.stop();
  }
});
