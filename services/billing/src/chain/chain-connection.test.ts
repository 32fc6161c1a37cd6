// Writers of the chain: each decision is about the stored state, each step is stored once, and memory is never ahead of the table.
import { randomUUID } from "node:crypto";
import type { Id } from "@gr/ledger";
import type { Logger } from "@gr/runtime";
import { DatabaseAddress, until } from "@gr/testing";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { chainProblems, stepsOfHold } from "../test/chain/chain-checker-store.ts";
import {
  budget,
  ChainRig,
  type ChainWallet,
  capture,
  claimOf,
  keep,
  newWallet,
  opening,
  place,
  release,
} from "../test/chain/chain-rig.ts";
import { THURSDAY } from "../test/start-billing.ts";
import { UsedUpBudgets } from "../windows-copy/used-up-budgets.ts";
import { bucketOf } from "./bucket.ts";
import { startCold, storeState } from "./state-store.ts";
import { LONGEST_TAIL } from "./step-store.ts";

/** Steps between two stored states, and ended holds in memory. */
const STATE_STEPS = 1_000;
const REMEMBERED = 512;
const UNKNOWN = { reason: "billing_unavailable" };

let rig: ChainRig;
beforeAll(async () => {
  rig = await ChainRig.start();
});
afterAll(async () => {
  try {
    expect(await chainProblems(rig.pool)).toEqual([]);
  } finally {
    await rig.stop();
  }
});

async function openWallet(credits = 1_000n, fields: Parameters<typeof budget>[1] = {}): Promise<ChainWallet> {
  const wallet = newWallet();
  const writer = await rig.writer();
  await writer.post(...opening(wallet, credits, fields));
  return wallet;
}

const kindsOf = async (holdId: Id) => (await stepsOfHold(rig.pool, holdId)).map(({ kind }) => kind);

describe("two writers of one account", () => {
  test("lose races, and no budget and no balance is overrun", async () => {
    const wallet = await openWallet(1_000n, { limit: 300n });
    let races = 0;
    const lostRace = () => {
      races += 1;
    };
    const writers = [
      await rig.writer({ lostRace }),
      await rig.writer({ lostRace }),
      await rig.writer({ lostRace }),
    ];
    for (const writer of [...writers, ...writers])
      expect(await writer.codes(place(wallet, 10n))).toEqual(["done"]);
    // Each of the second three has a memory without the places of the others.
    expect(races).toBeGreaterThanOrEqual(3);
    const places = Array.from({ length: 45 }, () => place(wallet, 10n));
    const codes = await Promise.all(places.map((each, index) => writers[index % 3]?.codes(each) ?? []));
    const done = places.filter((_, index) => codes[index]?.[0] === "done");
    expect(done).toHaveLength(24);
    expect(codes.flat().filter((code) => code === "spend_limit_exceeded")).toHaveLength(21);
    for (const { holdId } of done) expect(await kindsOf(holdId)).toEqual(["place"]);
  });

  test("a writer captures the hold that another one has placed, once", async () => {
    const wallet = await openWallet();
    const [one, other] = [await rig.writer(), await rig.writer()];
    await other.codes(place(wallet, 1n));
    const hold = place(wallet, 100n);
    expect(await one.codes(hold)).toEqual(["done"]);
    expect(await other.codes(capture(wallet, hold.holdId, 70n))).toEqual(["done"]);
    expect(await one.codes(capture(wallet, hold.holdId, 70n))).toEqual(["done"]);
    expect(await one.codes(capture(wallet, hold.holdId, 71n))).toEqual(["already_resolved"]);
    expect(await one.codes(hold)).toEqual(["already_resolved"]);
    expect(await kindsOf(hold.holdId)).toEqual(["place", "capture"]);
  });

  test("a refusal is about the stored state, and not about older memory", async () => {
    const wallet = await openWallet(10n);
    const [one, other] = [await rig.writer(), await rig.writer()];
    expect(await one.codes(place(wallet, 50n))).toEqual(["insufficient_credits"]);
    await other.post({ kind: "deposit", accountId: wallet.accountId, id: randomUUID(), credits: 90n });
    expect(await one.codes(place(wallet, 50n))).toEqual(["done"]);
    await other.post(budget(wallet, { active: false, revision: 2n }));
    expect(await one.codes(place(wallet, 1n))).toEqual(["spender_inactive"]);
  });

  test("accounts of one flush are decided alone: a race of one does not refuse another", async () => {
    const [mine, yours] = [await openWallet(), await openWallet()];
    const [one, other] = [await rig.writer(), await rig.writer()];
    await one.codes(place(mine, 1n), place(yours, 1n));
    await other.codes(place(mine, 999n));
    expect(await one.codes(place(mine, 1n), place(yours, 999n), place(yours, 1n))).toEqual([
      "insufficient_credits",
      "done",
      "insufficient_credits",
    ]);
  });
});

