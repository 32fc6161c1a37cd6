// Mutants of losses, of limits, of claims and of statements: each of them would cost the operator or a customer money.
// No history plays them, because its bills are those of honest providers. Each names the test that notices.
import type { Mutant } from "./mutant.ts";

const LOSSES = "packages/paid-request/src/loss-breaker.ts";
const LOSSES_TEST = { test: "packages/paid-request/src/loss-breaker.test.ts" } as const;
const LIFE_TEST = { test: "packages/paid-request/src/paid-requests.test.ts" } as const;
const COMPARE = "services/console/src/statements/compare-statement.ts";
const COMPARE_TEST = { test: "services/console/src/statements/compare-statement.test.ts" } as const;
const MAX_COST = "packages/paid-request/src/max-cost.ts";
const MAX_COST_TEST = { test: "packages/paid-request/src/max-cost.test.ts" } as const;
const CLAIM = "packages/paid-request/src/claim.ts";
const CLAIM_TEST = { test: "packages/paid-request/src/claim.test.ts" } as const;
const TRUE_COST = "services/media-generation/src/generation/true-cost.ts";
const TRUE_COST_TEST = { test: "services/media-generation/src/generation/true-cost.test.ts" } as const;

export const MUTANTS_OF_LOSSES: readonly Mutant[] = [
  // Losses.
  {
    file: LOSSES,
    find: "const covered = (charge ?? held) * PICO_PER_CREDIT;",
    replace: "const covered = held * PICO_PER_CREDIT;",
    what: "a bill far above a small charge counts as covered by its hold",
    caught: LOSSES_TEST,
  },
  {
    file: LOSSES,
    find: "const isForAll = isRunaway || ",
    replace: "const isForAll = ",
    what: "a runaway bill closes its route for one account only",
    caught: LOSSES_TEST,
  },
  {
    file: LOSSES,
    find: "(before !== undefined && before.accountId !== accountId);",
    replace: "false;",
    what: "accounts lose money on a route one after the other",
    caught: LOSSES_TEST,
  },
  {
    file: LOSSES,
    find: "    this.#closings.delete(keyOf(route));\n    this.#events",
    replace: "    this.#events",
    what: "a route that an operator opened stays closed",
    caught: LOSSES_TEST,
  },
  {
    file: "packages/paid-request/src/paid-requests.ts",
    find: "      later = later.filter((each) => !this.losses.isClosed(each, order.accountId));\n",
    replace: "",
    what: "a running request falls back to a route that loses money",
    caught: { ...LIFE_TEST, name: "is skipped by running requests" },
  },
  {
    file: "packages/paid-request/src/resolver.ts",
    find: "    losses.recordBill(route, cover, verdict.cost);\n",
    replace: "",
    what: "a bill that the resolver finds closes no route",
    caught: { ...LIFE_TEST, name: "when another process left the hold" },
  },
  {
    file: "packages/paid-request/src/resolver.ts",
    find: "        this.#recordKept(hold, trace.ending);\n",
    replace: "",
    what: "the loss of an answer that another process kept closes no route",
    caught: { ...LIFE_TEST, name: "when another process kept the answer" },
  },
  {
    file: "packages/paid-request/src/bill-search.ts",
    find: "        this.#losses.recordBill(route, cover, cost);\n",
    replace: "",
    what: "a late bill closes no route",
    caught: { ...LIFE_TEST, name: "found after the request had ended" },
  },
  {
    file: "packages/paid-request/src/continuation.ts",
    find: "    billed(route, bill);\n",
    replace: "",
    what: "the loss of a part closes no route",
    caught: { test: "packages/paid-request/src/continuation.test.ts" },
  },
  {
    file: "packages/paid-request/src/continuation.ts",
    find: "sum + smaller(cost, charge * PICO_PER_CREDIT), 0n)",
    replace: "sum + cost, 0n)",
    what: "a customer pays for a part what no price list has",
    caught: { test: "packages/paid-request/src/continuation.test.ts" },
  },
  // Limits of the client, and claims.
  {
    file: MAX_COST,
    find: "  if (most === undefined || bound <= most) return;\n",
    replace: "  if (most === undefined || bound > 0n) return;\n",
    what: "a request is begun above the client's own limit",
    caught: MAX_COST_TEST,
  },
  {
    file: "packages/paid-request/src/running-holds.ts",
    find: "if (maxCost !== undefined && wanted.credits > larger(maxCost, hold.credits)) {",
    replace: "if (false as boolean) {",
    what: "a hold grows above the client's own limit",
    caught: MAX_COST_TEST,
  },
  {
    file: "packages/paid-request/src/running-holds.ts",
    find: "order.maxCost === undefined ? charge : smaller(charge, order.maxCost)",
    replace: "charge",
    what: "an answer is charged above the client's own limit",
    caught: MAX_COST_TEST,
  },
  {
    file: MAX_COST,
    find: "  if (name === undefined) return;\n",
    replace: "  if (name !== null) return;\n",
    what: "a limit in the words of another API is ignored",
    caught: MAX_COST_TEST,
  },
  {
    file: CLAIM,
    find: ":`).update(bytes);",
    replace: "`.slice(99)).update(bytes);",
    what: "two different requests have one fingerprint",
    caught: CLAIM_TEST,
  },
  {
    file: CLAIM,
    find: "digestOf([endpoint, value, personId ?? keyId])",
    replace: "digestOf([endpoint, value])",
    what: "the key of one client answers the request of another",
    caught: CLAIM_TEST,
  },
  // Costs of generations.
  {
    file: TRUE_COST,
    find: "return chargeOf(used < most ? used : most);",
    replace: "return chargeOf(used);",
    what: "pictures are charged above what was held for them",
    caught: TRUE_COST_TEST,
  },
  {
    file: TRUE_COST,
    find: "price === undefined || price.version !== order.priceVersion",
    replace: "price === undefined",
    what: "a picture is charged at a price that came later",
    caught: TRUE_COST_TEST,
  },
  {
    file: TRUE_COST,
    find: "usage?.billed ?? priced(usage, costing)",
    replace: "priced(usage, costing)",
    what: "the bill of a provider of pictures is not booked",
    caught: TRUE_COST_TEST,
  },
  // Statements.
  {
    file: COMPARE,
    find: "smaller(larger(difference, 0n), left);",
    replace: "smaller(larger(difference, 0n), unassigned);",
    what: "cost without a model explains each difference again",
    caught: COMPARE_TEST,
  },
  {
    file: COMPARE,
    find: "const differs = size(unexplained) > larger(tolerance.usd, share);",
    replace: "const differs = unexplained > larger(tolerance.usd, share);",
    what: "books above the statement are no difference",
    caught: COMPARE_TEST,
  },
  {
    file: COMPARE,
    find: "(differs ? sum + size(unexplained) : sum), 0n)",
    replace: "(differs ? sum + unexplained : sum), 0n)",
    what: "differences of two models cancel each other out",
    caught: COMPARE_TEST,
  },
];
