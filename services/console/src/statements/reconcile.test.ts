// A comparison asks billing for the provider's names in the books, and refuses days, names and statements that it cannot compare.
import { ManualClock } from "@gr/testing";
import { expect, test } from "@jest/globals";
import { UnusableStatement } from "./provider-statement.ts";
import { createReconcile, type ReconcileDeps, type Reconciliation } from "./reconcile.ts";

type SumCosts = ReconcileDeps["reports"]["sumCosts"];
type Sums = Awaited<ReturnType<SumCosts>>;

const days = { from: "2026-01-12", to: "2026-01-13" };
const clock = new ManualClock();
let asked: unknown;
const sumCosts = (async (request: unknown) => {
  asked = request;
  const sum = { day: days.from, provider: "default", upstreamModel: "m", costPicoUsd: "5", entries: 1n };
  return { sums: [sum] } as unknown as Sums;
}) as SumCosts;

const { compare } = createReconcile({
  statements: [
    {
      name: "mine",
      providers: ["default", "mine"],
      reader: { read: async ({ from }) => [{ day: from, model: "m", amount: 7n }] },
    },
    { name: "keyless", providers: ["keyless"], reader: undefined },
    {
      name: "away",
      providers: ["away"],
      reader: { read: () => Promise.reject(new UnusableStatement("it answered 500")) },
    },
  ],
  tolerance: { usd: 0n, percent: 0 },
  reports: { sumCosts },
  clock,
});

test("the statement is compared with the books of all names of the provider", async () => {
  expect(await compare({ statement: "mine", days })).toMatchObject({
    ...{ statement: "mine", fromDay: days.from, toDay: days.to, comparedAt: BigInt(clock.now()) },
    ...{ billedPicoUsd: "7", bookedPicoUsd: "5", offPicoUsd: "2" },
    models: [{ model: "m", differencePicoUsd: "2", differs: true }],
  });
  expect(asked).toEqual({ fromDay: days.from, toDay: days.to, providers: ["default", "mine"] });
});

test("a CSV file is compared for any name of a provider", async () => {
  const csv = "day,model,usd\n2026-01-12,m,0.000000000005\n";
  expect(await compare({ statement: "elsewhere", days, csv })).toMatchObject({ offPicoUsd: "0" });
  expect(asked).toMatchObject({ providers: ["elsewhere"] });
});

test.each<[Reconciliation, string, string]>([
  [{ statement: "mine", days: { ...days, from: "2026-02-30" } }, "from_day", "a day"],
  [{ statement: "mine", days: { ...days, to: "2026-01-11" } }, "to_day", "before"],
  [{ statement: "mine", days: { ...days, to: "2026-02-12" } }, "from_day", "31 days"],
  [{ statement: "other", days }, "statement", "STATEMENTS has mine, keyless, away"],
  [{ statement: "../x", days, csv: "" }, "statement", "no statement"],
  [{ statement: "keyless", days }, "statement", "has no key for keyless"],
])("%j is refused, and the field is named", async (wrong, param, problem) => {
  await expect(compare(wrong)).rejects.toMatchObject({
    ...{ reason: "invalid_value", param },
    message: expect.stringContaining(problem),
  });
});

test("a statement that cannot be read is no comparison: the reason is in the message", async () => {
  await expect(compare({ statement: "away", days })).rejects.toMatchObject({
    reason: "service_unavailable",
    message: "The statement of away was not read: it answered 500.",
  });
});
