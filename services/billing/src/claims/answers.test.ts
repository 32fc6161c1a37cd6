// Kept answers: whoever repeats a claimed request gets what was answered first, whatever died in between.
import { randomBytes, randomUUID } from "node:crypto";
import { OutcomeCode } from "@gr/proto/billing";
import { createLogger, openPool } from "@gr/runtime";
import { until } from "@gr/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { readDetail } from "../chain/state-text.ts";
import { sweepClaims } from "../follower/claim-sweep-store.ts";
import { billingSchema } from "../test/migrated-database.ts";
import { type BillingUnderTest, startBilling, startBillingOn, THURSDAY } from "../test/start-billing.ts";
import { capture, claiming, openWallet, place, post, postOne, release, type Wallet } from "../test/wallet.ts";

const DAY = 86_400_000;
/** Age at which a claim is deleted. */
const SWEPT = DAY + 3_600_000;
const BODY = Buffer.from('{"id":"chatcmpl-1"}');

let ledger: BillingUnderTest;
let mine: Wallet;
beforeAll(async () => {
  ledger = await startBilling();
});
beforeEach(async () => {
  ledger.clock.set(THURSDAY);
  mine = await openWallet(ledger.billing, 1_000_000n);
});
afterAll(async () => {
  // Verification expects each claim and answer that no sweep may delete by this time.
  ledger.clock.set(THURSDAY + 2 * DAY);
  await ledger.stopSound();
});

const answer = {
  credits: 7n,
  costPicoUsd: 699_999_999n,
  contentType: "application/json; charset=utf-8",
  body: BODY,
};
const keep = (holdId: string, fields: Partial<typeof answer> = {}, client = ledger.inProcess) =>
  client.keepAnswer({ holdId, ...answer, ...fields });
const read = async (holdId: string, { accountId } = mine) =>
  (await ledger.inProcess.readAnswer({ accountId, holdId })).answer;
const captured = (holdId: string) => capture(holdId, answer.credits, answer.costPicoUsd);

async function claimed(key: string = randomUUID(), fields = {}): Promise<string> {
  const { holdId, ...operation } = claiming(mine, 30n, key, fields);
  expect((await postOne(ledger.inProcess, operation)).code).toBe(OutcomeCode.DONE);
  return holdId;
}

