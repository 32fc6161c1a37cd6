// F24: Redis is empty, and several processes make the numbers of one account anew at the same moment, while money is
// spent. Each counts from PostgreSQL and none adds to what another has put there: what the account has is spent, and not
// one credit more, and nobody is refused who could pay.
import { type Outcome, OutcomeCode } from "@gr/proto/billing";
import { testRedis } from "@gr/testing";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import {
  type BillingProcess,
  type BillingUnderTest,
  startBilling,
  startBillingOn,
} from "../test/start-billing.ts";
import { capture, deposit, openAccount, place, postOne, putSpender } from "../test/wallet.ts";

const { DONE, INSUFFICIENT_CREDITS } = OutcomeCode;
const PROCESSES = 4;
const ROUNDS = 20;
/** Of each process in a round. */
const PLACES = 25;
const ALLOWED = 7;
const SIZE = 100n;

let ledger: BillingUnderTest;
let redis: Awaited<ReturnType<typeof testRedis>>;
let processes: readonly BillingProcess[];
beforeAll(async () => {
  ledger = await startBilling();
  redis = await testRedis();
  const env = { REDIS_URL: redis.url, REDIS_TIMEOUT_MS: "10000" };
  processes = await Promise.all(
    Array.from({ length: PROCESSES }, () => startBillingOn(ledger.url, ledger.clock, env)),
  );
});
afterAll(async () => {
  for (const each of processes) await each.stop();
  await ledger.stopSound();
});

test(`${PROCESSES} processes with an empty Redis spend an account's credit exactly, round after round`, async () => {
  const accountId = await openAccount(ledger.inProcess, 0n);
  const spenderId = await putSpender(ledger.inProcess, accountId);
  const hold = () =>
    place({ accountId, spenderId }, SIZE, { holdId: uuidv7({ msecs: ledger.clock.now() + 1 }) });
  for (let round = 1; round <= ROUNDS; round += 1) {
    // Refused, so that the mirror has numbers; then they are gone, and the account has credit for so many more.
    await Promise.all(processes.map(({ inProcess }) => postOne(inProcess, hold())));
    await deposit(ledger.inProcess, accountId, SIZE * BigInt(ALLOWED));
    await redis.flush();
    const asked = processes.flatMap(({ inProcess }) =>
      Array.from({ length: PLACES }, async () => {
        const wanted = hold();
        return { wanted, inProcess, outcome: await postOne(inProcess, wanted) };
      }),
    );
    const answers = await Promise.all(asked);
    const codes = (code: OutcomeCode) =>
      answers.filter(({ outcome }: { outcome: Outcome }) => outcome.code === code);
    expect([codes(DONE).length, codes(INSUFFICIENT_CREDITS).length]).toEqual([
      ALLOWED,
      PROCESSES * PLACES - ALLOWED,
    ]);
    for (const { wanted, inProcess } of codes(DONE)) {
      expect((await postOne(inProcess, capture(wanted.holdId, SIZE))).code).toBe(DONE);
    }
    expect(await ledger.inProcess.getCredits({ accountId })).toMatchObject({
      remainingCredits: 0n,
      heldCredits: 0n,
    });
  }
});
