// The version before beside a carry: its writes are refused and change nothing, an open transaction of it is waited for, and books that
// do not add up stay as they are.
import { randomUUID } from "node:crypto";
import { type Pool, requireSchema } from "@gr/runtime";
import { until } from "@gr/testing";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import {
  asVersionBefore,
  carry,
  type EarlierDatabase,
  earlierDatabase,
} from "../test/earlier/earlier-database-store.ts";
import { EarlierLedger } from "../test/earlier/earlier-ledger-store.ts";
import { NOTHING, TAG } from "../test/earlier/earlier-operations.ts";
import {
  addOldClaim,
  breakHeld,
  countRows,
  creditSteps,
  lockKey,
  writesOfBefore,
} from "../test/earlier/version-before-store.ts";
import { lockWaiters } from "../test/ledger-store.ts";

const KEY = {
  ...({ name: "key", cap: 100n, period: "day", expiresAt: null, active: true, revision: 0n } as const),
  createdAt: new Date(),
};
const PATIENCE = { timeoutMs: 60_000 };

let database: EarlierDatabase;
let ledger: EarlierLedger;
const accountId = randomUUID();
const spenderId = randomUUID();
const holdId = randomUUID();

/** An account with one key and one open hold. */
beforeEach(async () => {
  database = await earlierDatabase("empty");
  ledger = new EarlierLedger(database.pool);
  const now = new Date();
  await ledger.open(accountId);
  await ledger.putDeposit(accountId, { id: randomUUID(), credits: 60n, status: "COMPLETED" }, now);
  await ledger.putSpender({ ...KEY, id: spenderId, accountId });
  expect(await place(holdId, 20n)).toMatchObject({ code: "done" });
});
afterEach(() => database.drop());

function place(id: string, credits: bigint) {
  const deadlineAt = BigInt(Date.now() + 600_000);
  const fields = { accountId, spenderId, credits, deadlineAt, tag: TAG };
  return ledger.post({ ...NOTHING, kind: "place", holdId: id, ...fields }, new Date());
}

test("each write of the version before is refused for a later try, and changes nothing", async () => {
  await carry(database.url);
  const before = await countRows(database.pool);
  const refused = { code: "40001" };
  await expect(place(randomUUID(), 1n)).rejects.toMatchObject(refused);
  const capture = { ...NOTHING, kind: "capture", holdId, credits: 1n, cost: 1n } as const;
  await expect(ledger.post(capture, new Date())).rejects.toMatchObject(refused);
  // A refusal would be an answer from old totals.
  await expect(place(randomUUID(), 1_000_000n)).rejects.toMatchObject(refused);
  for (const [name, write] of Object.entries(writesOfBefore({ accountId, spenderId, holdId }))) {
    await expect(database.pool.query(write).then(() => name)).rejects.toMatchObject(refused);
  }
  expect(await countRows(database.pool)).toEqual(before);
});

test("the version before deletes its old claims, and is not ready", async () => {
  await addOldClaim(database.pool, accountId);
  await carry(database.url);
  const { rowCount } = await database.pool.query("DELETE FROM idempotency");
  expect(rowCount).toBe(1);
  await asVersionBefore((schema) =>
    expect(requireSchema(database.pool, schema)).rejects.toThrow("A newer version has removed"),
  );
});

test("a write that is not committed yet is waited for and carried", async () => {
  const client = await database.pool.connect();
  let carried: Promise<void>;
  try {
    await client.query("BEGIN");
    await client.query("UPDATE account SET credits = credits + 5 WHERE id = $1", [accountId]);
    carried = carry(database.url);
    await waitForLocks(database.pool);
    await client.query("COMMIT");
  } finally {
    client.release();
  }
  await carried;
  expect(await creditSteps(database.pool, accountId)).toEqual([65n]);
});

test("a write that locks the tables in another order is not the victim of the carry", async () => {
  const client = await database.pool.connect();
  let carried: Promise<void>;
  try {
    await client.query("BEGIN");
    await lockKey(client, spenderId);
    carried = carry(database.url);
    await waitForLocks(database.pool);
    // The carry has the table of accounts and waits for that of keys.
    await client.query("UPDATE account SET credits = credits + 5 WHERE id = $1", [accountId]);
    await client.query("COMMIT");
  } finally {
    client.release();
  }
  await carried;
  expect(await creditSteps(database.pool, accountId)).toEqual([65n]);
});

test("books that do not add up are not carried, and the version before goes on", async () => {
  await breakHeld(database.pool, accountId);
  await expect(carry(database.url)).rejects.toThrow(
    `The accounts were not carried, because the totals of account ${accountId} do not add up`,
  );
  expect(await place(randomUUID(), 1n)).toMatchObject({ code: "done" });
});

test("a database without accounts is migrated", async () => {
  const empty = await earlierDatabase("empty");
  try {
    await carry(empty.url);
    expect(await countRows(empty.pool)).toMatchObject({ step: 0n });
  } finally {
    await empty.drop();
  }
});

async function waitForLocks(pool: Pool): Promise<void> {
  await until(async () => (await lockWaiters(pool)) > 0, PATIENCE);
}
