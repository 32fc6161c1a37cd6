// A process with a clock far ahead decides about no money: it would open the next windows of all budgets, for all processes.
import { OutcomeCode } from "@gr/proto/billing";
import { ManualClock, until } from "@gr/testing";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type BillingUnderTest, startBilling, startBillingOn } from "../test/start-billing.ts";
import { openWallet, place, postOne } from "../test/wallet.ts";

const MONTH_MS = 31 * 86_400_000;
const REFUSED = { reason: "billing_unavailable", retryAfterMs: 1_000 };
const NOT_READY = { status: 503 };

let ledger: BillingUnderTest;
beforeAll(async () => {
  ledger = await startBilling();
});
afterAll(() => ledger.stopSound());

async function latestStep(): Promise<number> {
  const { rows } = await ledger.db.query<{ at: bigint }>("SELECT max(at) AS at FROM step");
  return Number(rows[0]?.at);
}

test("a process that starts with a clock a month ahead is not ready and decides nothing, until its clock is right", async () => {
  const mine = await openWallet(ledger.billing, 100n);
  const clock = new ManualClock(Date.now() + MONTH_MS);
  const ahead = await startBillingOn(ledger.url, clock);
  try {
    await expect(postOne(ahead.inProcess, place(mine, 1n))).rejects.toMatchObject(REFUSED);
    const answer = await ahead.readyz();
    expect(answer).toMatchObject(NOT_READY);
    expect(JSON.stringify(answer.body)).toMatch(/The clock of this process is \d+ s ahead of PostgreSQL's/);
    expect(await latestStep()).toBeLessThanOrEqual(ledger.clock.now());
    expect((await postOne(ledger.billing, place(mine, 1n))).code).toBe(OutcomeCode.DONE);
    clock.set(Date.now());
    expect((await postOne(ahead.inProcess, place(mine, 1n))).code).toBe(OutcomeCode.DONE);
    await until(async () => (await ahead.readyz()).status === 200, { timeoutMs: 60_000 });
  } finally {
    await ahead.stop();
  }
});

test("a clock that is set a month ahead ends the decisions of a running process at once", async () => {
  const mine = await openWallet(ledger.billing, 100n);
  const clock = new ManualClock(Date.now());
  const running = await startBillingOn(ledger.url, clock);
  try {
    expect((await postOne(running.inProcess, place(mine, 1n))).code).toBe(OutcomeCode.DONE);
    clock.advance(MONTH_MS);
    await expect(postOne(running.inProcess, place(mine, 1n))).rejects.toMatchObject(REFUSED);
    expect(await latestStep()).toBeLessThanOrEqual(Date.now());
    expect(await running.readyz()).toMatchObject(NOT_READY);
  } finally {
    await running.stop();
  }
});
