// Mutants of answers that have several parts, and of charges that their hold does not cover.
import type { Mutant } from "./mutant.ts";

const HOLDS = "packages/paid-request/src/running-holds.ts";
const CONTINUATION = "packages/paid-request/src/continuation.ts";

export const MUTANTS_OF_PARTS: readonly Mutant[] = [
  // An answer of several parts.
  {
    file: CONTINUATION,
    find: 'if ("refused" in extended) return end.otherwise();',
    replace: "",
    what: "a broken stream is continued without money for it",
    caught: { histories: 3_000 },
  },
  {
    file: CONTINUATION,
    find: "const parts = [...this.#parts, bill];",
    replace: "const parts = [bill];",
    what: "of an answer of three parts the first is not charged",
    caught: { test: "packages/paid-request/src/continuation.test.ts" },
  },
  {
    file: CONTINUATION,
    find: "return chargeOf(last + costOfParts(parts));",
    replace: "return chargeOf(last);",
    what: "only the last part of a continued answer is charged",
    caught: { histories: 3_000 },
  },
  {
    file: CONTINUATION,
    find: "end.isBilled ? bill.cost : 0n",
    replace: "0n",
    what: "the bill of a part that another provider continued is not booked",
    caught: { histories: 3_000, seed: 775 },
  },
  {
    file: CONTINUATION,
    find: "await extend(held() + chargeOfParts(readAgain, parts))",
    replace: "await extend(held())",
    what: "the hold of a continued answer does not cover its parts",
    caught: { test: "packages/paid-request/src/continuation.test.ts" },
  },
  {
    file: CONTINUATION,
    find: "isUnsent: false, mayFallBack: true },",
    replace: "isUnsent: false, mayFallBack: false },",
    what: "a stream ends where it broke off, although it could go on elsewhere",
    caught: { histories: 2_000 },
  },
  // No charge is above its hold.
  {
    file: HOLDS,
    find: "return { ...bill, charge: held };",
    replace: "return bill;",
    what: "a charge is above its hold",
    caught: { histories: 3_000 },
  },
  {
    file: HOLDS,
    find: "    await this.#holds.get(order.id)?.settled;\n",
    replace: "",
    what: "a charge is cut although its hold has grown",
    caught: { histories: 3_000, seed: 559 },
  },
];
