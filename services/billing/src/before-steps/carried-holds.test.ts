// Holds and deposits at the carry: kept amounts, booked costs, leases, claims and reports count as before.
import { randomUUID } from "node:crypto";
import type { Id } from "@gr/ledger";
import { connectPostgres, createLogger, type Pool } from "@gr/runtime";
import { ManualClock } from "@gr/testing";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createStepLedger, type StepLedger } from "../step-ledger/step-ledger.ts";
import { carry, type EarlierDatabase, earlierDatabase } from "../test/earlier/earlier-database-store.ts";
import { EarlierLedger } from "../test/earlier/earlier-ledger-store.ts";
import { NOTHING, type Operation, placeOf, postedOf, TAG } from "../test/earlier/earlier-operations.ts";

const log = createLogger("silent", "test");
const SERVICE = TAG.service;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const accountId = randomUUID();
const spenderId = randomUUID();
const [charged, freed, kept, attempted, leased] = Array.from({ length: 5 }, () => randomUUID()) as [
  Id,
  Id,
  Id,
  Id,
  Id,
];
const depositId = randomUUID();

let database: EarlierDatabase;
let pool: Pool;
let clock: ManualClock;
let chain: StepLedger;

beforeAll(async () => {
  database = await earlierDatabase("empty");
  const ledger = new EarlierLedger(database.pool);
  const now = Date.now();
  const at = (ms: number) => new Date(now + ms);
  await ledger.open(accountId);
  await ledger.putDeposit(accountId, { id: depositId, credits: 900n, status: "COMPLETED" }, at(-9 * HOUR));
  const fields = {
    name: "key",
    cap: null,
    period: "day",
    expiresAt: null,
    active: true,
    revision: 0n,
  } as const;
  await ledger.putSpender({ ...fields, id: spenderId, accountId, createdAt: at(-9 * HOUR) });
  await ledger.post(placeAt(now - 8 * HOUR, charged, HOUR), at(-8 * HOUR));
  await ledger.post({ ...NOTHING, kind: "capture", holdId: charged, credits: 7n, cost: 8n }, at(-7 * HOUR));
  await ledger.post(placeAt(now - 6 * HOUR, freed, HOUR), at(-6 * HOUR));
  await ledger.keep(freed, { body: Buffer.from("seen"), credits: 5n, cost: 6n });
  await ledger.post({ ...NOTHING, kind: "release", holdId: freed, cost: 0n }, at(-6 * HOUR));
  // Its deadline has passed, and a resolver has it for ten more minutes.
  await ledger.post(placeAt(now - 2 * HOUR, leased, HOUR), at(-2 * HOUR));
  expect(await ledger.lease(SERVICE, at(0), at(10 * MINUTE))).toEqual([leased]);
  await ledger.post(placeAt(now - MINUTE, kept, HOUR), at(-MINUTE));
  await ledger.keep(kept, { body: Buffer.from("the answer"), credits: 5n, cost: 6n });
  await ledger.post(placeAt(now - MINUTE, attempted, HOUR), at(-MINUTE));
  const second = { ...TAG, provider: "second" };
  const deadlineAt = BigInt(now + HOUR);
  await ledger.post(
    { ...NOTHING, kind: "next", holdId: attempted, attempt: 2, cost: 4n, tag: second, deadlineAt },
    at(0),
  );
  await carry(database.url);
  clock = new ManualClock(Date.now() + 1_000);
  pool = await connectPostgres({ url: database.url, poolSize: 4, schema: "billing", log });
  chain = startChain();
});
afterAll(async () => {
  chain?.close();
  await pool?.end();
  await database?.drop();
});

/** A process without anything in memory. */
function startChain(): StepLedger {
  const nothing = () => undefined;
  const events = { committed: nothing, triedAgain: nothing, refusedFromMemory: nothing };
  return createStepLedger({ pool, clock, freeLimit: null, log, events });
}

function placeAt(now: number, holdId: Id, forMs: number, content = "content"): Operation {
  return placeOf({ accountId, spenderId, holdId, deadlineAt: now + forMs, content });
}