/** A UUID of version 7, of a request that began after the latest read. */
function newHold(): string {
  const time = (rig.clock.now() + 1).toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

describe("a flood of hopeless places", () => {
  test("is refused without a statement for a second after the account was read", async () => {
    const wallet = await openWallet(10n);
    const stopwatch = { now: () => seconds * 1_000 };
    let seconds = 1;
    let refused = 0;
    const refusedFromMemory = (places: number) => {
      refused += places;
    };
    const [one, other] = [await rig.writer({ stopwatch, refusedFromMemory }), await rig.writer()];
    const tooMuch = (fields: Parameters<typeof place>[2] = { holdId: newHold() }) =>
      place(wallet, 50n, fields);
    expect(await one.codes(tooMuch())).toEqual(["insufficient_credits"]);
    expect(await one.codes(tooMuch(), tooMuch())).toEqual(["insufficient_credits", "insufficient_credits"]);
    expect(refused).toBe(2);
    await other.post({ kind: "deposit", accountId: wallet.accountId, id: randomUUID(), credits: 90n });
    seconds = 1.9;
    expect(await one.codes(tooMuch())).toEqual(["insufficient_credits"]);
    seconds = 2;
    expect(await one.codes(tooMuch())).toEqual(["done"]);
    expect(refused).toBe(3);
  });

  test("is read at once if one of them may be a repeat, has a key, or waits for other holds", async () => {
    const fields = [{ holdId: randomUUID() }, { holdId: newHold(), claim: claimOf("flood") }];
    for (const of of fields) {
      const wallet = await openWallet(10n);
      const [one, other] = [await rig.writer(), await rig.writer()];
      expect(await one.codes(place(wallet, 50n, { holdId: newHold() }))).toEqual(["insufficient_credits"]);
      await other.post({ kind: "deposit", accountId: wallet.accountId, id: randomUUID(), credits: 90n });
      expect(await one.codes(place(wallet, 50n, of))).toEqual(["done"]);
    }
    const wallet = await openWallet(60n);
    const [one, other] = [await rig.writer(), await rig.writer()];
    const open = place(wallet, 50n);
    await one.post(open);
    expect(await one.codes(place(wallet, 50n, { holdId: newHold() }))).toEqual(["insufficient_credits"]);
    await other.post(release(wallet, open.holdId));
    expect(await one.codes(place(wallet, 50n, { holdId: newHold() }))).toEqual(["done"]);
  });
});

describe("an id begins once", () => {
  test("a place whose hold is forgotten or of a younger memory is a repeat", async () => {
    const wallet = await openWallet();
    const writer = await rig.writer();
    const hold = place(wallet, 10n);
    await writer.post(hold, release(wallet, hold.holdId));
    const fresh = await rig.writer();
    expect(await fresh.codes(hold)).toEqual(["already_resolved"]);
    expect(await fresh.codes(release(wallet, hold.holdId))).toEqual(["done"]);
    expect(await kindsOf(hold.holdId)).toEqual(["place", "release"]);
  });

  test("a deposit, a refund and an adjustment are booked once", async () => {
    const wallet = await openWallet(0n);
    const { accountId } = wallet;
    const id = randomUUID();
    const deposit = { kind: "deposit", accountId, id, credits: 70n } as const;
    const refund = { kind: "refund", accountId, id, credits: -70n } as const;
    const writers = [await rig.writer(), await rig.writer()];
    for (const writer of writers) expect(await writer.codes(deposit, deposit)).toEqual(["done", "done"]);
    expect(await writers[0]?.codes({ ...deposit, credits: 71n })).toEqual(["already_resolved"]);
    expect(await writers[0]?.codes(refund, deposit, refund)).toEqual(["done", "done", "done"]);
    expect(await kindsOf(id)).toEqual(["deposit", "refund"]);
  });

  test("an id of another account of the bucket is refused, also in the same batch", async () => {
    const wallet = await openWallet();
    const stranger = { ...newWallet() };
    const accountId = `${stranger.accountId.slice(0, -2)}${wallet.accountId.slice(-2)}`;
    const foreign = { accountId, budgetId: stranger.budgetId };
    expect(bucketOf(accountId)).toBe(bucketOf(wallet.accountId));
    const writer = await rig.writer();
    await writer.post(...opening(foreign, 1_000n));
    const hold = place(wallet, 10n);
    const copy = place(foreign, 10n, { holdId: hold.holdId });
    expect(await writer.codes(hold, copy)).toEqual(["done", "already_resolved"]);
    expect(await writer.codes(capture(foreign, hold.holdId, 1n))).toEqual(["unknown_hold"]);
    expect(await writer.codes(capture(wallet, hold.holdId, 1n))).toEqual(["done"]);
  });
});

describe("claims", () => {
  test("a key has one owner among writers that do not know of each other", async () => {
    const wallet = await openWallet();
    const claim = claimOf(randomUUID());
    const writers = [await rig.writer(), await rig.writer(), await rig.writer()];
    const places = Array.from({ length: 12 }, () => place(wallet, 10n, { claim }));
    const codes = await Promise.all(places.map((each, index) => writers[index % 3]?.codes(each) ?? []));
    expect(codes.flat().filter((code) => code === "done")).toHaveLength(1);
    expect(codes.flat().filter((code) => code === "claim_in_progress")).toHaveLength(11);
  });

  test("a charged key is answered with its hold, a mismatch is refused, a released key is free", async () => {
    const wallet = await openWallet(100n);
    const [one, other] = [await rig.writer(), await rig.writer()];
    const claim = claimOf(randomUUID());
    const first = place(wallet, 10n, { claim });
    const second = place(wallet, 10n, { claim });
    await one.post(first, release(wallet, first.holdId));
    expect(await other.codes(second)).toEqual(["done"]);
    await one.post(capture(wallet, second.holdId, 10n));
    for (const writer of [one, other, await rig.writer()]) {
      const [again] = await writer.post(place(wallet, 10n, { claim }));
      expect(again).toMatchObject({ code: "claim_finished", earlierHoldId: second.holdId });
    }
    const changed = { ...claim, fingerprint: claimOf("x", "another").fingerprint };
    expect(await (await rig.writer()).codes(place(wallet, 10n, { claim: changed }))).toEqual([
      "claim_mismatch",
    ]);
  });

  test("a used key is answered before the money is refused, also by a writer without its owner in memory", async () => {
    const wallet = await openWallet(10n);
    const claim = claimOf(randomUUID());
    const first = place(wallet, 10n, { claim });
    await (await rig.writer()).post(first, capture(wallet, first.holdId, 10n));
    const fresh = await rig.writer();
    expect(await fresh.codes(place(wallet, 10n, { claim }))).toEqual(["claim_finished"]);
    expect(await fresh.codes(place(wallet, 10n, { claim: claimOf(randomUUID()) }))).toEqual([
      "insufficient_credits",
    ]);
  });

  test("one batch can use a key several times; the latest owner counts", async () => {
    const wallet = await openWallet();
    const claim = claimOf(randomUUID());
    const [first, second, third] = [1, 2, 3].map(() => place(wallet, 10n, { claim }));
    if (!first || !second || !third) throw new Error("The test has three places.");
    const writer = await rig.writer();
    expect(await writer.codes(first, release(wallet, first.holdId), second, third)).toEqual([
      "done",
      "done",
      "done",
      "claim_in_progress",
    ]);
    await writer.post(capture(wallet, second.holdId, 1n));
    const [again] = await (await rig.writer()).post(third);
    expect(again).toMatchObject({ code: "claim_finished", earlierHoldId: second.holdId });
  });

  test("an answer is kept once, with the step that names its amounts", async () => {
    const wallet = await openWallet();
    const hold = place(wallet, 10n, { claim: claimOf(randomUUID()) });
    const [one, other] = [await rig.writer(), await rig.writer()];
    await one.post(hold);
    expect(await one.codes(keep(wallet, hold.holdId, 7n, "first"))).toEqual(["done"]);
    expect(await other.codes(keep(wallet, hold.holdId, 7n, "second"))).toEqual(["done"]);
    const { rows } = await rig.pool.query("SELECT content_type, body FROM kept_answer WHERE hold_id = $1", [
      hold.holdId,
    ]);
    expect(rows).toEqual([{ content_type: "application/json", body: Buffer.from("first") }]);
    expect(await kindsOf(hold.holdId)).toEqual(["place", "keep"]);
  });
});

describe("an unknown outcome", () => {
  test("that was not stored leaves nothing in memory", async () => {
    const wallet = await openWallet(100n);
    const writer = await rig.writer();
    await writer.post(place(wallet, 1n));
    const hold = place(wallet, 50n);
    const blocker = await rig.pool.connect();
    try {
      await blocker.query("BEGIN; LOCK TABLE step IN ACCESS EXCLUSIVE MODE");
      const lost = expect(writer.post(hold)).rejects.toMatchObject(UNKNOWN);
      const waiting = `SELECT pg_terminate_backend(pid) FROM pg_locks
        WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
      await until(async () => (await blocker.query(waiting)).rowCount === 1, { timeoutMs: 60_000 });
      await lost;
      await blocker.query("ROLLBACK");
    } finally {
      blocker.release(true);
    }
    expect(await kindsOf(hold.holdId)).toEqual([]);
    expect(await writer.codes(capture(wallet, hold.holdId, 1n))).toEqual(["unknown_hold"]);
    expect(await writer.codes(hold)).toEqual(["done"]);
    expect(await kindsOf(hold.holdId)).toEqual(["place"]);
  });

  test("that was stored is found by the repeat", async () => {
    const wallet = await openWallet(100n);
    const address = await DatabaseAddress.to(rig.url);
    try {
      const writer = await rig.writer({ url: address.url });
      await writer.post(place(wallet, 1n));
      const hold = place(wallet, 50n);
      for (const operation of [hold, capture(wallet, hold.holdId, 20n)]) {
        address.loseAnswers("insert_steps", 1);
        await expect(writer.post(operation)).rejects.toMatchObject(UNKNOWN);
        expect(await writer.codes(operation)).toEqual(["done"]);
      }
      expect(await kindsOf(hold.holdId)).toEqual(["place", "capture"]);
    } finally {
      await address.close();
    }
  });
});

describe("memory", () => {
  test("holds that it has forgotten are read again, with all of their costs", async () => {
    const wallet = await openWallet(1_000_000n);
    const writer = await rig.writer();
    const first = place(wallet, 10n);
    await writer.post(first, capture(wallet, first.holdId, 7n, 5n));
    const spend = async (pairs: number) => {
      const holds = Array.from({ length: pairs }, () => place(wallet, 1n));
      await writer.post(...holds, ...holds.map(({ holdId }) => capture(wallet, holdId, 1n)));
    };
    await spend(REMEMBERED / 2);
    // A late bill of 8 has 3 more than the booked 5.
    await writer.post(capture(wallet, first.holdId, 7n, 8n));
    await spend(REMEMBERED + 1);
    for (const each of [writer, await rig.writer()]) {
      expect(await each.codes(capture(wallet, first.holdId, 7n, 5n))).toEqual(["done"]);
      expect(await each.codes(capture(wallet, first.holdId, 7n, 8n))).toEqual(["already_resolved"]);
      expect(await each.codes(first)).toEqual(["already_resolved"]);
    }
    const steps = await stepsOfHold(rig.pool, first.holdId);
    expect(steps.map(({ kind, cost }) => [kind, cost])).toEqual([
      ["place", 0n],
      ["capture", 5n],
      ["late", 3n],
    ]);
  });

  test("a state is stored by the number of steps, and an older one never replaces it", async () => {
    const wallet = await openWallet(1_000_000n, { period: "day" });
    const [one, other] = [await rig.writer(), await rig.writer()];
    const spend = async (writer: typeof one, pairs: number) => {
      const holds = Array.from({ length: pairs }, () => place(wallet, 2n));
      await writer.post(...holds, ...holds.map(({ holdId }) => capture(wallet, holdId, 1n)));
    };
    const state = async () => {
      const { rows } = await rig.pool.query<{ seq: bigint }>(
        "SELECT seq FROM account_state WHERE account_id = $1",
        [wallet.accountId],
      );
      return Number(rows[0]?.seq ?? 0);
    };
    await spend(one, STATE_STEPS / 2 - 5);
    await spend(one, 1);
    expect(await state()).toBe(0);
    await spend(one, 5);
    await spend(one, 1);
    const early = await state();
    expect(early).toBeGreaterThanOrEqual(STATE_STEPS);
    const old = await rig.withClient(async (client) =>
      (await startCold(client, [wallet.accountId])).get(wallet.accountId),
    );
    if (old === undefined) throw new Error("The account has a state.");
    old.changed.add(1);
    await spend(other, STATE_STEPS);
    await spend(other, 1);
    const late = await state();
    expect(late).toBeGreaterThan(early);
    await rig.withClient((client) => storeState(client, old));
    expect(await state()).toBe(late);
    expect(await chainProblems(rig.pool)).toEqual([]);
  });

  test("a state that PostgreSQL refuses delays no other one, and is logged once", async () => {
    const [refused, another] = [await openWallet(10_000n), await openWallet(10_000n)];
    const logged: unknown[] = [];
    const log = { error: (facts: unknown) => logged.push(facts), warn: () => undefined } as unknown as Logger;
    const writer = await rig.writer({ log, stepsBetweenStates: 10 });
    const spend = async () => {
      for (const wallet of [refused, another]) {
        const holds = Array.from({ length: 5 }, () => place(wallet, 1n));
        await writer.post(...holds, ...holds.map(({ holdId }) => capture(wallet, holdId, 1n)));
      }
    };
    const stored = async () => {
      const { rows } = await rig.pool.query<{ account_id: string }>(
        "SELECT account_id FROM account_state WHERE account_id = ANY ($1)",
        [[refused.accountId, another.accountId]],
      );
      return rows.map(({ account_id: accountId }) => accountId);
    };
    await rig.pool.query(
      `ALTER TABLE account_state ADD CONSTRAINT refused CHECK (account_id <> '${refused.accountId}') NOT VALID`,
    );
    try {
      for (let round = 0; round < 4; round += 1) await spend();
      expect(await stored()).toEqual([another.accountId]);
      expect(logged).toMatchObject([{ accountId: refused.accountId }]);
    } finally {
      await rig.pool.query("ALTER TABLE account_state DROP CONSTRAINT refused");
    }
    await spend();
    await spend();
    expect(await stored()).toEqual(expect.arrayContaining([refused.accountId, another.accountId]));
    expect(await chainProblems(rig.pool)).toEqual([]);
  });

  test("a memory that is far behind continues from the stored state, and knows no hold of the steps between", async () => {
    const wallet = await openWallet(1_000_000n, { limit: 9_000n });
    const [behind, writer] = [await rig.writer(), await rig.writer()];
    const [captured, released] = [place(wallet, 10n, { claim: claimOf("behind") }), place(wallet, 10n)];
    await behind.post(captured, released);
    await writer.post(capture(wallet, captured.holdId, 10n), release(wallet, released.holdId));
    const missed = place(wallet, 5n);
    await writer.post(missed, capture(wallet, missed.holdId, 5n));
    for (let steps = 0; steps < LONGEST_TAIL + STATE_STEPS; steps += 500) {
      const holds = Array.from({ length: 250 }, () => place(wallet, 1n));
      await writer.post(...holds, ...holds.map(({ holdId }) => capture(wallet, holdId, 1n)));
    }
    const open = place(wallet, 7n);
    await writer.post(open);
    expect(
      await behind.codes(
        capture(wallet, missed.holdId, 5n),
        capture(wallet, released.holdId, 1n),
        place(wallet, 1n, { claim: claimOf("behind") }),
        place(wallet, 9_000n),
        capture(wallet, open.holdId, 7n),
      ),
    ).toEqual(["done", "already_resolved", "claim_finished", "spend_limit_exceeded", "done"]);
    expect(await chainProblems(rig.pool)).toEqual([]);
  });

  test("a state never has steps of a lost race", async () => {
    const wallet = await openWallet(1_000_000n);
    const [one, other] = [await rig.writer(), await rig.writer()];
    const holds = Array.from({ length: STATE_STEPS - 10 }, () => place(wallet, 2n));
    await one.post(...holds);
    await other.post(...holds.slice(0, 20).map(({ holdId }) => capture(wallet, holdId, 2n)));
    await one.post(...Array.from({ length: 30 }, () => place(wallet, 3n)));
    expect(await chainProblems(rig.pool)).toEqual([]);
  });

  test("a memory with room for few accounts decides as a large one", async () => {
    const wallets = await Promise.all(Array.from({ length: 6 }, () => openWallet(10n)));
    const writer = await rig.writer({ cacheBytes: 5_000 });
    for (let round = 0; round < 3; round += 1) {
      for (const wallet of wallets) expect(await writer.codes(place(wallet, 3n))).toEqual(["done"]);
    }
    for (const wallet of wallets)
      expect(await writer.codes(place(wallet, 3n))).toEqual(["insufficient_credits"]);
  });

  test("an account that is larger than the memory has states, so its cold starts are short", async () => {
    const wallet = await openWallet(1_000_000n);
    const writer = await rig.writer({ cacheBytes: 1_000 });
    await writer.post(...Array.from({ length: STATE_STEPS }, () => place(wallet, 1n)));
    await writer.post(place(wallet, 1n));
    const { rows } = await rig.pool.query(
      "SELECT seq >= $2 AS is_new FROM account_state WHERE account_id = $1",
      [wallet.accountId, STATE_STEPS],
    );
    expect(rows).toEqual([{ is_new: true }]);
  });

  test("a clock that is behind the account ends no hold and opens no window again", async () => {
    const wallet = await openWallet(1_000n, { period: "day", limit: 100n });
    const ahead = await rig.writer({ clock: { now: () => THURSDAY + 86_400_000 } });
    const behind = await rig.writer();
    expect(await behind.codes(place(wallet, 100n))).toEqual(["done"]);
    expect(await ahead.codes(place(wallet, 100n))).toEqual(["done"]);
    expect(await behind.codes(place(wallet, 1n))).toEqual(["spend_limit_exceeded"]);
  });
});

test("a row that is wrong alone is refused by the table", async () => {
  const wallet = await openWallet();
  const hold = place(wallet, 10n);
  const writer = await rig.writer();
  await writer.post(hold, capture(wallet, hold.holdId, 7n));
  const [, end] = await stepsOfHold(rig.pool, hold.holdId);
  const copy = (change: string) =>
    rig.pool.query(
      `INSERT INTO step SELECT (r).* FROM (SELECT jsonb_populate_record(s, $2) AS r FROM step s
        WHERE account_id = $1 AND kind = 5) x`,
      [wallet.accountId, change],
    );
  const next = { seq: Number(end?.seq ?? 0) + 1 };
  for (const wrong of [
    { charge: 11, debited: 11 },
    { charge: -1 },
    { cost: -1 },
    { held: -1 },
    { used1: -1 },
    { held1: -1 },
    { debited: 0 },
    { bucket: (bucketOf(wallet.accountId) + 1) % 256 },
    { kind: 6 },
    { place_seq: null },
    { place_seq: next.seq },
  ]) {
    await expect(copy(JSON.stringify({ ...next, ...wrong }))).rejects.toMatchObject({ code: "23514" });
  }
});

async function endOtherConnections(): Promise<void> {
  await rig.withClient(async (client) => {
    await client.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
  });
}

test("a copy of a used-up budget refuses nothing on a new connection before PostgreSQL has confirmed it", async () => {
  const [used, another] = [await openWallet(100n), await openWallet(100n)];
  const stopwatch = { now: () => 0 };
  const copies = new UsedUpBudgets({ clock: rig.clock, stopwatch });
  // A memory for no account, so that each refusal is one of the copies.
  const writer = await rig.writer({ copies, stopwatch, cacheBytes: 1 });
  const whole = place(used, 100n);
  await writer.post(whole);
  await writer.post(capture(used, whole.holdId, 100n));
  expect(await writer.codes(place(used, 1n, { holdId: newHold() }))).toEqual(["insufficient_credits"]);
  await (await rig.writer()).post({
    ...{ kind: "deposit", accountId: used.accountId, id: randomUUID(), credits: 50n, note: "test" },
  });
  await endOtherConnections();
  const first = place(another, 1n);
  await until(() => isDone(writer, first), { timeoutMs: 60_000 });
  expect(await writer.codes(place(used, 50n, { holdId: newHold() }))).toEqual(["done"]);
});

const isDone = (writer: { codes(...operations: object[]): Promise<string[]> }, operation: object) =>
  writer.codes(operation).then(
    (codes) => codes[0] === "done",
    () => false,
  );

test("a writer on a new connection does not know steps that a promoted standby lacks", async () => {
  const [wallet, another] = [await openWallet(100n), await openWallet(100n)];
  const writer = await rig.writer();
  const lost = place(wallet, 90n);
  await writer.post(lost);
  await rig.withClient((client) => client.query("DELETE FROM step WHERE id = $1", [lost.holdId]));
  await endOtherConnections();
  // The failed call of one account is no reason to trust the memory of another.
  const first = place(another, 1n);
  await until(() => isDone(writer, first), { timeoutMs: 60_000 });
  expect(await writer.codes(place(wallet, 50n))).toEqual(["done"]);
  const { rows } = await rig.withClient((client) =>
    client.query(
      "SELECT max(seq) = count(*) AS sound, max(held)::int AS held FROM step WHERE account_id = $1",
      [wallet.accountId],
    ),
  );
  expect(rows).toEqual([{ sound: true, held: 50 }]);
});
