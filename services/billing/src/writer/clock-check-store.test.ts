// A process with a clock far ahead decides about no money, because it would open the next windows of all budgets for all processes. It
// deletes no log, either.
import { randomUUID } from "node:crypto";
import { OutcomeCode } from "@gr/proto/billing";
import { ManualClock, until } from "@gr/testing";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { SWEEP_EVERY_MS } from "../module.ts";
import { type BillingUnderTest, startBilling, startBillingOn } from "../test/start-billing.ts";
import { openWallet, place, postOne } from "../test/wallet.ts";
import { textMonths } from "../text-log/text-months-store.ts";

const MONTH_MS = 31 * 86_400_000;
/** Sweeps of one process: claims, seals, lines, prompts. */
const SWEEPS = 4;
const REFUSED = { reason: "billing_unavailable", retryAfterMs: 1_000 };
const NOT_READY = { status: 503 };

let ledger: BillingUnderTest;
beforeAll(async () => {
  ledger = await startBilling();
  // The other processes seal the months before PostgreSQL's time, so no step may be of such a month.
  ledger.clock.set(Date.now());
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

/** Counts the pauses between two sweeps, which begin after the first ones. */
class SweepClock extends ManualClock {
  sweeps = 0;

  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms === SWEEP_EVERY_MS) this.sweeps += 1;
    return super.sleep(ms, signal);
  }
}

test("a process with a clock a year ahead deletes no line, prompt or claim, and creates no month", async () => {
  const id = randomUUID();
  await ledger.db.query(
    `INSERT INTO text_line (id, account_id, spender_id, model, api, stream, began_at, took_ms, finish_reason, user_tag, attempts,
       error_reason, error_message) VALUES ($1, $1, $1, 'm', 'chat', false, now(), 1, '', '', '[]', '', '')`,
    [id],
  );
  await ledger.db.query("INSERT INTO saved_text VALUES ($1, $1, $1, now(), '{}', '{}', 2, 2, 4)", [id]);
  // Only versions before the chain wrote claims there, and a trigger refuses them.
  await ledger.db.query(`BEGIN; SET LOCAL session_replication_role = replica;
    INSERT INTO idempotency (hold_id, account_id, key, fingerprint, claimed_at) VALUES ('${id}', '${id}', '', '', now()); COMMIT`);
  const clock = new SweepClock(Date.now() + 12 * MONTH_MS);
  const ahead = await startBillingOn(ledger.url, clock);
  try {
    await until(() => clock.sweeps === SWEEPS, { timeoutMs: 60_000 });
  } finally {
    await ahead.stop();
  }
  for (const row of ["text_line WHERE id", "saved_text WHERE id", "idempotency WHERE hold_id"]) {
    expect((await ledger.db.query(`SELECT FROM ${row} = $1`, [id])).rowCount).toBe(1);
  }
  const last = (await textMonths(ledger.db)).at(-1)?.beginsAt ?? new Date(0);
  expect(last.getTime()).toBeLessThan(clock.now());
});
