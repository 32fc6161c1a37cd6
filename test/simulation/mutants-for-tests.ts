// Mutants that no history can see, since the size of a hold and the code around it are not played there: each names the test that notices.
import type { Mutant } from "./mutant.ts";

const HOLD_SIZE = "services/text-proxy/src/request/hold-size.ts";
const SPENDING = "services/text-proxy/src/answer/stream-spending.ts";
const TEXT_HOLD = { test: "services/text-proxy/src/request/hold-size.test.ts" } as const;
const TEXT_MONEY = { test: "services/text-proxy/src/within-the-money.test.ts" } as const;

const TEXT_UNBILLED = "services/text-proxy/src/cost/unbilled-attempt.ts";
const SEVERAL_UPSTREAMS = { test: "services/text-proxy/src/several-upstreams.test.ts" } as const;

export const MUTANTS_FOR_TESTS: readonly Mutant[] = [
  {
    file: "packages/paid-request/src/paid-requests.ts",
    find: "      if (gone()) return;\n      await this.#releaseUnsent(order);\n",
    replace: "      if (gone()) return;\n",
    what: "the hold of a request that could not be prepared is not freed",
    caught: {
      test: "packages/paid-request/src/paid-requests.test.ts",
      name: "and when it fails the hold is released",
    },
  },
  {
    file: HOLD_SIZE,
    find: "      MOST_TOKENS_PER_IMAGE * input.images +\n",
    replace: "",
    what: "the hold of a text request leaves its images out",
    caught: TEXT_HOLD,
  },
  {
    file: HOLD_SIZE,
    find: "  return larger(fetched, tokens);",
    replace: "  return fetched > 0n ? fetched : tokens;",
    what: "a prompt that is larger than the listed context is held for up to that context",
    caught: TEXT_HOLD,
  },
  {
    file: HOLD_SIZE,
    find: "(hasExtras ? extrasCost : 0n);",
    replace: "0n;",
    what: "the paid extras of a free model need no credit",
    caught: TEXT_HOLD,
  },
  {
    file: HOLD_SIZE,
    find: "covered < mostTokens ? smaller(covered, roomTokens) : undefined",
    replace: "undefined",
    what: "an answer in one piece is not told where its hold ends",
    caught: TEXT_MONEY,
  },
  {
    file: HOLD_SIZE,
    find: "(tokenCost * BigInt(request.choices));",
    replace: "tokenCost;",
    what: "each of several answers may use the whole of their hold",
    caught: TEXT_HOLD,
  },
  {
    file: "services/text-proxy/src/request/lookalikes.ts",
    find: "name.toUpperCase().toLowerCase()",
    replace: "name",
    what: "an upstream that matches names without regard to case reads another limit than was held for",
    caught: { test: "services/text-proxy/src/request/text-request.test.ts" },
  },
  {
    file: SPENDING,
    find: "wait: () => upstream.pause(),",
    replace: "wait: () => undefined,",
    what: "an upstream is read on while nobody has said that the hold may grow",
    caught: { histories: 1_000 },
  },
  {
    file: SPENDING,
    find: "const FEWEST_BYTES_PER_TOKEN = 2;",
    replace: "const FEWEST_BYTES_PER_TOKEN = 12;",
    what: "a stream is thought to have used less than it has",
    caught: { ...TEXT_MONEY, name: "grows as far as the money goes" },
  },
  {
    file: SPENDING,
    find: "if (this.#hold.held >= this.#enough) return this.#meter.tokens(MOST_BYTES_PER_TOKEN);",
    replace: "",
    what: "a stream that keeps to its limit is cut because its words are long",
    caught: { ...TEXT_MONEY, name: "keeps to it is not cut" },
  },
  {
    file: "services/text-proxy/src/stream/upstream-gate.ts",
    find: "if (this.#closedBy.size === 0) this.#source.resume();",
    replace: "this.#source.resume();",
    what: "a client that reads on lets an upstream go on that waits for money",
    caught: { test: "services/text-proxy/src/stream/upstream-gate.test.ts" },
  },
  {
    file: "services/text-proxy/src/cost/bill.ts",
    find: "  return most;\n",
    replace: "  return cost;\n",
    what: "whatever an upstream reports is charged",
    caught: { ...TEXT_MONEY, name: "beyond belief" },
  },
  {
    file: "services/text-proxy/src/cost/trusted-cost.ts",
    find: "  if (limit !== undefined) return limit * answers + predicted;\n",
    replace: "",
    what: "a customer pays for what an upstream gave beyond the limit that it was told",
    caught: { test: "services/text-proxy/src/cost/trusted-cost.test.ts" },
  },
  // Several text upstreams.
  {
    file: "services/text-proxy/src/cost/failed-attempt.ts",
    find: 'if (loss.kind !== "not sent") return',
    replace: 'if (loss.kind === "total time") return',
    what: "text falls back after a broken connection, although the first upstream may bill it",
    caught: { ...SEVERAL_UPSTREAMS, name: "the second is not asked" },
  },
  {
    file: TEXT_UNBILLED,
    find: "return billed ? end : unbilled(",
    replace: "return unbilled(",
    what: "text falls back after any failure, although the first upstream may bill it",
    caught: { histories: 500 },
  },
  {
    file: TEXT_UNBILLED,
    find: "unbilled(end, !hasDelivered)",
    replace: "unbilled(end, true)",
    what: "text falls back although the client has a part of the first upstream's stream",
    caught: { histories: 20_000, seed: 522 },
  },
  {
    file: TEXT_UNBILLED,
    find: '    cost: 0n,\n    billId: "",\n    isUnsent: true,\n    mayFallBack: true,\n    why: "not_asked",\n    message: "its breaker is open",',
    replace:
      '    cost: 1n,\n    billId: "",\n    isUnsent: true,\n    mayFallBack: true,\n    why: "not_asked",\n    message: "its breaker is open",',
    what: "an upstream that was not asked, since its breaker is open, is booked with a cost",
    caught: { histories: 5_000 },
  },
  {
    file: TEXT_UNBILLED,
    find: '    mayFallBack: true,\n    why: "not_asked",\n    message: "its breaker is open",',
    replace: '    mayFallBack: false,\n    why: "not_asked",\n    message: "its breaker is open",',
    what: "a request ends at an open breaker, although another upstream could be asked",
    caught: { histories: 5_000 },
  },
  {
    file: TEXT_UNBILLED,
    find: "mayFallBack && (isRefusal ? end.mayFallBack : true)",
    replace: "mayFallBack && isRefusal && end.mayFallBack",
    what: "a request ends where it failed for nothing, although another upstream could be asked",
    caught: { histories: 2_000 },
  },
  {
    file: "services/text-proxy/src/answer/stream-relay.ts",
    find: "if (!this.#hasDelivered && usage === undefined",
    replace: "if (usage === undefined",
    what: "text falls back after a refusal in a stream of which the client has a part",
    caught: { ...SEVERAL_UPSTREAMS, name: "the second is not asked" },
  },
  {
    file: "services/text-proxy/src/answer/stream-relay.ts",
    find: "      if (coolDown !== undefined) this.#parts.coolDown(coolDown);\n",
    replace: "",
    what: "an upstream that asks for patience in its stream is asked again at once",
    caught: { ...SEVERAL_UPSTREAMS, name: "is the last choice for" },
  },
  {
    file: "services/text-proxy/src/answer/text-producer.ts",
    find: "tokenPriceAt(this.parts.order.price, route.provider)",
    replace: "this.parts.order.price",
    what: "text is charged at the price of another upstream than the one that served it",
    caught: { ...SEVERAL_UPSTREAMS, name: "is what is billed and charged" },
  },
];