describe("KeepAnswer", () => {
  test("keeps an answer byte for byte, up to 8 MiB and no more", async () => {
    for (const bytes of [0, 1, 8 * 1024 * 1024]) {
      const body = randomBytes(bytes);
      const holdId = await claimed();
      await keep(holdId, { body }, ledger.billing);
      const kept = (await ledger.billing.readAnswer({ accountId: mine.accountId, holdId })).answer;
      expect(kept?.contentType).toBe(answer.contentType);
      expect(Buffer.compare(kept?.body ?? Buffer.from("none"), body)).toBe(0);
      await postOne(ledger.inProcess, captured(holdId));
    }
    const holdId = await claimed();
    const tooMuch = keep(holdId, { body: Buffer.alloc(8 * 1024 * 1024 + 1) });
    await expect(tooMuch).rejects.toMatchObject({ reason: "invalid_value", param: "body" });
    expect(await read(holdId)).toBeUndefined();
  });

  test("again changes nothing, before the capture and after it", async () => {
    const holdId = await claimed();
    await keep(holdId);
    const other = { body: Buffer.from("other"), contentType: "text/plain", credits: 9n, costPicoUsd: 1n };
    await keep(holdId, other);
    await postOne(ledger.inProcess, captured(holdId));
    await keep(holdId, other);
    expect(await read(holdId)).toMatchObject({ contentType: answer.contentType, body: new Uint8Array(BODY) });
    const { rows } = await ledger.db.query("SELECT detail FROM step WHERE id = $1 AND kind = 10", [holdId]);
    const kept = rows.map(({ detail }) => readDetail(detail));
    expect(kept).toEqual([{ kept: { charge: answer.credits, cost: answer.costPicoUsd } }]);
  });

  test("needs an open hold that was placed with a claim", async () => {
    const unclaimed = place(mine, 1n);
    const [charged, freed] = [await claimed(), await claimed()];
    await post(ledger.inProcess, unclaimed, captured(charged), release(freed));
    for (const holdId of [randomUUID(), unclaimed.holdId, charged, freed]) {
      await expect(keep(holdId)).rejects.toMatchObject({ reason: "invalid_value", param: "hold_id" });
      expect(await read(holdId)).toBeUndefined();
    }
  });

  test("of a hold whose key was taken over is refused", async () => {
    const freed = await claimed("taken over");
    await postOne(ledger.inProcess, release(freed));
    const owner = await claimed("taken over");
    await expect(keep(freed)).rejects.toMatchObject({ param: "hold_id" });
    expect(await read(owner)).toBeUndefined();
  });

  test("waits for a capture that is under way, and is then too late", async () => {
    const [before, holdId] = [await claimed(), await claimed()];
    await postOne(ledger.inProcess, captured(before));
    const blocker = await ledger.blockSteps();
    const capturing = postOne(ledger.inProcess, captured(holdId));
    await ledger.waitForLocks(1);
    const keeping = keep(holdId).then(
      () => "kept",
      ({ param }) => param,
    );
    await blocker.unblock();
    expect((await capturing).code).toBe(OutcomeCode.DONE);
    expect(await keeping).toBe("hold_id");
    expect(await read(holdId)).toBeUndefined();
  });

  test.each([0, 5])(
    "at another process is seen by a batch that releases its hold, claims its key and %d others",
    async (others) => {
      const holdId = await claimed("k");
      const other = await startBillingOn(ledger.url, ledger.clock);
      try {
        await keep(holdId, {}, other.inProcess);
        const more = Array.from({ length: others }, () => claiming(mine, 1n, randomUUID()));
        const posting = post(ledger.inProcess, release(holdId), claiming(mine, 30n, "k"), ...more);
        const [released, repeated, ...placed] = await posting;
        expect(released?.code).toBe(OutcomeCode.DONE);
        expect(repeated).toMatchObject({ code: OutcomeCode.CLAIM_FINISHED, earlierHoldId: holdId });
        expect(placed.every(({ code }) => code === OutcomeCode.DONE)).toBe(true);
      } finally {
        await other.stop();
      }
    },
  );
});

describe("ReadAnswer", () => {
  test("answers nobody but the account, and nothing after 24 hours", async () => {
    const holdId = await claimed();
    expect(await read(holdId)).toBeUndefined();
    await keep(holdId);
    await postOne(ledger.inProcess, captured(holdId));
    const yours = await openWallet(ledger.inProcess, 1n);
    expect(await read(holdId, yours)).toBeUndefined();
    expect(await read(randomUUID())).toBeUndefined();
    ledger.clock.set(THURSDAY + DAY - 1);
    expect(await read(holdId)).toBeDefined();
    ledger.clock.set(THURSDAY + DAY);
    expect(await read(holdId)).toBeUndefined();
  });

  test("forgets the answer of a key that runs again", async () => {
    const old = await claimed("again");
    await keep(old);
    await postOne(ledger.inProcess, captured(old));
    ledger.clock.advance(DAY);
    const fresh = await claimed("again");
    expect(await read(fresh)).toBeUndefined();
    expect(await read(old)).toBeUndefined();
  });
});

