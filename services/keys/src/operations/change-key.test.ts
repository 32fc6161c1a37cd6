// Guarantees of UpdateKey, and of deleting management keys, over real PostgreSQL and the real transport.
import { randomUUID } from "node:crypto";
import { ServiceError, spendLimitFields } from "@gr/proto";
import { SpendPeriod } from "@gr/proto/billing";
import { type Key, KeyKind } from "@gr/proto/keys";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { refusal } from "../test/refusal.ts";
import { type KeysUnderTest, startKeys } from "../test/start-keys.ts";

const HOUR = 3_600_000;
const { NORMAL, MANAGEMENT } = KeyKind;
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

interface Change {
  readonly name?: string;
  readonly active?: boolean;
  readonly cap?: { case: "capCredits"; value: bigint } | { case: "noCap"; value: boolean };
  readonly period?: SpendPeriod;
  readonly expiry?: { case: "expiresAt"; value: bigint } | { case: "neverExpires"; value: boolean };
}

async function mint(
  options: { kind?: KeyKind; capCredits?: bigint; period?: SpendPeriod; expiresAt?: bigint } = {},
): Promise<{ key: Key; keyId: string; secret: string }> {
  const { key, secret } = await world.keys.mintKey({ accountId, name: "a key", kind: NORMAL, ...options });
  if (key === undefined) throw new Error("minted without a key");
  world.billing.spenders.length = 0;
  return { key, keyId: key.keyId, secret };
}

const update = (keyId: string, change: Change) => world.keys.updateKey({ accountId, keyId, ...change });
const capOf = (credits: bigint): Change => ({ cap: { case: "capCredits", value: credits } });
const noCap: Change = { cap: { case: "noCap", value: true } };
const expiring = (at: number): Change => ({ expiry: { case: "expiresAt", value: BigInt(at) } });
const never: Change = { expiry: { case: "neverExpires", value: true } };

async function listed(keyId: string): Promise<Key | undefined> {
  return (await world.keys.listKeys({ accountId })).keys.find((key) => key.keyId === keyId);
}

