// Free models: an account makes so many requests to them a day and not one more, whoever asks and however many at once.
import { OutcomeCode } from "@gr/proto/billing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { type BillingUnderTest, startBilling, startBillingOn, THURSDAY } from "../test/start-billing.ts";
import {
  capture,
  claiming,
  extend,
  type OperationInit,
  openWallet,
  place,
  post,
  postOne,
  putSpender,
  release,
  type Wallet,
} from "../test/wallet.ts";

const { DONE, FREE_LIMIT_EXCEEDED, SPENDER_INACTIVE, CLAIM_FINISHED } = OutcomeCode;
const DAY = 86_400_000;
const MIDNIGHT = Date.UTC(2026, 0, 16);
const LIMIT = 5;

let ledger: BillingUnderTest;
let bystander: Wallet;
beforeAll(async () => {
  ledger = await startBilling({ FREE_REQUESTS_PER_DAY: String(LIMIT) });
  bystander = await openWallet(ledger.inProcess, 1_000_000n);
});
beforeEach(() => ledger.clock.set(THURSDAY));
afterAll(() => ledger.stopSound());

const times = (count: number, code: OutcomeCode) => Array.from({ length: count }, () => code);

describe("a request to a free model", () => {
  async function run(operation: OperationInit) {
    const others = Array.from({ length: 6 }, () => place(bystander, 1n));
    const outcome = (await post(ledger.inProcess, ...others, operation)).at(-1);
    if (outcome === undefined) throw new Error("no outcome");
    return outcome;
  }
  const code = async (operation: OperationInit) => (await run(operation)).code;
  const wallet = () => openWallet(ledger.inProcess, 100n);
  async function useUp(mine: Wallet): Promise<void> {
    for (let index = 0; index < LIMIT; index += 1) expect(await code(place(mine, 0n))).toBe(DONE);
  }

  test("is refused when the day's are used up, until the next midnight", async () => {
    const mine = await wallet();
    await useUp(mine);
    const refused = {
      code: FREE_LIMIT_EXCEEDED,
      inFlight: false,
      capCredits: 0n,
      resetsAt: BigInt(MIDNIGHT),
    };
    expect(await run(place(mine, 0n))).toMatchObject(refused);
    ledger.clock.set(MIDNIGHT - 1);
    expect(await run(place(mine, 0n))).toMatchObject(refused);
    ledger.clock.set(MIDNIGHT);
    await useUp(mine);
    expect(await run(place(mine, 0n))).toMatchObject({ ...refused, resetsAt: BigInt(MIDNIGHT + DAY) });
  });

  test("counts from one again on the next day, also when as many were made the day before", async () => {
    const mine = await wallet();
    expect(await code(place(mine, 0n))).toBe(DONE);
    ledger.clock.set(MIDNIGHT);
    await useUp(mine);
    expect(await code(place(mine, 0n))).toBe(FREE_LIMIT_EXCEEDED);
  });

  test("counts for the account, whichever of its keys asks, and for no other account", async () => {
    const mine = await wallet();
    const second = { ...mine, spenderId: await putSpender(ledger.inProcess, mine.accountId) };
    await useUp(mine);
    expect(await code(place(second, 0n))).toBe(FREE_LIMIT_EXCEEDED);
    expect(await code(place(await wallet(), 0n))).toBe(DONE);
  });

  test("counts once when it is sent again, and stays counted when it fails", async () => {
    const mine = await wallet();
    const [failed, captured] = [place(mine, 0n), place(mine, 0n)];
    for (const one of [failed, failed, captured, captured]) expect(await code(one)).toBe(DONE);
    await run(release(failed.holdId));
    await run(capture(captured.holdId, 0n, 0n));
    for (let index = 2; index < LIMIT; index += 1) expect(await code(place(mine, 0n))).toBe(DONE);
    expect(await code(place(mine, 0n))).toBe(FREE_LIMIT_EXCEEDED);
    expect(await code(captured)).toBe(OutcomeCode.ALREADY_RESOLVED);
  });

  test("stands in nobody's way but that of free requests", async () => {
    const mine = await wallet();
    await useUp(mine);
    const paid = place(mine, 1n);
    expect(await code(paid)).toBe(DONE);
    expect(await code(extend(paid.holdId, 1n))).toBe(DONE);
    expect(await code(extend(paid.holdId, 2n))).toBe(DONE);
    expect(await code(capture(paid.holdId, 0n, 0n))).toBe(DONE);
  });

  test("that is refused for its spender does not count", async () => {
    const mine = await wallet();
    const inactive = {
      ...mine,
      spenderId: await putSpender(ledger.inProcess, mine.accountId, { active: false }),
    };
    for (let index = 0; index <= LIMIT; index += 1)
      expect(await code(place(inactive, 0n))).toBe(SPENDER_INACTIVE);
    await useUp(mine);
    expect(await code(place(inactive, 0n))).toBe(SPENDER_INACTIVE);
  });

  test("of a clock that went back counts on the later day", async () => {
    const mine = await wallet();
    await useUp(mine);
    ledger.clock.set(THURSDAY - DAY);
    expect(await run(place(mine, 0n))).toMatchObject({
      code: FREE_LIMIT_EXCEEDED,
      resetsAt: BigInt(MIDNIGHT),
    });
    ledger.clock.set(MIDNIGHT);
    expect(await code(place(mine, 0n))).toBe(DONE);
    ledger.clock.set(THURSDAY);
    for (let index = 1; index < LIMIT; index += 1) expect(await code(place(mine, 0n))).toBe(DONE);
    ledger.clock.set(MIDNIGHT);
    expect(await code(place(mine, 0n))).toBe(FREE_LIMIT_EXCEEDED);
  });

  test("under a key that has its answer is not counted, and a refused one leaves no claim", async () => {
    const mine = await wallet();
    const { holdId, ...operation } = claiming(mine, 0n, "k");
    expect(await code(operation)).toBe(DONE);
    await run(capture(holdId, 0n, 0n));
    for (let index = 0; index < LIMIT; index += 1)
      expect(await code(claiming(mine, 0n, "k"))).toBe(CLAIM_FINISHED);
    for (let index = 1; index < LIMIT; index += 1) expect(await code(place(mine, 0n))).toBe(DONE);
    expect(await code(claiming(mine, 0n, "new"))).toBe(FREE_LIMIT_EXCEEDED);
    ledger.clock.set(MIDNIGHT);
    expect(await code(claiming(mine, 0n, "new"))).toBe(DONE);
  });
});

