// PostgreSQL in trouble: each call gets one clear refusal, nothing is half done, and it works again afterwards.
import { OutcomeCode } from "@gr/proto/billing";
import { until } from "@gr/testing";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type BillingUnderTest, startBilling, startBillingOn } from "../test/start-billing.ts";
import { capture, claiming, openWallet, place, post, postOne } from "../test/wallet.ts";

const { DONE } = OutcomeCode;
const UNAVAILABLE = { reason: "billing_unavailable" };

let ledger: BillingUnderTest;
beforeAll(async () => {
  ledger = await startBilling();
  await ledger.db.query(`CREATE FUNCTION fill_disk() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$`);
});
afterAll(() => ledger.stopSound());

async function withFullDisk(table: string, work: () => Promise<void>): Promise<void> {
  await ledger.db.query(
    `CREATE TRIGGER full_disk BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION fill_disk()`,
  );
  await work().finally(() => ledger.db.query(`DROP TRIGGER full_disk ON ${table}`));
}

test("a full disk fails a batch of captures, which are charged once when there is room again", async () => {
  const count = 6;
  const mine = await openWallet(ledger.inProcess, 1_000n);
  const holds = Array.from({ length: count }, () => place(mine, 10n));
  await post(ledger.inProcess, ...holds);
  const captures = holds.map(({ holdId }) => capture(holdId, 7n));
  await withFullDisk("step", () =>
    expect(post(ledger.inProcess, ...captures)).rejects.toMatchObject(UNAVAILABLE),
  );
  const { accountId } = mine;
  expect(await ledger.inProcess.getCredits({ accountId })).toMatchObject({
    remainingCredits: 1_000n,
    heldCredits: BigInt(count) * 10n,
  });
  for (const _again of [1, 2]) {
    const outcomes = await post(ledger.inProcess, ...captures);
    expect(outcomes.every(({ code }) => code === DONE)).toBe(true);
  }
  expect(await ledger.inProcess.getCredits({ accountId })).toMatchObject({
    remainingCredits: 1_000n - BigInt(count) * 7n,
    heldCredits: 0n,
  });
});

test("a full disk leaves neither hold nor claim of a place, and its key is free", async () => {
  const mine = await openWallet(ledger.inProcess, 1_000n);
  await withFullDisk("claim", () =>
    expect(postOne(ledger.inProcess, claiming(mine, 10n, "k"))).rejects.toMatchObject(UNAVAILABLE),
  );
  expect(await ledger.inProcess.getCredits({ accountId: mine.accountId })).toMatchObject({ heldCredits: 0n });
  expect((await postOne(ledger.inProcess, claiming(mine, 10n, "k"))).code).toBe(DONE);
});

test("reads that wait for a connection in vain are told so, and spending has its own", async () => {
  const mine = await openWallet(ledger.inProcess, 1_000n);
  const small = await startBillingOn(ledger.url, ledger.clock, { DATABASE_POOL_SIZE: "2" });
  const blocker = await ledger.db.connect();
  try {
    await postOne(small.inProcess, place(mine, 1n));
    // The writer has the account in memory; a first read of it needs this table.
    await blocker.query("BEGIN; LOCK TABLE account_state IN ACCESS EXCLUSIVE MODE");
    const credits = () => small.inProcess.getCredits({ accountId: mine.accountId });
    // One connection is for reads and for the rounds of the process; the writer has the other one.
    const inVain = Promise.all([1, 2].map(() => expect(credits()).rejects.toMatchObject(UNAVAILABLE)));
    expect((await postOne(small.inProcess, place(mine, 1n))).code).toBe(DONE);
    await inVain;
    await blocker.query("ROLLBACK");
    // On a slow machine the rounds of the process have the connection for longer than a read waits for it.
    await until(async () => (await credits()).heldCredits === 2n, { timeoutMs: 60_000 });
  } finally {
    blocker.release();
    await small.stop();
  }
});