describe("UpdateKey", () => {
  test("changes what is named and nothing else, in our row and in billing alike", async () => {
    const { keyId, key } = await mint({ capCredits: 5_000n, period: SpendPeriod.WEEK });
    const later = world.clock.now() + HOUR;
    const steps: readonly [Change, Partial<Key>][] = [
      [{ name: "renamed" }, { name: "renamed" }],
      [{ active: false }, { active: false }],
      [capOf(7n), spendLimitFields(7n)],
      [{ period: SpendPeriod.DAY }, { period: SpendPeriod.DAY }],
      [expiring(later), { expiresAt: BigInt(later) }],
      [{ active: true }, { active: true }],
      [{ period: SpendPeriod.LIFETIME }, { period: SpendPeriod.LIFETIME }],
      [capOf(0n), spendLimitFields(0n)],
      [{}, {}],
    ];
    let expected = key;
    for (const [change, effect] of steps) {
      expected = { ...expected, ...effect };
      const { key: answered } = await update(keyId, change);
      expect(answered).toEqual(expected);
      expect(await listed(keyId)).toEqual(expected);
      const { name, capCredits, period, active, createdAt } = expected;
      expect(world.billing.spenders.at(-1)).toMatchObject({
        spenderId: keyId,
        accountId,
        ...{ name, capCredits, period, active, createdAt },
      });
      expect(world.billing.spenders.at(-1)?.expiresAt).toBe(expected.expiresAt);
    }
    expect((await update(keyId, never)).key?.expiresAt).toBeUndefined();
    expect(world.billing.spenders).toHaveLength(steps.length + 1);
  });

  test("removing the cap removes the period; a cap put back is for the lifetime", async () => {
    const { keyId } = await mint({ capCredits: 5_000n, period: SpendPeriod.MONTH });
    const open = (await update(keyId, noCap)).key;
    expect({ cap: open?.capCredits, period: open?.period }).toEqual({
      cap: undefined,
      period: SpendPeriod.LIFETIME,
    });
    expect(world.billing.spenders.at(-1)?.capCredits).toBeUndefined();
    expect((await update(keyId, capOf(1n))).key).toMatchObject({
      capCredits: 1n,
      period: SpendPeriod.LIFETIME,
    });
  });

  test("whatever is changed in whatever order, our row and billing's spender tell the same", async () => {
    const change: fc.Arbitrary<Change> = fc
      .record(
        {
          name: fc.constantFrom("n1", "n2"),
          active: fc.boolean(),
          cap: fc.oneof(
            fc.bigInt({ min: 0n, max: 10n ** 15n }).map((value) => ({ case: "capCredits" as const, value })),
            fc.constant({ case: "noCap" as const, value: true }),
          ),
          period: fc.constantFrom(
            SpendPeriod.UNSPECIFIED,
            SpendPeriod.LIFETIME,
            SpendPeriod.DAY,
            SpendPeriod.WEEK,
            SpendPeriod.MONTH,
          ),
          expiry: fc.oneof(
            fc.integer({ min: 1, max: HOUR }).map((ahead) => ({
              case: "expiresAt" as const,
              value: BigInt(world.clock.now() + HOUR + ahead),
            })),
            fc.constant({ case: "neverExpires" as const, value: true }),
          ),
        },
        { requiredKeys: [] },
      )
      .map((fields) => fields as Change);
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 6 }), async (changes) => {
        const { keyId } = await mint();
        for (const each of changes) {
          const before = await listed(keyId);
          try {
            await update(keyId, each);
          } catch (error) {
            expect(error).toMatchObject({ reason: "invalid_value", param: "period" });
            expect(await listed(keyId)).toEqual(before);
            continue;
          }
          const row = await listed(keyId);
          const spender = world.billing.spenders.at(-1);
          const view = (
            of: Pick<Key, "name" | "active" | "capCredits" | "period" | "expiresAt"> | undefined,
          ) => [...[of?.name, of?.active, of?.capCredits, of?.period, of?.expiresAt]];
          expect(view(spender)).toEqual(view(row));
        }
      }),
      { numRuns: 15 },
    );
  });

  test("writes billing's spender before our row", async () => {
    const { keyId, key } = await mint({ capCredits: 5n });
    let before: unknown;
    world.billing.beforePutSpender = async () => {
      before = await listed(keyId);
    };
    await update(keyId, capOf(6n));
    expect(before).toEqual(key);
  });

  test("leaves the key as it was when billing fails", async () => {
    const { keyId, key } = await mint({ capCredits: 5n });
    world.billing.beforePutSpender = async () => {
      throw new ServiceError("billing_unavailable", "down");
    };
    expect(await refusal(update(keyId, capOf(6n)))).toMatchObject({ reason: "billing_unavailable" });
    expect(await listed(keyId)).toEqual(key);
  });

  test("after a crash between the two writes, the same change again makes both agree", async () => {
    const { keyId, key } = await mint({ capCredits: 5n });
    await world.withCrash("active", async () => {
      await expect(update(keyId, { active: false })).rejects.toThrow();
    });
    expect(world.billing.spenders.at(-1)).toMatchObject({ active: false });
    expect(await listed(keyId)).toEqual(key);
    await update(keyId, { active: false });
    expect(world.billing.spenders.at(-1)).toMatchObject({ active: false });
    expect((await listed(keyId))?.active).toBe(false);
  });

  test("after a crash between the two writes, any other change begins with the fields that billing has", async () => {
    const { keyId } = await mint({ capCredits: 5n });
    await world.withCrash("cap_credits < 1000", async () => {
      await expect(update(keyId, capOf(1_000n))).rejects.toThrow();
    });
    expect((await update(keyId, { name: "another" })).key).toMatchObject({
      name: "another",
      capCredits: 1_000n,
    });
    expect(world.billing.spenders.at(-1)).toMatchObject({ name: "another", capCredits: 1_000n });
  });

  test.each<[string, KeyKind, Change]>([
    ["name", NORMAL, { name: "" }],
    ["name", NORMAL, { name: " \n" }],
    ["name", NORMAL, { name: "x".repeat(201) }],
    ["name", NORMAL, { name: "\0" }],
    ["cap_credits", NORMAL, capOf(-1n)],
    ["cap_credits", NORMAL, capOf(10n ** 15n + 1n)],
    ["cap_credits", MANAGEMENT, capOf(1n)],
    ["cap_credits", MANAGEMENT, { ...capOf(1n), period: SpendPeriod.DAY }],
    ["no_cap", NORMAL, { cap: { case: "noCap", value: false } }],
    ["period", NORMAL, { period: SpendPeriod.DAY }],
    ["period", NORMAL, { ...noCap, period: SpendPeriod.DAY }],
    ["period", NORMAL, { ...capOf(1n), period: 99 as SpendPeriod }],
    ["period", MANAGEMENT, { period: SpendPeriod.DAY }],
    ["expires_at", NORMAL, expiring(0)],
    ["expires_at", MANAGEMENT, expiring(1_000)],
    ["expires_at", NORMAL, expiring(253_402_300_800_000)],
    ["never_expires", NORMAL, { expiry: { case: "neverExpires", value: false } }],
  ])("refuses a bad %s and writes nothing (%#)", async (param, kind, change) => {
    const { keyId, key } = await mint({ kind });
    const refused = await refusal(update(keyId, { active: false, ...change }));
    expect(refused).toMatchObject({ reason: "invalid_value", param });
    expect(refused.message).toContain(`"${param}"`);
    expect(await listed(keyId)).toEqual(key);
    expect(world.billing.spenders).toEqual([]);
  });

  test("an expiry of this very moment is past", async () => {
    const { keyId } = await mint();
    expect(await refusal(update(keyId, expiring(world.clock.now())))).toMatchObject({ param: "expires_at" });
    await update(keyId, expiring(world.clock.now() + 1));
  });

  test("unknown, malformed, foreign and deleted keys are the same 404, and billing is not touched", async () => {
    const { keyId: own, key } = await mint();
    const { keyId: deleted } = await mint();
    await world.keys.deleteKey({ accountId, keyId: deleted });
    const { accountId: other } = await world.keys.createAccount({ name: "Other" });
    world.billing.spenders.length = 0;
    for (const which of [
      { accountId, keyId: randomUUID() },
      { accountId, keyId: "x'; DROP TABLE api_key" },
      { accountId, keyId: "" },
      { accountId, keyId: deleted },
      { accountId: other, keyId: own },
      { accountId: "", keyId: own },
    ]) {
      expect(await refusal(world.keys.updateKey({ ...which, active: true, name: "taken" }))).toEqual({
        reason: "key_not_found",
        param: "id",
        message: "The API key was not found.",
      });
    }
    expect(world.billing.spenders).toEqual([]);
    expect(await listed(own)).toEqual(key);
  });

  test.each([NORMAL, MANAGEMENT])(
    "a disabled key of kind %s is refused at once, an enabled one works at once",
    async (kind) => {
      const { keyId, secret } = await mint({ kind });
      for (let round = 0; round < 3; round += 1) {
        await update(keyId, { active: false });
        expect(await refusal(world.keys.verifyKey({ secret }))).toMatchObject({ reason: "invalid_api_key" });
        await update(keyId, { active: true });
        expect((await world.keys.verifyKey({ secret })).key?.keyId).toBe(keyId);
      }
    },
  );

  test("an expired key that is given more time works again, and one that is given less stops in time", async () => {
    const { keyId, secret } = await mint({ expiresAt: BigInt(world.clock.now() + 1_000) });
    world.clock.advance(1_000);
    expect(await refusal(world.keys.verifyKey({ secret }))).toMatchObject({ reason: "api_key_expired" });
    await update(keyId, expiring(world.clock.now() + HOUR));
    await world.keys.verifyKey({ secret });
    await update(keyId, expiring(world.clock.now() + 10));
    world.clock.advance(10);
    expect(await refusal(world.keys.verifyKey({ secret }))).toMatchObject({ reason: "api_key_expired" });
    await update(keyId, never);
    await world.keys.verifyKey({ secret });
  });

  test("an expired key can be renamed and disabled without a word about its expiry", async () => {
    const { keyId } = await mint({ expiresAt: BigInt(world.clock.now() + 1_000) });
    world.clock.advance(2_000);
    expect((await update(keyId, { name: "old", active: false })).key).toMatchObject({
      name: "old",
      active: false,
    });
  });

  test("a management key has no spender, whatever is changed; what it minted stays valid", async () => {
    const { keyId } = await mint({ kind: MANAGEMENT });
    const { secret: minted } = await mint();
    const changes: Change[] = [
      { name: "m" },
      { active: false },
      expiring(world.clock.now() + HOUR),
      noCap,
      never,
    ];
    for (const change of changes) await update(keyId, change);
    expect(await listed(keyId)).toMatchObject({ name: "m", active: false, kind: MANAGEMENT });
    expect(world.billing.spenders).toEqual([]);
    await world.keys.verifyKey({ secret: minted });
  });

  test("never brings a key's spender back that is deleted at the same time", async () => {
    const { keyId } = await mint();
    let deleting: Promise<unknown> | undefined;
    world.billing.beforePutSpender = async ({ name }) => {
      if (name !== "late" || deleting !== undefined) return;
      deleting = world.keys.deleteKey({ accountId, keyId });
      // Either the deletion waits for us, or nothing holds it back and it is done first.
      await Promise.race([deleting, someoneWaitsForALock()]);
    };
    await update(keyId, { name: "late" });
    await deleting;
    expect(world.billing.spenders.map(({ active }) => active)).toEqual([true, false]);
    expect(await refusal(update(keyId, { active: true }))).toMatchObject({ reason: "key_not_found" });
    expect(world.billing.spenders).toHaveLength(2);
  });
});

