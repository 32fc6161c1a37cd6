// Guarantees of the pages of the log: with any filter they have each matching text once, in order, and the sums count the same texts.
import { HoldState, TextApi } from "@gr/proto/billing";
import { until } from "@gr/testing";
import { byDepth } from "@gr/testing/depth";
import { Random } from "@gr/testing/random";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import { type BillingUnderTest, startBilling, THURSDAY } from "../test/start-billing.ts";
import { capture, openWallet, place, post, release, type Wallet } from "../test/wallet.ts";

const { LINES, RUNS } = byDepth({ quick: { LINES: 60, RUNS: 40 }, deep: { LINES: 300, RUNS: 200 } });
const CHARGE = 7n;
/** Lines of "none" have no hold. */
const STATES = {
  open: HoldState.OPEN,
  captured: HoldState.CAPTURED,
  released: HoldState.RELEASED,
  none: undefined,
};
const DRAWN = ["open", "captured", "captured", "captured", "captured", "released", "none"] as const;

interface Line {
  readonly wallet: Wallet;
  readonly id: string;
  readonly model: string;
  readonly provider: string;
  readonly state: keyof typeof STATES;
  readonly at: number;
}

let ledger: BillingUnderTest;
let wallets: Wallet[];
const lines: Line[] = [];
beforeAll(async () => {
  ledger = await startBilling();
  wallets = [await openWallet(ledger.inProcess, 1_000_000n), await openWallet(ledger.inProcess, 1_000_000n)];
  const random = new Random(120);
  for (let count = 0; count < LINES; count += 1) await addLine(random);
  const open = lines.filter(({ state }) => state === "open").length;
  const listed = "SELECT count(*)::int AS count FROM open_hold";
  await until(async () => (await ledger.db.query(listed)).rows[0].count === open, { timeoutMs: 60_000 });
});
afterAll(() => ledger.stopSound());

/** Few times, so many lines have the same one. */
async function addLine(random: Random): Promise<void> {
  const [wallet, model, provider] = [random.pick(wallets), random.pick(["a", "b"]), random.pick(["p", "q"])];
  const state = random.pick([...DRAWN]);
  const hold = place(wallet, 40n, { model });
  const id = hold.holdId;
  if (state !== "none") await post(ledger.inProcess, hold);
  if (state === "captured") await post(ledger.inProcess, capture(id, CHARGE));
  if (state === "released") await post(ledger.inProcess, release(id));
  const at = THURSDAY - random.below(12);
  const { accountId, spenderId } = wallet;
  const attempts = [{ provider, upstreamModel: "m", outcome: "delivered", tookMs: 1n }];
  const line = {
    requestId: id,
    accountId,
    spenderId,
    model,
    api: TextApi.CHAT,
    beganAt: BigInt(at),
    attempts,
  };
  await ledger.texts.writeTexts({ lines: [line] });
  lines.push({ wallet, id, model, provider, state, at });
}

const filters = fc.record({
  account: fc.nat(1),
  spender: fc.option(fc.nat(1)),
  spenders: fc.constantFrom([], [0], [1], [0, 1]),
  model: fc.constantFrom("", "a", "b"),
  provider: fc.constantFrom("", "p", "q"),
  state: fc.constantFrom(undefined, "open", "captured", "released"),
  after: fc.option(fc.nat(13), { freq: 1 }),
  before: fc.option(fc.nat(13), { freq: 1 }),
  limit: fc.integer({ min: 1, max: 9 }),
});
type Filter = typeof filters extends fc.Arbitrary<infer Drawn> ? Drawn : never;

const newestFirst = (one: Line, other: Line) => other.at - one.at || (one.id < other.id ? 1 : -1);
const idOf = (index: number) => wallets[index]?.spenderId ?? "";

function matching({ account, spender, spenders, model, provider, state, after, before }: Filter): Line[] {
  const fits = (line: Line) =>
    line.state !== "none" &&
    line.wallet === wallets[account] &&
    (spender === null || line.wallet === wallets[spender]) &&
    (spenders.length === 0 || spenders.some((index) => line.wallet === wallets[index])) &&
    (model === "" || line.model === model) &&
    (provider === "" || line.provider === provider) &&
    (state === undefined || line.state === state) &&
    (after === null || line.at > THURSDAY - after) &&
    (before === null || line.at < THURSDAY - before);
  return lines.filter(fits).sort(newestFirst);
}

test("pages and sums of any filter have its texts, once and in order", async () => {
  await fc.assert(
    fc.asyncProperty(filters, async (drawn) => {
      const { account, spender, spenders, model, provider, state, after, before, limit } = drawn;
      const filter = {
        accountId: wallets[account]?.accountId ?? "",
        spenderId: spender === null ? "" : idOf(spender),
        spenderIds: spenders.map(idOf),
        ...{ model, provider, state: state === undefined ? HoldState.UNSPECIFIED : (STATES[state] ?? 0) },
        ...(after === null ? {} : { beganAfter: BigInt(THURSDAY - after) }),
        ...(before === null ? {} : { beganBefore: BigInt(THURSDAY - before) }),
      };
      const wanted = matching(drawn);
      const found: [string, HoldState][] = [];
      for (let [place, isEnd] = ["", false]; !isEnd; ) {
        const { texts, hasMore } = await ledger.texts.listTexts({ ...filter, limit, after: place });
        found.push(...texts.map(({ requestId, state: one }): [string, HoldState] => [requestId, one]));
        [place, isEnd] = [texts.at(-1)?.requestId ?? "", !hasMore];
      }
      expect(found).toEqual(wanted.map(({ id, state: one }) => [id, STATES[one]]));
      const { oldestAt } = await ledger.texts.sumTexts({ filter });
      expect(oldestAt).toEqual(wanted.length === 0 ? undefined : BigInt(wanted.at(-1)?.at ?? 0));
      const { sums } = await ledger.texts.sumTexts({ filter, barsFrom: 1n, barMs: BigInt(THURSDAY) });
      expect(sums.reduce((all, { requests }) => all + requests, 0n)).toBe(BigInt(wanted.length));
      const charged = wanted.filter((line) => line.state === "captured").length;
      expect(sums.reduce((all, { chargedCredits }) => all + chargedCredits, 0n)).toBe(
        CHARGE * BigInt(charged),
      );
    }),
    { numRuns: RUNS },
  );
});
