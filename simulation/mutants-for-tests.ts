// Mutants that no history can see, since SQL and the size of a hold are not played there: each names the test that notices.
import type { Mutant } from "./mutant.ts";

const POST = "services/billing/sql/post.sql";
const CLAIM = "services/billing/sql/claim.sql";
const SQL_POST = { test: "services/billing/src/writer/post.test.ts" } as const;
const SQL_FLEXIBLE = { test: "services/billing/src/writer/flexible-hold.test.ts" } as const;
const SQL_WINDOWS = { test: "services/billing/src/writer/spend-window.test.ts" } as const;
const SQL_CLAIMS = { test: "services/billing/src/claims/claims.test.ts" } as const;
const SQL_ANSWERS = { test: "services/billing/src/claims/answers.test.ts" } as const;

export const MUTANTS_FOR_TESTS: readonly Mutant[] = [
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
    find: "WHEN sp.id = coalesce(h.spender_id, op_spender[i]) AND sp.account_id = payer AND sp.active THEN",
    replace: "WHEN sp.id = coalesce(h.spender_id, op_spender[i]) AND sp.account_id = payer THEN",
    what: "a key that was switched off spends",
    caught: SQL_POST,
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
    file: "services/text-proxy/src/request/hold-size.ts",
    find: "      MOST_TOKENS_PER_IMAGE * input.images +\n",
    replace: "",
    what: "the hold of a text request leaves its images out",
    caught: { test: "services/text-proxy/src/request/hold-size.test.ts" },
  },
];