async function someoneWaitsForALock(): Promise<void> {
  for (let attempt = 0; attempt < 500; attempt += 1) {
    const { rowCount } = await world.db.query(
      "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    );
    if (rowCount !== 0) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

describe("DeleteKey of a management key", () => {
  test("works when its kind is named, at once and for good, and what it minted stays valid", async () => {
    const { keyId, secret } = await mint({ kind: MANAGEMENT });
    const { secret: minted } = await mint();
    await world.keys.deleteKey({ accountId, keyId, kind: MANAGEMENT });
    expect(await refusal(world.keys.verifyKey({ secret }))).toMatchObject({ reason: "invalid_api_key" });
    expect(await listed(keyId)).toBeUndefined();
    expect(world.billing.spenders).toEqual([]);
    const again = world.keys.deleteKey({ accountId, keyId, kind: MANAGEMENT });
    expect(await refusal(again)).toMatchObject({ reason: "key_not_found" });
    await world.keys.verifyKey({ secret: minted });
  });

  test("a key of the other kind is not found", async () => {
    const [normal, management] = [await mint(), await mint({ kind: MANAGEMENT })];
    const { accountId: other } = await world.keys.createAccount({ name: "Other" });
    for (const which of [
      { accountId, keyId: normal.keyId, kind: MANAGEMENT },
      { accountId, keyId: management.keyId, kind: NORMAL },
      { accountId, keyId: management.keyId, kind: KeyKind.UNSPECIFIED },
      { accountId: other, keyId: management.keyId, kind: MANAGEMENT },
    ]) {
      expect(await refusal(world.keys.deleteKey(which))).toMatchObject({ reason: "key_not_found" });
    }
    for (const { secret } of [normal, management]) await world.keys.verifyKey({ secret });
  });

  test("web tokens are no kind that can be deleted or listed", async () => {
    const { keyId } = await mint();
    for (const call of [
      world.keys.deleteKey({ accountId, keyId, kind: KeyKind.WEB_TOKEN }),
      world.keys.listKeys({ accountId, kind: KeyKind.WEB_TOKEN }),
    ]) {
      expect(await refusal(call)).toMatchObject({ reason: "invalid_value", param: "kind" });
    }
    expect(await listed(keyId)).toBeDefined();
  });
});
