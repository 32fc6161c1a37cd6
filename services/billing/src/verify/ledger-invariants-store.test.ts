// The verification finds every kind of damage, and nothing else. Rows are broken as a superuser with triggers off.

import { DepositStatus, OutcomeCode } from "@gr/proto/billing";
import { connectPostgres, createLogger, type Pool } from "@gr/runtime";
import { testDatabase, until } from "@gr/testing";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { startBillingOn } from "../test/start-billing.ts";
import { abandon, capture, claimOf, nextAttempt, place, post, putSpender, release } from "../test/wallet.ts";
import { findDifferences, verifyLedger } from "./ledger-invariants-store.ts";

const ACCOUNT = "00000000-0000-4000-8000-00000000000a";
const SPENDER = "00000000-0000-4000-8000-00000000000b";
const ADJUSTMENT = "00000000-0000-4000-8000-00000000000c";
const DEPOSIT = "00000000-0000-4000-8000-00000000000d";
const OPEN = "00000000-0000-4000-8000-000000000001";
const CAPTURED = "00000000-0000-4000-8000-000000000002";
const RELEASED = "00000000-0000-4000-8000-000000000003";
const ABANDONED = "00000000-0000-4000-8000-000000000004";
const PATIENCE = { timeoutMs: 60_000 };
const NOBODY = "00000000-0000-4000-8000-00000000000f";

/** Small books with everything in them: one hold of each fate. */
async function writeBooks(url: string): Promise<void> {
  const { billing, stop } = await startBillingOn(url);
  const mine = { accountId: ACCOUNT, spenderId: SPENDER };
  const deposit = { depositId: DEPOSIT, accountId: ACCOUNT, credits: 1_000n, source: "test" };
  await billing.openAccount({ accountId: ACCOUNT });
  await billing.putDeposit({ ...deposit, status: DepositStatus.COMPLETED });
  await putSpender(billing, ACCOUNT, { spenderId: SPENDER });
  await billing.putAdjustment({ adjustmentId: ADJUSTMENT, accountId: ACCOUNT, credits: -5n, reason: "test" });
  const holds = [OPEN, CAPTURED, RELEASED, ABANDONED].map((holdId) =>
    place(mine, 100n, { holdId, claim: claimOf(holdId) }),
  );
  await post(billing, ...holds);
  const answer = { contentType: "text/plain", body: Buffer.from("answer") };
  await billing.keepAnswer({ holdId: CAPTURED, credits: 60n, costPicoUsd: 5_999_999_999n, ...answer });
  await billing.keepAnswer({ holdId: RELEASED, credits: 1n, costPicoUsd: 1n, ...answer });
  await post(
    billing,
    capture(CAPTURED, 60n, 5_999_999_999n),
    release(RELEASED, 40n),
    abandon(ABANDONED, 2n),
    nextAttempt(OPEN, 2, 7n),
  );
  await stop();
}

async function copyOfBooks() {
  const database = await testDatabase("billing books", writeBooks);
  const log = createLogger("silent", "test");
  const pool = await connectPostgres({ url: database.url, poolSize: 2, schema: "billing", log });
  const close = async () => {
    await pool.end();
    await database.drop();
  };
  return { pool, url: database.url, close };
}

async function onCopyOfBooks<T>(work: (pool: Pool, url: string) => Promise<T>): Promise<T> {
  const { pool, url, close } = await copyOfBooks();
  return work(pool, url).finally(close);
}

/** For tests that leave them as they were. */
let books: Awaited<ReturnType<typeof copyOfBooks>>;
beforeAll(async () => {
  books = await copyOfBooks();
});
afterAll(() => books.close());

test("books that are right have no differences, and totals", async () => {
  expect(await onCopyOfBooks((pool) => verifyLedger(pool))).toEqual({
    differences: [],
    accounts: 1n,
    holds: 4n,
    openHolds: 1n,
    chargedCredits: 60n,
    chargedCost: "5999999999",
    lostCost: "49",
  });
});

