// Many callers at once, several processes on one ledger, connections that die: nothing is lost, doubled or overrun.
import { randomUUID } from "node:crypto";
import { type Outcome, OutcomeCode, SpendPeriod } from "@gr/proto/billing";
import { ManualClock, until } from "@gr/testing";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  type BillingClient,
  type BillingUnderTest,
  startBilling,
  startBillingOn,
} from "../test/start-billing.ts";
import {
  abandon,
  capture,
  claiming,
  type OperationInit,
  openAccount,
  openWallet,
  place,
  post,
  postOne,
  putSpender,
  release,
  type Wallet,
} from "../test/wallet.ts";

const { DONE, SPEND_LIMIT_EXCEEDED, INSUFFICIENT_CREDITS } = OutcomeCode;

const RETRIES = /^billing_commit_retries_total (\d+)$/m;

let ledger: BillingUnderTest;
beforeAll(async () => {
  ledger = await startBilling();
});
afterAll(() => ledger.stopSound());

const countOf = (outcomes: readonly Outcome[], code: OutcomeCode) =>
  outcomes.filter((outcome) => outcome.code === code).length;

describe("500 places at once", () => {
  test("on a cap for 7 place exactly 7", async () => {
    const mine = await openWallet(ledger.billing, 1_000_000n, { capCredits: 7n * 100n + 99n });
    const outcomes = await Promise.all(
      Array.from({ length: 500 }, () => postOne(ledger.billing, place(mine, 100n))),
    );
    expect(countOf(outcomes, DONE)).toBe(7);
    expect(countOf(outcomes, SPEND_LIMIT_EXCEEDED)).toBe(493);
    expect(outcomes.filter(({ code, inFlight }) => code !== DONE && !inFlight)).toEqual([]);
  });

  test("on a balance for 7, from many spenders, place exactly 7", async () => {
    const accountId = await openAccount(ledger.billing, 7n * 100n + 99n);
    const spenders = await Promise.all(
      Array.from({ length: 10 }, () => putSpender(ledger.billing, accountId)),
    );
    const outcomes = await Promise.all(
      Array.from({ length: 500 }, (_, index) =>
        postOne(ledger.billing, place({ accountId, spenderId: spenders[index % 10] ?? "" }, 100n)),
      ),
    );
    expect(countOf(outcomes, DONE)).toBe(7);
    expect(countOf(outcomes, INSUFFICIENT_CREDITS)).toBe(493);
  });
});

test("a capture and a release of one hold at once have one winner", async () => {
  const mine = await openWallet(ledger.billing, 100_000n);
  const other = await startBillingOn(ledger.url, ledger.clock);
  try {
    for (let round = 0; round < 30; round += 1) {
      const hold = place(mine, 10n);
      await postOne(ledger.billing, hold);
      const [captured, released] = await Promise.all([
        postOne(ledger.billing, capture(hold.holdId, 10n, 50n)),
        postOne(other.billing, abandon(hold.holdId)),
      ]);
      expect([captured.code, released.code].toSorted()).toEqual([DONE, OutcomeCode.ALREADY_RESOLVED]);
    }
  } finally {
    await other.stop();
  }
});

test("a spender that is switched off at one process places nothing at another", async () => {
  const mine = await openWallet(ledger.billing, 1_000n);
  const other = await startBillingOn(ledger.url, ledger.clock);
  try {
    // Both have the account in memory.
    for (const { billing } of [ledger, other])
      expect((await postOne(billing, place(mine, 1n))).code).toBe(DONE);
    await putSpender(other.billing, mine.accountId, { spenderId: mine.spenderId, active: false });
    expect((await postOne(ledger.billing, place(mine, 1n))).code).toBe(OutcomeCode.SPENDER_INACTIVE);
  } finally {
    await other.stop();
  }
});