test("as many as the limit are placed of one batch, the first ones", async () => {
  const mine = await openWallet(ledger.inProcess, 100n);
  const outcomes = await post(ledger.inProcess, ...Array.from({ length: 12 }, () => place(mine, 0n)));
  expect(outcomes.map(({ code }) => code)).toEqual([
    ...times(LIMIT, DONE),
    ...times(12 - LIMIT, FREE_LIMIT_EXCEEDED),
  ]);
});

test("as many as the limit are placed when two processes are asked at once", async () => {
  const env = { FREE_REQUESTS_PER_DAY: String(LIMIT) };
  const other = await startBillingOn(ledger.url, ledger.clock, env);
  try {
    for (let round = 0; round < 10; round += 1) {
      const mine = await openWallet(ledger.inProcess, 100n);
      const outcomes = await Promise.all(
        Array.from({ length: 30 }, (_, index) =>
          postOne((index % 2 === 0 ? ledger : other).inProcess, place(mine, 0n)),
        ),
      );
      expect(outcomes.map(({ code }) => code).toSorted()).toEqual([
        ...times(LIMIT, DONE),
        ...times(30 - LIMIT, FREE_LIMIT_EXCEEDED),
      ]);
    }
  } finally {
    await other.stop();
  }
});

test("without a limit, nothing is counted and nothing refused", async () => {
  const unlimited = await startBillingOn(ledger.url, ledger.clock, { FREE_REQUESTS_PER_DAY: "0" });
  try {
    const mine = await openWallet(ledger.inProcess, 100n);
    const outcomes = await post(unlimited.inProcess, ...Array.from({ length: 60 }, () => place(mine, 0n)));
    expect(outcomes.map(({ code }) => code)).toEqual(times(60, DONE));
  } finally {
    await unlimited.stop();
  }
});