test("it is about one moment, and nobody waits for it", async () => {
  const report = await onCopyOfBooks(async (pool, url) => {
    const { billing, stop } = await startBillingOn(url);
    const blocker = await pool.connect();
    await blocker.query("BEGIN; LOCK TABLE deposit IN ACCESS EXCLUSIVE MODE");
    // However slow this machine is.
    pool.on("acquire", (client) => client.query("SET lock_timeout = 0"));
    const verifying = verifyLedger(pool);
    // By now it has read accounts, spenders and holds. Other tests wait for locks of other databases.
    const waiting = `SELECT FROM pg_locks WHERE NOT granted AND relation = 'deposit'::regclass
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
    await until(async () => (await blocker.query(waiting)).rowCount === 1, PATIENCE);
    const late = place({ accountId: ACCOUNT, spenderId: SPENDER }, 100n);
    const outcomes = [...(await post(billing, late)), ...(await post(billing, capture(late.holdId, 7n)))];
    expect(outcomes.map(({ code }) => code)).toEqual([OutcomeCode.DONE, OutcomeCode.DONE]);
    await blocker.query("ROLLBACK");
    blocker.release();
    await stop();
    return verifying;
  });
  expect(report).toMatchObject({ differences: [], holds: 4n, chargedCredits: 60n });
});

test("its statements are given more time than others, by the server and by the connection", async () => {
  const asked: (string | { query_timeout?: number })[] = [];
  await onCopyOfBooks(async (pool) => {
    pool.on("acquire", (client) => {
      const query = client.query.bind(client);
      client.query = ((statement: never) => {
        asked.push(statement);
        return query(statement);
      }) as typeof client.query;
    });
    return verifyLedger(pool);
  });
  expect(asked).toContain("SET LOCAL statement_timeout = 600000");
  const slow = asked.filter((statement) => JSON.stringify(statement).includes("FROM"));
  expect(slow.length).toBeGreaterThan(20);
  for (const statement of slow) expect(statement).toMatchObject({ query_timeout: 605_000 });
});

test("a difference says what is wrong, where, what it should be and what it is", async () => {
  const report = await onCopyOfBooks(async (pool) => {
    await pool.query("UPDATE account SET held = held + 5");
    return verifyLedger(pool);
  });
  expect(report.differences).toEqual([
    {
      invariant: "account.held = sum of open holds",
      subject: `account ${ACCOUNT}`,
      expected: "100",
      actual: "105",
    },
  ]);
});

const entryOf = (hold: string, kind: string, amounts: string) =>
  `INSERT INTO entry (at, account_id, hold_id, kind, credits, cost, provider, attempt)
     SELECT now(), '${ACCOUNT}', '${hold}', '${kind}', ${amounts}, h.provider, h.attempt
       FROM (SELECT '${hold}'::uuid AS id) e LEFT JOIN hold h USING (id)`;

/** The damage, and the beginnings of the invariants that it breaks. */
const DAMAGES: readonly [string, string, string[]][] = [
  ["credits out of nothing", "UPDATE account SET credits = credits + 1", ["account.credits"]],
  ["a forgotten debit", "UPDATE account SET debits = 0", ["account.debits"]],
  ["usage that was lost", "UPDATE spender SET used = used - 1", ["spender.used"]],
  ["a request that was not counted", "UPDATE spender SET requests = 0", ["spender.requests"]],
  ["a window's usage", "UPDATE spender SET window_used = 0", ["spender.window_used"]],
  ["a window's holds", "UPDATE spender SET window_held = 0", ["spender.window_held"]],
  ["a day's charge", "UPDATE usage_daily SET charge = charge + 1", ["usage_daily"]],
  ["a day's cost", "UPDATE usage_daily SET cost = cost - 1", ["usage_daily"]],
  ["a day's requests", "UPDATE usage_daily SET requests = 7", ["usage_daily"]],
  ["a day that is missing", "DELETE FROM usage_daily", ["usage_daily"]],
  [
    "an invented day",
    `INSERT INTO usage_daily VALUES ('${NOBODY}', now(), '${NOBODY}', 'm', 1, 1, 1)`,
    ["usage_daily"],
  ],
  [
    "a deposit that was booked too high",
    "UPDATE entry SET credits = 1001 WHERE kind = 'deposit'",
    ["account.credits", "a deposit is booked"],
  ],
  ["a deposit without effect", "UPDATE deposit SET status = 'FAILED'", ["a deposit is booked"]],
  [
    "a deposit booked to another account",
    `UPDATE entry SET account_id = '${NOBODY}' WHERE kind = 'deposit'`,
    ["account.credits", "account.credits", "a deposit is booked", "a deposit is booked"],
  ],
  [
    "a changed charge",
    "UPDATE entry SET credits = 61 WHERE kind = 'charge'",
    ["account.debits", "spender.used", "a captured hold has one charge", "usage_daily"],
  ],
  [
    "a changed cost",
    "UPDATE entry SET cost = 1 WHERE kind = 'charge'",
    ["a captured hold has one charge", "usage_daily"],
  ],
  [
    "a deleted charge",
    "DELETE FROM entry WHERE kind = 'charge'",
    ["account.debits", "spender.used", "spender.requests", "a captured hold has one charge", "usage_daily"],
  ],
  [
    "a second charge",
    `DROP INDEX entry_of_hold; ${entryOf(CAPTURED, "charge", "60, 5999999999")}`,
    ["account.debits", "spender.used", "spender.requests", "a captured hold has one charge", "usage_daily"],
  ],
  [
    "a charge of a hold that is open",
    entryOf(OPEN, "charge", "0, 0"),
    ["spender.requests", "a charge is of a captured hold", "usage_daily"],
  ],
  [
    "a charge of no hold",
    entryOf(NOBODY, "charge", "5, 0"),
    ["account.debits", "a charge is of a captured hold"],
  ],
  [
    "a late loss of the current attempt of an open hold",
    entryOf(OPEN, "late", "0, 5"),
    ["a loss is of a resolved hold"],
  ],
  [
    "a loss of the current attempt of an open hold",
    entryOf(OPEN, "failed", "0, 5"),
    ["a loss is of a resolved hold"],
  ],
  [
    "a loss that was not booked",
    `DELETE FROM entry WHERE kind = 'failed' AND hold_id = '${RELEASED}'`,
    ["the cost of a released hold"],
  ],
  [
    "a loss that was booked to an earlier attempt",
    `UPDATE hold SET attempt = 2 WHERE id = '${RELEASED}'`,
    ["the cost of a released hold"],
  ],
  [
    "a charge of an earlier attempt",
    `UPDATE hold SET attempt = 2 WHERE id = '${CAPTURED}'`,
    ["a cost is of an attempt"],
  ],
  [
    "a loss of an attempt that was not made",
    `UPDATE entry SET attempt = 3 WHERE hold_id = '${OPEN}'`,
    ["a loss is of a resolved hold", "a cost is of an attempt"],
  ],
  [
    "a cost without its attempt",
    "UPDATE entry SET attempt = NULL WHERE kind = 'charge'",
    ["a cost is of an attempt"],
  ],
  [
    "a cost of another provider",
    "UPDATE entry SET provider = 'x' WHERE kind = 'charge'",
    ["a cost is of an attempt"],
  ],
  [
    "a hold that was opened again",
    `UPDATE hold SET state = 'open' WHERE id = '${CAPTURED}'`,
    [
      "account.held",
      "spender.window_used",
      "spender.window_held",
      "a charge is of a captured hold",
      "an open hold has no charge",
    ],
  ],
  [
    "a hold without a spender",
    `UPDATE hold SET spender_id = '${NOBODY}' WHERE id = '${OPEN}'`,
    ["spender.window_held", "every hold has a spender"],
  ],
  [
    "a hold of another account than its spender",
    `UPDATE hold SET account_id = '${NOBODY}' WHERE id = '${OPEN}'`,
    ["account.held", "account.held", "every hold has a spender", "a claim is of a hold"],
  ],
  [
    "a hold of a window to come",
    `UPDATE hold SET window_no = window_no + 1 WHERE id = '${RELEASED}'`,
    ["no hold is of a window"],
  ],
  [
    "a charge on a released hold",
    `UPDATE hold SET charge = 3 WHERE id = '${RELEASED}'`,
    ["an open hold has no charge"],
  ],
  ["a negative hold", `UPDATE hold SET credits = -1 WHERE id = '${RELEASED}'`, ["amounts are not negative"]],
  [
    "a negative entry",
    "UPDATE entry SET cost = -1 WHERE kind = 'late'",
    ["the cost of a released hold", "amounts are not negative"],
  ],
  [
    "a spender that vanished",
    "DELETE FROM spender",
    ["spender.used", "spender.requests", ...Array(4).fill("every hold has a spender")],
  ],
  ["an account that vanished", "DELETE FROM account", ["account.credits", "account.debits", "account.held"]],
  [
    "an adjustment that was not booked",
    "DELETE FROM entry WHERE kind = 'adjustment'",
    ["account.credits", "an adjustment has one entry"],
  ],
  [
    "an adjustment that was booked too low",
    "UPDATE entry SET credits = -4 WHERE kind = 'adjustment'",
    ["account.credits", "an adjustment has one entry"],
  ],
  [
    "an adjustment of nobody",
    "UPDATE entry SET adjustment_id = NULL WHERE kind = 'adjustment'",
    ["an adjustment has one entry", "an adjustment has one entry"],
  ],
  [
    "an adjustment booked to another account",
    `UPDATE entry SET account_id = '${NOBODY}' WHERE kind = 'adjustment'`,
    ["account.credits", "account.credits", "an adjustment has one entry"],
  ],
  [
    "an adjustment booked as something else",
    "UPDATE entry SET kind = 'charge', credits = 0 WHERE kind = 'adjustment'",
    ["account.credits", "a charge is of a captured hold", "an adjustment has one entry"],
  ],
  [
    "a claim of a hold that vanished",
    `UPDATE idempotency SET hold_id = '${NOBODY}' WHERE hold_id = '${OPEN}'`,
    ["a claim is of a hold"],
  ],
  [
    "a claim of another account",
    `UPDATE idempotency SET account_id = '${NOBODY}' WHERE hold_id = '${OPEN}'`,
    ["a claim is of a hold"],
  ],
  [
    "a claim that was made younger",
    `UPDATE idempotency SET claimed_at = claimed_at + interval '1 hour' WHERE hold_id = '${OPEN}'`,
    ["a claim is of a hold"],
  ],
  [
    "an answer that was charged otherwise",
    "UPDATE idempotency SET credits = credits + 1",
    ["a captured hold was charged what its kept answer says"],
  ],
  [
    "an answer that cost otherwise",
    "UPDATE idempotency SET cost = cost - 1",
    ["a captured hold was charged what its kept answer says"],
  ],
  [
    "half an answer",
    `UPDATE idempotency SET body = NULL WHERE hold_id = '${CAPTURED}'`,
    ["an answer is kept as a whole"],
  ],
  ["a negative count of free requests", "UPDATE account SET free_used = -1", ["amounts are not negative"]],
  [
    "one side of a transfer",
    `CREATE OR REPLACE VIEW posting AS SELECT id AS entry_id, at, kind, 'credits'::text AS ledger,
       'cash'::text AS account, credits AS debit, 0::bigint AS credit FROM entry`,
    ["debits equal credits"],
  ],
];

test.each<[string, string, string[]]>([...DAMAGES])("%s is found", async (_, damage, broken) => {
  const client = await books.pool.connect();
  try {
    await client.query(`BEGIN; SET LOCAL session_replication_role = replica; ${damage}`);
    const differences = await findDifferences(client);
    const invariants = differences.map(({ invariant }) => invariant);
    expect(invariants).toEqual(broken.map((beginning) => expect.stringContaining(beginning)));
    for (const { subject, expected, actual } of differences) {
      expect(subject).not.toBe("");
      expect(actual).not.toBe(expected);
    }
  } finally {
    await client.query("ROLLBACK");
    client.release();
  }
});