test("a process whose clock is behind decides by the time of the account's latest step", async () => {
  const mine = await openWallet(ledger.billing, 1_000n);
  const behind = await startBillingOn(ledger.url, new ManualClock(ledger.clock.now() - 600_000));
  try {
    const expiresAt = BigInt(ledger.clock.now());
    const spenderId = await putSpender(ledger.billing, mine.accountId, { expiresAt });
    const from = { ...mine, spenderId };
    expect((await postOne(ledger.billing, place(from, 1n))).code).toBe(OutcomeCode.SPENDER_EXPIRED);
    expect((await postOne(behind.inProcess, place(from, 1n))).code).toBe(OutcomeCode.SPENDER_EXPIRED);
  } finally {
    await behind.stop();
  }
});

test("a spender that is replaced while it spends keeps its books", async () => {
  const mine = await openWallet(ledger.billing, 1_000_000n);
  const periods = [SpendPeriod.DAY, SpendPeriod.LIFETIME, SpendPeriod.MONTH];
  let finished = false;
  const spending = Array.from({ length: 16 }, async () => {
    for (let round = 0; round < 15; round += 1) {
      const hold = place(mine, 5n);
      expect((await postOne(ledger.billing, hold)).code).toBe(DONE);
      expect((await postOne(ledger.billing, capture(hold.holdId, 3n))).code).toBe(DONE);
    }
  });
  const replacing = (async () => {
    for (let index = 0; !finished; index += 1) {
      const period = periods[index % periods.length] ?? SpendPeriod.DAY;
      await putSpender(ledger.billing, mine.accountId, { spenderId: mine.spenderId, period });
    }
  })();
  await Promise.all(spending).finally(() => {
    finished = true;
  });
  await replacing;
  const { remainingCredits, heldCredits } = await ledger.billing.getCredits({ accountId: mine.accountId });
  expect({ remainingCredits, heldCredits }).toEqual({
    remainingCredits: 1_000_000n - 16n * 15n * 3n,
    heldCredits: 0n,
  });
});

