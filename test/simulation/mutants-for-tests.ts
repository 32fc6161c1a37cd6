// Mutants that no history can see, since SQL and the size of a hold are not played there: each names the test that notices.
import type { Mutant } from "./mutant.ts";

const POST = "services/billing/sql/post.sql";
const CLAIM = "services/billing/sql/claim.sql";
const SQL_POST = { test: "services/billing/src/writer/post.test.ts" } as const;
const SQL_SUSPENDED = { test: "services/billing/src/accounts/suspended.test.ts" } as const;
const SQL_FLEXIBLE = { test: "services/billing/src/writer/flexible-hold.test.ts" } as const;
const SQL_WINDOWS = { test: "services/billing/src/writer/spend-window.test.ts" } as const;
const SQL_CLAIMS = { test: "services/billing/src/claims/claims.test.ts" } as const;
const HOLD_SIZE = "services/text-proxy/src/request/hold-size.ts";
const SPENDING = "services/text-proxy/src/answer/stream-spending.ts";
const TEXT_HOLD = { test: "services/text-proxy/src/request/hold-size.test.ts" } as const;
const TEXT_MONEY = { test: "services/text-proxy/src/within-the-money.test.ts" } as const;
const SQL_ANSWERS = { test: "services/billing/src/claims/answers.test.ts" } as const;

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
    file: POST,
    find: "WHEN h.state = 'captured' AND kind = 'capture' AND h.charge = op_credits[i] AND h.cost = op_cost[i] THEN 'done'",
    replace: "WHEN h.state = 'captured' AND kind = 'capture' THEN NULL",
    what: "a repeated capture charges again",
    caught: { ...SQL_POST, name: "twice charges once" },
  },
  {
    file: POST,
    find: "IF h.window_no = sp.window_no THEN\n          sp.window_held := sp.window_held - h.credits;",
    replace: "IF true THEN\n          sp.window_held := sp.window_held - h.credits;",
    what: "a charge counts in the window that runs, not in that of its hold",
    caught: SQL_WINDOWS,
  },
  {
    file: POST,
    find: "held := CASE WHEN fresh THEN 0 ELSE sp.window_held END;",
    replace: "held := sp.window_held;",
    what: "holds are carried into the next window",
    caught: SQL_WINDOWS,
  },
  {
    file: POST,
    find: "fresh := h.id IS NULL AND coalesce(sp.window_start < start, start IS NOT NULL);",
    replace: "fresh := h.id IS NULL AND coalesce(sp.window_start <> start, start IS NOT NULL);",
    what: "the start of a window moves back with the clock",
    caught: SQL_WINDOWS,
  },
  {
    file: POST,
    find: "AND sp.account_id = payer AND sp.active AND NOT acc.suspended THEN",
    replace: "AND sp.account_id = payer AND NOT acc.suspended THEN",
    what: "a key that was switched off spends",
    caught: SQL_POST,
  },
  {
    file: POST,
    find: "AND sp.account_id = payer AND sp.active AND NOT acc.suspended THEN",
    replace: "AND sp.account_id = payer AND sp.active THEN",
    what: "a suspended account spends",
    caught: SQL_SUSPENDED,
  },
  {
    file: "services/billing/src/mirror/spend-numbers-store.ts",
    find: "WHERE s.active AND NOT a.suspended AND (s.expires_at",
    replace: "WHERE s.active AND (s.expires_at",
    what: "who is asked whether an account may spend forgets that it is suspended",
    caught: SQL_SUSPENDED,
  },
  {
    file: POST,
    find: "more := greatest(op_credits[i] - coalesce(h.credits, 0), 0);",
    replace: "more := op_credits[i];",
    what: "an extension adds to a hold instead of setting it",
    caught: SQL_POST,
  },
  {
    file: POST,
    find: "used + held + more <= coalesce(sp.cap, used + held + more)",
    replace: "used + more <= coalesce(sp.cap, used + more)",
    what: "the cap of a key does not count what its other requests hold",
    caught: SQL_POST,
  },
  {
    file: POST,
    find: "least(acc.credits - acc.debits - acc.held, sp.cap - used - held) / 4));",
    replace: "acc.credits - acc.debits - acc.held));",
    what: "a hold takes all that is free, more than the key's limit has left",
    caught: SQL_FLEXIBLE,
  },
  {
    file: POST,
    find: "        op_credits[i] := more;\n",
    replace: "",
    what: "a hold that took more than it needs at least gives back the least only",
    caught: SQL_FLEXIBLE,
  },
  {
    file: POST,
    find: "AND h.attempt = op_attempt[i] THEN 'done'::outcome",
    replace: "AND h.attempt > op_attempt[i] THEN 'done'::outcome",
    what: "the next attempt, repeated, is refused",
    caught: SQL_POST,
  },
  {
    file: CLAIM,
    find: "WHEN holder_state = 'released' AND c.content_type IS NULL THEN NULL",
    replace: "WHEN holder_state <> 'captured' AND c.content_type IS NULL THEN NULL",
    what: "a claim is taken over while its request runs",
    caught: SQL_CLAIMS,
  },
  {
    file: CLAIM,
    find: "interval '24 hours'",
    replace: "interval '11 hours'",
    what: "a claim ends before its day is over",
    caught: SQL_CLAIMS,
  },
  {
    file: POST,
    find: "moment := coalesce(asked_at, clock_timestamp());",
    replace: "moment := coalesce(asked_at, statement_timestamp());",
    what: "the time is read before the locks",
    caught: {
      test: "services/billing/src/writer/concurrency.test.ts",
      name: "a place that waited for a lock is decided by the time when it got it",
    },
  },
  {
    file: "services/billing/src/claims/answer-store.ts",
    find: "  if (holds.rows[0].is_leased) throw",
    replace: '  if (holds.rows[0].is_leased && answer.holdId === "") throw',
    what: "an answer is kept while somebody resolves its hold",
    caught: SQL_ANSWERS,
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
    caught: { histories: 20_000, seed: 1_550 },
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