/** A new request with the Idempotency-Key of this hold. */
async function repeat(holdId: Id, content = "content") {
  const operation = placeAt(clock.now(), holdId, HOUR, content);
  const [answer] = await chain.writer.post([postedOf({ ...operation, holdId: randomUUID() })]);
  return answer;
}

const leaseNow = async () =>
  await chain.holds.leaseExpired({ service: SERVICE, limit: 10, leaseMs: BigInt(MINUTE) });

test("an Idempotency-Key of hours ago has its charged request, and one of an open hold waits for it", async () => {
  expect(await repeat(charged)).toEqual({ code: "claim_finished", earlierHoldId: charged });
  expect(await repeat(charged, "other")).toEqual({ code: "claim_mismatch" });
  expect(await repeat(kept)).toEqual({ code: "claim_in_progress" });
  // Its answer may have been seen.
  expect(await repeat(freed)).toEqual({ code: "claim_finished", earlierHoldId: freed });
});

test("a late cost of a hold that ended before is booked once, also by a process that reads it from the tables", async () => {
  const report = { ...NOTHING, kind: "release" as const, holdId: charged, cost: 11n };
  const loss = { failed: 0n, late: 3n, abandoned: undefined };
  expect(await chain.writer.post([postedOf(report)])).toEqual([{ code: "already_resolved", loss }]);
  const other = startChain();
  try {
    expect(await other.writer.post([postedOf(report)])).toEqual([{ code: "already_resolved" }]);
  } finally {
    other.close();
  }
});

test("a deposit of before is refunded once, and never credited again", async () => {
  const report = { id: depositId, accountId, credits: 900n, source: "test" };
  const deposited = async () => (await chain.accounts.readCredits(accountId)).deposited;
  await chain.accounts.putDeposit({ ...report, status: "COMPLETED" });
  expect(await deposited()).toBe(900n);
  for (let time = 1; time <= 2; time += 1) {
    await chain.accounts.putDeposit({ ...report, status: "REFUNDED" });
    expect(await deposited()).toBe(0n);
  }
  await expect(chain.accounts.putDeposit({ ...report, status: "COMPLETED" })).rejects.toMatchObject({
    param: "status",
  });
});

test("a report of an earlier attempt books the part that is not booked yet", async () => {
  const repeated = { ...NOTHING, kind: "next" as const, holdId: attempted, attempt: 2, deadlineAt: 0n };
  const report = { ...repeated, cost: 6n, tag: { ...TAG, provider: "second" }, billedBy: TAG };
  const loss = { failed: 0n, late: 2n, abandoned: undefined };
  expect(await chain.writer.post([postedOf(report)])).toEqual([{ code: "done", loss }]);
});

test("a lease lasts beyond the carry: no second resolver, no next attempt, no kept answer", async () => {
  expect(await leaseNow()).toEqual([]);
  const next = {
    ...NOTHING,
    kind: "next" as const,
    holdId: leased,
    attempt: 2,
    cost: 0n,
    deadlineAt: 0n,
    tag: TAG,
  };
  expect(await chain.writer.post([postedOf(next)])).toEqual([{ code: "already_resolved" }]);
  const answer = { accountId, holdId: leased, credits: 1n, cost: 1n, contentType: "text/plain" };
  await expect(chain.answers.keep({ ...answer, body: Buffer.from("late") })).rejects.toMatchObject({
    message: expect.stringContaining("being resolved"),
  });
  clock.advance(11 * MINUTE);
  expect((await leaseNow()).map(({ id }) => id)).toEqual([leased]);
});

test("a resolver gets the amounts that were kept before the carry", async () => {
  clock.advance(2 * HOUR);
  const holds = await leaseNow();
  expect(holds.find(({ id }) => id === kept)?.kept).toEqual({ charge: 5n, cost: 6n });
  expect((await chain.answers.read(accountId, kept))?.body).toEqual(Buffer.from("the answer"));
});
