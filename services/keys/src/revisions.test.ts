// Guarantees of the revisions that billing receives with keys: late messages can be distinguished from newer ones.
import { setTimeout } from "node:timers/promises";
import { ServiceError } from "@gr/proto";
import type { Spender } from "@gr/proto/billing";
import { KeyKind } from "@gr/proto/keys";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { type KeysUnderTest, startKeys } from "./test/start-keys.ts";

let world: KeysUnderTest;
let accountId: string;
/** Every spender that was sent to billing, accepted or not. */
let sent: Spender[];

beforeAll(async () => {
  world = await startKeys();
});
afterAll(async () => {
  await world?.stop();
});
beforeEach(async () => {
  sent = [];
  onSending(async () => undefined);
  accountId = (await world.keys.createAccount({ name: "Acme" })).accountId;
});

function onSending(hook: (spender: Spender) => Promise<void>): void {
  world.billing.beforePutSpender = async (spender) => {
    sent.push(spender);
    await hook(spender);
  };
}

async function mint(kind = KeyKind.NORMAL): Promise<string> {
  const { key } = await world.keys.mintKey({ accountId, name: "a key", kind });
  return key?.keyId ?? "";
}

const rename = (keyId: string, name: string) => world.keys.updateKey({ accountId, keyId, name });
const revisions = () => sent.map(({ revision }) => revision);

async function rowOf(keyId: string): Promise<{ name: string; revision: bigint }> {
  const { rows } = await world.db.query("SELECT name, revision FROM keys.api_key WHERE id = $1", [keyId]);
  return { name: rows[0].name, revision: BigInt(rows[0].revision) };
}

describe("a revision", () => {
  test("is taken by each change that billing may have heard of, whatever became of it, and by no other", async () => {
    const keyId = await mint();
    await rename(keyId, "second");
    onSending(() => Promise.reject(new ServiceError("service_unavailable", "no answer")));
    await expect(rename(keyId, "third")).rejects.toThrow();
    await expect(world.keys.deleteKey({ accountId, keyId })).rejects.toThrow();
    onSending(async () => undefined);
    await world.withCrash("name <> 'broken'", async () => {
      await expect(rename(keyId, "broken")).rejects.toThrow();
    });
    await expect(rename(keyId, "")).rejects.toMatchObject({ reason: "invalid_value" });
    await rename(keyId, "sixth");
    await world.keys.deleteKey({ accountId, keyId });
    await expect(rename(keyId, "eighth")).rejects.toMatchObject({ reason: "key_not_found" });
    expect(revisions()).toEqual([1n, 2n, 3n, 4n, 5n, 6n, 7n]);
    expect((await rowOf(keyId)).revision).toBe(7n);
  });

  test("is stored for good before billing hears of it, and nothing else is", async () => {
    const keyId = await mint();
    const before: object[] = [];
    onSending(async () => {
      before.push(await rowOf(keyId));
    });
    await rename(keyId, "second");
    expect(before).toEqual([{ name: "a key", revision: 2n }]);
    expect(await rowOf(keyId)).toEqual({ name: "second", revision: 2n });
  });

  test("is not used twice by changes at once, and the row is what the highest of them said", async () => {
    const keyId = await mint();
    const names = Array.from({ length: 12 }, (_, index) => `name ${index}`);
    let [running, most] = [0, 0];
    // Every third call fails, in the midst of the others.
    onSending(async ({ revision }) => {
      running += 1;
      most = Math.max(most, running);
      await setTimeout(5);
      running -= 1;
      if (revision % 3n === 0n) throw new ServiceError("service_unavailable", "no answer");
    });
    const outcomes = await Promise.allSettled(names.map((name) => rename(keyId, name)));
    expect(outcomes.filter(({ status }) => status === "rejected")).toHaveLength(4);
    expect(most).toBe(1);
    expect(revisions()).toEqual(Array.from({ length: 13 }, (_, index) => BigInt(index + 1)));
    expect(await rowOf(keyId)).toEqual({ name: sent.at(-1)?.name, revision: 13n });
  });

  test("is not used again when the database was lost while billing was told", async () => {
    const keyId = await mint();
    onSending(() => world.proxy.cut());
    await expect(rename(keyId, "second")).rejects.toThrow();
    onSending(async () => undefined);
    await world.proxy.mend();
    await rename(keyId, "third");
    expect(revisions()).toEqual([1n, 2n, 3n]);
    expect(await rowOf(keyId)).toEqual({ name: "third", revision: 3n });
  });

  describe("that billing refuses as old", () => {
    const staleRevision = () =>
      new ServiceError("invalid_value", "A newer revision is stored.", { param: "spender.revision" });
    const mintKnownAs = async (revision: bigint) => {
      const keyId = await mint();
      const stored = world.billing.spenders.at(-1);
      if (stored !== undefined) stored.revision = revision;
      return keyId;
    };

    test("is raised above the one that billing has, and the change made once more", async () => {
      const keyId = await mintKnownAs(9n);
      onSending(async ({ revision }) => {
        if (revision < 9n) throw staleRevision();
      });
      await rename(keyId, "second");
      expect(sent.slice(1)).toMatchObject([{ revision: 2n }, { revision: 10n, name: "second" }]);
      expect(await rowOf(keyId)).toEqual({ name: "second", revision: 10n });
      await rename(keyId, "third");
      expect(sent.at(-1)).toMatchObject({ revision: 11n, name: "third" });
    });

    test("again and again fails the change", async () => {
      const keyId = await mintKnownAs(9n);
      onSending(() => Promise.reject(staleRevision()));
      await expect(world.keys.deleteKey({ accountId, keyId })).rejects.toThrow("internal error");
      expect(await rowOf(keyId)).toEqual({ name: "a key", revision: 10n });
      expect((await world.keys.listKeys({ accountId })).keys).toHaveLength(1);
    });
  });

  test("of an interrupted mint is followed by the one that switches its spender off", async () => {
    await world.withCrash("deleted_at IS NOT NULL OR name <> 'broken'", async () => {
      const minting = world.keys.mintKey({ accountId, name: "broken", kind: KeyKind.NORMAL });
      await expect(minting).rejects.toThrow();
    });
    await world.settle();
    expect(sent.filter(({ name }) => name === "broken")).toMatchObject([
      { revision: 1n, active: true },
      { revision: 2n, active: false },
    ]);
  });

  test("of web tokens is always the same, as is what it stands for", async () => {
    await world.keys.issueWebToken({ accountId });
    await world.keys.issueWebToken({ accountId });
    expect(revisions()).toEqual([1n, 1n]);
    expect(sent[0]).toEqual(sent[1]);
  });
});

test("a change of one key waits for no change of another", async () => {
  const [slow, other] = [await mint(), await mint()];
  let done = false;
  onSending(async ({ spenderId }) => {
    if (spenderId !== slow) return;
    await rename(other, "second");
    done = true;
  });
  await rename(slow, "second");
  expect(done).toBe(true);
});
