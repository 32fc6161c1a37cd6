// Random histories against the model: the same outcomes, the same balances, and books that add up after each.
import { randomUUID } from "node:crypto";
import { DepositStatus } from "@gr/proto/billing";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import { messageOfPeriod } from "./message-names.ts";
import type { Period } from "./spender.ts";
import { HoldModel, type ModelOperation, type ModelOutcome, type SpenderFields } from "./test/hold-model.ts";
import { type BillingUnderTest, startBilling, THURSDAY } from "./test/start-billing.ts";
import * as wallet from "./test/wallet.ts";

const ACCOUNTS = 2;
/** The account of each spender. */
const OWNERS = [0, 0, 1] as const;
const HOLDS = 10;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const RUNS = 150;

type Step =
  | { readonly step: "post"; readonly operations: ModelOperation[] }
  | { readonly step: "spender"; readonly index: number; readonly fields: SpenderFields }
  | { readonly step: "deposit"; readonly account: number; readonly credits: bigint; readonly refund: boolean }
  | { readonly step: "clock"; readonly ms: number };

const likely = <T>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary });
const credits = fc.oneof(fc.constant(0n), fc.bigInt({ min: 1n, max: 20n }), fc.bigInt({ min: 1n, max: 90n }));
const cost = fc.bigInt({ min: 0n, max: 3n });
const hold = fc.nat({ max: HOLDS - 1 });
const spenderIndex = fc.nat({ max: OWNERS.length - 1 });
const spenderFields = fc.record({
  cap: fc.option(fc.bigInt({ min: 0n, max: 120n }), { nil: undefined }),
  period: fc.constantFrom<Period>("lifetime", "day", "week", "month"),
  expiresAt: fc
    .option(fc.integer({ min: -1, max: 60 }), { nil: undefined, freq: 3 })
    .map((days) => (days === undefined ? undefined : THURSDAY + days * DAY)),
  active: fc.constantFrom(true, true, true, true, false),
});
const operation = fc.oneof(
  likely(
    5,
    fc
      .record({
        hold,
        spender: spenderIndex,
        credits,
        foreign: fc.constantFrom(false, false, false, false, true),
      })
      .map(({ foreign, ...place }): ModelOperation => {
        const owner = OWNERS[place.spender] ?? 0;
        return { kind: "place", account: foreign ? 1 - owner : owner, ...place };
      }),
  ),
  likely(4, fc.record({ kind: fc.constant("capture" as const), hold, credits, cost })),
  likely(2, fc.record({ kind: fc.constantFrom("release" as const, "abandon" as const), hold, cost })),
  likely(1, fc.record({ kind: fc.constant("extend" as const), hold, credits })),
);
const step = fc.oneof(
  likely(
    8,
    fc
      .array(operation, { minLength: 1, maxLength: 8 })
      .map((operations): Step => ({ step: "post", operations })),
  ),
  likely(
    2,
    fc
      .constantFrom(1, HOUR, 12 * HOUR, DAY, 4 * DAY, 32 * DAY, -3_000, -12 * HOUR)
      .map((ms): Step => ({ step: "clock", ms })),
  ),
  likely(
    1,
    fc
      .record({ index: spenderIndex, fields: spenderFields })
      .map((put): Step => ({ step: "spender", ...put })),
  ),
  likely(
    1,
    fc
      .record({
        account: fc.nat({ max: ACCOUNTS - 1 }),
        credits: fc.bigInt({ min: 1n, max: 100n }),
        refund: fc.boolean(),
      })
      .map((deposit): Step => ({ step: "deposit", ...deposit })),
  ),
);
const history = fc.record({
  spenders: fc.tuple(spenderFields, spenderFields, spenderFields),
  steps: fc.array(step, { minLength: 1, maxLength: 25 }),
});

let ledger: BillingUnderTest;
beforeAll(async () => {
  ledger = await startBilling();
});
afterAll(() => ledger.stop());

test("every history has the outcomes and balances of the model, and books that add up", async () => {
  await fc.assert(
    fc.asyncProperty(history, async ({ spenders, steps }) => {
      ledger.clock.set(THURSDAY);
      const world = await openWorld(spenders);
      for (const one of steps) await world.take(one);
      expect(await world.balances()).toEqual(world.expectedBalances());
      expect(await world.lost()).toBe(world.model.lost);
      const { differences } = await ledger.inProcess.verifyLedger({});
      expect(differences).toEqual([]);
    }),
    { numRuns: RUNS },
  );
}, 120_000);