describe("two processes on one database", () => {
  test("hammer the same accounts, and the books add up", async () => {
    const other = await startBillingOn(ledger.url, ledger.clock);
    try {
      const wallets = await Promise.all(
        Array.from({ length: 6 }, () => openWallet(ledger.billing, 10_000_000n)),
      );
      await Promise.all(
        [ledger.billing, other.billing, ledger.billing, other.billing].map((billing) =>
          hammer(billing, wallets),
        ),
      );
      const read = wallets.map(({ accountId }) => ledger.billing.getCredits({ accountId }));
      const charged = (await Promise.all(read)).reduce(
        (sum, { remainingCredits }) => sum + 10_000_000n - remainingCredits,
        0n,
      );
      // 4 callers, 25 rounds, 12 of 18 holds captured at 3 credits each.
      expect(charged).toBe(4n * 25n * 12n * 3n);
      expect(await retriesOf(ledger, other)).toBeGreaterThan(0);
    } finally {
      await other.stop();
    }
  });

  test("place one of 50 requests with one key, and find 49 of them in progress", async () => {
    const other = await startBillingOn(ledger.url, ledger.clock);
    try {
      for (let round = 0; round < 10; round += 1) {
        const mine = await openWallet(ledger.billing, 1_000_000n);
        const places = Array.from({ length: 50 }, () => claiming(mine, 100n, `round ${round}`));
        const outcomes = await Promise.all(
          places.map((one, index) => postOne((index % 2 === 0 ? ledger : other).billing, one)),
        );
        expect(countOf(outcomes, DONE)).toBe(1);
        expect(countOf(outcomes, OutcomeCode.CLAIM_IN_PROGRESS)).toBe(49);
        const { heldCredits } = await ledger.billing.getCredits({ accountId: mine.accountId });
        expect(heldCredits).toBe(100n);
      }
    } finally {
      await other.stop();
    }
  });

  test("charge each of many keys once, whoever sends it to whom until it is finished", async () => {
    const other = await startBillingOn(ledger.url, ledger.clock);
    const mine = await openWallet(ledger.billing, 1_000_000n);
    const keys = Array.from({ length: 12 }, (_, index) => `key ${index}`);
    const finish = async (billing: BillingClient, key: string): Promise<string> => {
      for (let attempt = 0; attempt < 1_000; attempt += 1) {
        const { holdId, ...operation } = claiming(mine, 10n, key);
        const { code, earlierHoldId } = await postOne(billing, operation);
        if (code === OutcomeCode.CLAIM_FINISHED) return earlierHoldId;
        if (code !== DONE) expect(code).toBe(OutcomeCode.CLAIM_IN_PROGRESS);
        else await postOne(billing, attempt % 3 === 0 ? release(holdId) : capture(holdId, 7n));
      }
      throw new Error(`${key} is not finished`);
    };
    try {
      const finished = await Promise.all(
        keys.flatMap((key) =>
          [ledger, other, ledger, other].map(async ({ billing }) => [key, await finish(billing, key)]),
        ),
      );
      expect(new Set(finished.map(([key, holdId]) => `${key}: ${holdId}`)).size).toBe(keys.length);
      const { remainingCredits } = await ledger.billing.getCredits({ accountId: mine.accountId });
      expect(remainingCredits).toBe(1_000_000n - BigInt(keys.length) * 7n);
    } finally {
      await other.stop();
    }
  });

  /** Lost races of these processes. */
  async function retriesOf(...processes: readonly Pick<BillingUnderTest, "metrics">[]): Promise<number> {
    const read = await Promise.all(processes.map(async ({ metrics }) => RETRIES.exec(await metrics())?.[1]));
    return read.reduce((sum, count) => sum + Number(count), 0);
  }

  /** Batches that touch all accounts, in another order each time. */
  async function hammer(billing: BillingClient, wallets: readonly Wallet[]): Promise<void> {
    for (let round = 0; round < 25; round += 1) {
      const order = wallets.toSorted(() => Math.random() - 0.5);
      const holds = [...order, ...order.toReversed(), ...order].map((from) => place(from, 5n));
      expect(countOf(await post(billing, ...holds), DONE)).toBe(holds.length);
      const settle = holds.map(({ holdId }, index) =>
        index % 3 === 0 ? release(holdId) : capture(holdId, 3n),
      );
      expect(countOf(await post(billing, ...settle), DONE)).toBe(holds.length);
    }
  }
});