test("a leased hold says what its kept answer is to be captured with, and only then", async () => {
  const service = randomUUID();
  const due = { service, deadlineAt: BigInt(THURSDAY) };
  const [kept, free, bare] = [
    await claimed("kept", due),
    await claimed("free", due),
    await claimed("b", due),
  ];
  const unclaimed = place(mine, 1n, due);
  await postOne(ledger.inProcess, unclaimed);
  await keep(kept);
  await keep(free, { credits: 0n, costPicoUsd: 0n });
  const { holds } = await ledger.inProcess.leaseExpiredHolds({ service, limit: 10, leaseMs: 1_000n });
  const found = new Map(holds.map((hold) => [hold.holdId, hold.kept]));
  expect(found.size).toBe(4);
  expect(found.get(kept)).toMatchObject({ credits: answer.credits, costPicoUsd: answer.costPicoUsd });
  expect(found.get(free)).toMatchObject({ credits: 0n, costPicoUsd: 0n });
  expect([found.get(bare), found.get(unclaimed.holdId)]).toEqual([undefined, undefined]);
  // Whoever has the lease believes that nothing was kept, now and when the lease has run out.
  for (const advance of [0, 10_000]) {
    ledger.clock.advance(advance);
    await expect(keep(bare)).rejects.toMatchObject({ reason: "invalid_value", param: "hold_id" });
  }
  await keep(kept);
});

test("an answer is kept before its hold is leased, and then the lease knows it, or not at all", async () => {
  const service = randomUUID();
  for (let round = 0; round < 30; round += 1) {
    const holdId = await claimed(`race ${round}`, { service, deadlineAt: BigInt(THURSDAY) });
    const lease = () => ledger.inProcess.leaseExpiredHolds({ service, limit: 10, leaseMs: 60_000n });
    const [kept, leased] = await Promise.allSettled([keep(holdId), lease()]);
    // A lease skips a hold that is being kept at this moment.
    const holds = [...(leased.status === "fulfilled" ? leased.value.holds : []), ...(await lease()).holds];
    const found = holds.find((hold) => hold.holdId === holdId);
    expect(found).toBeDefined();
    expect(found?.kept !== undefined).toBe(kept.status === "fulfilled");
    await postOne(ledger.inProcess, release(holdId));
  }
});

describe("the sweeper", () => {
  const held = async () => {
    const { rows } = await ledger.db.query<{ hold_id: string }>(
      "SELECT hold_id FROM claim WHERE account_id = $1",
      [mine.accountId],
    );
    return rows.map((row) => row.hold_id);
  };

  test("deletes claims that are 25 hours old, with their answers, unless their request still runs", async () => {
    const [charged, freed, running] = [await claimed(), await claimed(), await claimed()];
    await keep(charged);
    await post(ledger.inProcess, captured(charged), release(freed));
    ledger.clock.set(THURSDAY + 1);
    const younger = await claimed();
    await postOne(ledger.inProcess, release(younger));
    ledger.clock.set(THURSDAY + SWEPT);
    // A process that starts sweeps at once.
    const other = await startBillingOn(ledger.url, ledger.clock);
    await until(async () => (await held()).length < 4, { timeoutMs: 60_000 }).finally(() => other.stop());
    expect((await held()).toSorted()).toEqual([running, younger].toSorted());
    const answers = await ledger.db.query("SELECT FROM kept_answer WHERE hold_id = $1", [charged]);
    expect(answers.rowCount).toBe(0);
  });

  test("deletes in slices until there are none left, or its process stops", async () => {
    const places = Array.from({ length: 601 }, (_, index) => claiming(mine, 1n, `slice ${index}`));
    await post(ledger.inProcess, ...places);
    await post(ledger.inProcess, ...places.map(({ holdId }) => release(holdId)));
    const now = ledger.clock.now() + SWEPT;
    const log = createLogger("silent", "test");
    const pool = await openPool({ DATABASE_URL: ledger.url, DATABASE_POOL_SIZE: 1 }, billingSchema, log);
    try {
      await sweepClaims(pool, now, AbortSignal.abort());
      expect(await held()).toHaveLength(601);
      await sweepClaims(pool, now, new AbortController().signal);
      expect(await held()).toEqual([]);
    } finally {
      await pool.end();
    }
  });
});