/** Fresh accounts and spenders, in billing and in the model. */
async function openWorld(fields: readonly SpenderFields[]) {
  const billing = ledger.inProcess;
  const model = new HoldModel(
    ACCOUNTS,
    OWNERS.map((account, index) => ({ account, fields: fields[index] ?? noFields() })),
  );
  const accountIds = Array.from({ length: ACCOUNTS }, () => randomUUID());
  const spenderIds = OWNERS.map(() => randomUUID());
  const holdIds = Array.from({ length: HOLDS }, () => randomUUID());
  const id = (ids: readonly string[], index: number) => ids[index] ?? "";

  const putSpender = (index: number, { cap, period, expiresAt, active }: SpenderFields) =>
    wallet.putSpender(billing, id(accountIds, OWNERS[index] ?? 0), {
      spenderId: id(spenderIds, index),
      ...(cap === undefined ? {} : { capCredits: cap }),
      period: messageOfPeriod(period),
      ...(expiresAt === undefined ? {} : { expiresAt: BigInt(expiresAt) }),
      active,
    });
  const message = (one: ModelOperation): wallet.OperationInit => {
    const holdId = id(holdIds, one.hold);
    switch (one.kind) {
      case "place": {
        const from = { accountId: id(accountIds, one.account), spenderId: id(spenderIds, one.spender) };
        return wallet.place(from, one.credits, { holdId });
      }
      case "capture":
        return wallet.capture(holdId, one.credits, one.cost);
      case "extend":
        return wallet.extend(holdId, one.credits);
      default:
        return (one.kind === "abandon" ? wallet.abandon : wallet.release)(holdId, one.cost);
    }
  };
  const deposit = async (account: number, amount: bigint, refund: boolean) => {
    const depositId = await wallet.deposit(billing, id(accountIds, account), amount);
    if (!refund) return;
    const status = DepositStatus.REFUNDED;
    await billing.putDeposit({
      depositId,
      accountId: id(accountIds, account),
      credits: amount,
      status,
      source: "test",
    });
  };
  const modelAccount = (index: number) => model.accounts[index] ?? { deposited: 0n, charged: 0n, held: 0n };

  for (const accountId of accountIds) await billing.openAccount({ accountId });
  for (let index = 0; index < OWNERS.length; index += 1) await putSpender(index, fields[index] ?? noFields());
  return {
    model,
    async take(one: Step) {
      switch (one.step) {
        case "clock":
          return ledger.clock.advance(one.ms);
        case "spender":
          model.putSpender(one.index, one.fields);
          return putSpender(one.index, one.fields);
        case "deposit":
          if (!one.refund) modelAccount(one.account).deposited += one.credits;
          return deposit(one.account, one.credits, one.refund);
        default: {
          const expected = one.operations.map((each) => full(model.apply(each, ledger.clock.now())));
          const { outcomes } = await billing.post({ operations: one.operations.map(message) });
          expect(outcomes).toMatchObject(expected);
        }
      }
    },
    async balances() {
      const read = accountIds.map((accountId) => billing.getCredits({ accountId, bySpender: true }));
      return (await Promise.all(read)).map(({ remainingCredits, heldCredits, usage }) => ({
        remaining: remainingCredits,
        held: heldCredits,
        usage: usage
          .map(({ spender, usedCredits, requests }) => [spender?.spenderId, usedCredits, requests])
          .sort(),
      }));
    },
    async lost() {
      const { rows } = await ledger.db.query<{ lost: string }>(
        "SELECT coalesce(sum(cost), 0)::text AS lost FROM entry WHERE kind <> 'charge' AND account_id = ANY ($1)",
        [accountIds],
      );
      return BigInt(rows[0]?.lost ?? -1);
    },
    expectedBalances: () =>
      model.accounts.map(({ deposited, charged, held }, account) => ({
        remaining: deposited - charged,
        held,
        usage: model.spenders
          .flatMap(({ account: owner, used, requests }, index) =>
            owner === account ? [[spenderIds[index], used, requests]] : [],
          )
          .sort(),
      })),
  };
}

function noFields(): SpenderFields {
  return { cap: undefined, period: "lifetime", expiresAt: undefined, active: true };
}

/** As the contract says it: what a refusal does not have is zero. */
function full({ code, inFlight, available, cap, period, resetsAt, expiresAt }: ModelOutcome) {
  return {
    code,
    inFlight: inFlight ?? false,
    availableCredits: available ?? 0n,
    capCredits: cap ?? 0n,
    period: period === undefined ? 0 : messageOfPeriod(period),
    resetsAt: BigInt(resetsAt ?? 0),
    expiresAt: BigInt(expiresAt ?? 0),
  };
}