describe("a connection that dies", () => {
  const WRITERS = `FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE 'INSERT INTO step%'`;

  /** Kills what the ledger's writer runs on; other connections of the module live on. */
  const kill = async (): Promise<number> =>
    (await ledger.db.query(`SELECT pg_terminate_backend(pid) ${WRITERS}`)).rowCount ?? 0;

  /** A session that is told to end takes a moment: until then it counts. */
  const waitForWriters = (count: number) =>
    until(async () => (await ledger.db.query(`SELECT ${WRITERS}`)).rowCount === count, { timeoutMs: 60_000 });

  test("in the middle of a batch fails its callers, who then charge once by asking again", async () => {
    const mine = await openWallet(ledger.billing, 100_000n);
    const holds = Array.from({ length: 20 }, () => place(mine, 100n));
    await post(ledger.billing, ...holds);
    const batch: OperationInit[] = holds.map(({ holdId }) => capture(holdId, 30n, 2_999_999_999n));

    const blocker = await ledger.blockSteps();
    const doomed = post(ledger.billing, ...batch);
    doomed.catch(() => undefined);
    await ledger.waitForLocks(1);
    await waitForWriters(1);
    expect(await kill()).toBe(1);
    await expect(doomed).rejects.toMatchObject({ reason: "billing_unavailable" });
    await blocker.unblock();

    for (let again = 0; again < 2; again += 1) {
      expect(countOf(await post(ledger.billing, ...batch), DONE)).toBe(20);
    }
    const { remainingCredits } = await ledger.billing.getCredits({ accountId: mine.accountId });
    expect(remainingCredits).toBe(100_000n - 20n * 30n);
  });

  test("again and again under load loses and doubles nothing that is asked for until it is answered", async () => {
    const mine = await openWallet(ledger.billing, 100_000n);
    let finished = false;
    let answered = 0;
    const persist = async (operation: OperationInit): Promise<Outcome> => {
      for (;;) {
        try {
          const outcome = await postOne(ledger.billing, operation);
          answered += 1;
          return outcome;
        } catch (error) {
          expect(error).toMatchObject({ reason: "billing_unavailable" });
        }
      }
    };
    const requests = Array.from({ length: 200 }, async () => {
      const hold = place(mine, 100n);
      expect((await persist(hold)).code).toBe(DONE);
      expect((await persist(capture(hold.holdId, 30n))).code).toBe(DONE);
    });
    let kills = 0;
    const killer = (async () => {
      while (!finished) {
        const before = answered;
        kills += await kill();
        // Not faster, or nothing would ever get through on a slow machine.
        do await new Promise((resolve) => setTimeout(resolve, 25));
        while (answered === before && !finished);
      }
    })();
    await Promise.all(requests).finally(() => {
      finished = true;
    });
    await killer;
    expect(kills).toBeGreaterThan(0);
    const { remainingCredits } = await ledger.billing.getCredits({ accountId: mine.accountId });
    expect(remainingCredits).toBe(100_000n - 200n * 30n);
  });

  test("while nobody needs it is replaced without anybody's notice", async () => {
    const mine = await openWallet(ledger.billing, 100n);
    await postOne(ledger.billing, place(mine, 1n));
    await waitForWriters(1);
    expect(await kill()).toBe(1);
    await waitForWriters(0);
    expect((await postOne(ledger.billing, place(mine, 1n))).code).toBe(DONE);
  });
});

test("a change that would exceed the numbers of an account fails for its caller alone", async () => {
  const [mine, accountId] = [
    await openWallet(ledger.billing, 1_000n),
    await openAccount(ledger.billing, 10n),
  ];
  const setCredited = (credited: bigint) =>
    ledger.db.query("UPDATE step SET credited = $2 WHERE account_id = $1 AND kind = 11", [
      accountId,
      credited,
    ]);
  await setCredited(2n ** 63n - 5n);
  const cold = await startBillingOn(ledger.url, ledger.clock);
  try {
    const change = { adjustmentId: randomUUID(), accountId, credits: 10n, reason: "test" };
    const calls = await Promise.allSettled([
      ...Array.from({ length: 20 }, () => postOne(cold.inProcess, place(mine, 1n))),
      cold.inProcess.putAdjustment(change),
      ...Array.from({ length: 20 }, () => postOne(cold.inProcess, place(mine, 1n))),
    ]);
    expect(calls.filter(({ status }) => status === "fulfilled")).toHaveLength(40);
    const tooLarge = { reason: "invalid_value", param: "operations" };
    expect(calls[20]).toMatchObject({ status: "rejected", reason: tooLarge });
  } finally {
    await cold.stop();
    await setCredited(10n);
  }
});

test("a caller that gave up while it waited for its turn has placed nothing", async () => {
  const mine = await openWallet(ledger.billing, 1_000n);
  const blocker = await ledger.blockSteps();
  const first = postOne(ledger.billing, place(mine, 1n));
  // Its commit is under way, so whoever comes now waits for the next one.
  await ledger.waitForLocks(1);
  const patience = new AbortController();
  const second = ledger.inProcess.post({ operations: [place(mine, 100n)] }, { signal: patience.signal });
  patience.abort();
  await expect(second).rejects.toMatchObject({ reason: "service_unavailable" });
  await blocker.unblock();
  expect((await first).code).toBe(DONE);
  await postOne(ledger.billing, place(mine, 1n));
  const { heldCredits } = await ledger.billing.getCredits({ accountId: mine.accountId });
  expect(heldCredits).toBe(2n);
});
