// Production code made wrong on purpose, one place at a time. Each mutant promises who notices: the invariants within so many
// histories from seed 0 on, or a test. A mutant whose place is gone fails the run: it follows the code, or goes with it.
import type { Mutant } from "./mutant.ts";
import { MUTANTS_FOR_TESTS } from "./mutants-for-tests.ts";
import { MUTANTS_OF_CHAIN } from "./mutants-of-chain.ts";
import { MUTANTS_OF_LEDGER } from "./mutants-of-ledger.ts";
import { MUTANTS_OF_LOSSES } from "./mutants-of-losses.ts";
import { MUTANTS_OF_PARTS } from "./mutants-of-parts.ts";
import { MUTANTS_OF_PRICES } from "./mutants-of-prices.ts";

const LIFE = "packages/paid-request/src/paid-requests.ts";
const HOLDS = "packages/paid-request/src/running-holds.ts";
const LOOK_UP = "packages/paid-request/src/bill-look-up.ts";
const GROWING = "packages/paid-request/src/growing-hold.ts";
const RESOLVER = "packages/paid-request/src/resolver.ts";
const LOST = "packages/paid-request/src/lost-request.ts";
const RECORD = "packages/paid-request/src/hold-record.ts";
const SEARCH = "packages/paid-request/src/bill-search.ts";
const BOOKING = "packages/paid-request/src/booking.ts";
const CLIENT = "packages/clients/src/billing.ts";
const BATCHER = "packages/runtime/src/rpc/batcher.ts";
const DEPOSIT = "packages/ledger/src/deposit.ts";
const WRITER = "services/billing/src/writer/ledger-writer.ts";
const MEDIA = "services/media-generation/src/generation/media-work.ts";
const JOB = "services/media-generation/src/generation/run-job.ts";
const PARTS = "services/media-generation/src/generation/run-parts.ts";
const MEDIA_RECORD = "services/media-generation/src/generation/generation-record.ts";

export const MUTANTS: readonly Mutant[] = [
  // Before anything is sent.
  {
    file: LIFE,
    find: "const earlier = await this.#place(order, route);",
    replace: "const earlier = undefined;\n      void this.#place(order, route).catch(() => undefined);",
    what: "the provider is called while the hold is being placed",
    caught: { histories: 50 },
  },
  {
    file: LIFE,
    find: "        void this.#releaseUnsent(order);\n",
    replace: "",
    what: "a place that was never answered is not freed",
    caught: { histories: 3_000 },
  },
  {
    file: LIFE,
    find: "        await this.#releaseUnsent(order);\n        return",
    replace: "        return",
    what: "the hold of a caller that has left is not freed",
    caught: { histories: 3_000 },
  },
  {
    file: LIFE,
    find: "      await this.#releaseUnsent(order);\n      throw error;\n    }\n    if (!ours)",
    replace: "      throw error;\n    }\n    if (!ours)",
    what: "a hold whose record could not be opened is not freed",
    caught: { histories: 3_000 },
  },
  // Attempts.
  {
    file: LIFE,
    find: "      if (!(await billing.nextAttempt({ ...next, cost }))) return failed;\n",
    replace: "",
    what: "a second provider is called, and the hold does not name it",
    caught: { histories: 100 },
  },
  {
    file: LIFE,
    find: "billing.nextAttempt({ ...next, cost })",
    replace: "billing.nextAttempt({ ...next, cost: 0n })",
    what: "what a failed attempt cost is dropped when the next one begins",
    caught: { histories: 1_000 },
  },
  {
    file: LIFE,
    find: "end.mayFallBack && end.cost !== undefined",
    replace: "end.mayFallBack",
    what: "the next provider is tried although the cost of the attempt before is not known",
    caught: { histories: 1_000 },
  },
  {
    file: LIFE,
    find: "      if (await record.next(order, route)) return undefined;",
    replace: "      return undefined;",
    what: "the record of media does not name the next provider, so that the wrong one is asked",
    caught: { histories: 20_000 },
  },
  // Nothing beyond the money.
  {
    file: GROWING,
    find: "      this.#options.wait();\n",
    replace: "",
    what: "a stream goes on while its hold is used up and nobody has said that it may grow",
    caught: { histories: 500 },
  },
  {
    file: GROWING,
    find: "if (this.#waiting && this.#used <= this.#held) {",
    replace: "if (this.#waiting) {",
    what: "a stream goes on after its hold was not extended",
    caught: { histories: 500 },
  },
  {
    file: HOLDS,
    find: "return this.#holds.get(id)?.credits ?? credits;",
    replace: "return (this.#holds.get(id)?.credits ?? credits) * 2n;",
    what: "an answer is asked for with twice what is held for it",
    caught: { histories: 200 },
  },
  // What was delivered is charged.
  {
    file: LIFE,
    find: "? await this.#findBill(order, route, delivered)",
    replace: "? { bill: { charge: 0n, cost: 0n }, isAll: true }",
    what: "an answer without its usage is free",
    caught: { histories: 200 },
  },
  {
    file: LOOK_UP,
    find: "lookUp.canAsk(provider) ? PAUSES_MS : []",
    replace: "[]",
    what: "a missing usage is metered without a look-up",
    caught: { histories: 200 },
  },
  {
    file: LOOK_UP,
    find: "[0, 500, 1_500]",
    replace: "[0]",
    what: "a missing usage is looked up once, before the bill can be there",
    caught: { histories: 500 },
  },
  {
    file: LIFE,
    find: '      case "refused":\n        throw tooLate();',
    replace: '      case "refused":\n        return { kind: "answered", product, bill };',
    what: "an answer is given although its hold had been resolved in another way",
    caught: { histories: 2_000 },
  },
  {
    file: LIFE,
    find: "ReleaseReason.FAILED, bill.cost, route.provider)",
    replace: "ReleaseReason.FAILED, 0n, route.provider)",
    what: "the cost of an answer that came too late is dropped",
    caught: { histories: 20_000, seed: 1_155 },
  },
  {
    file: LIFE,
    find: "this.#holds.prolong(now + holdForMs / 2,",
    replace: "this.#holds.prolong(now - holdForMs,",
    what: "the holds of long streams are not renewed, so that their answers come too late",
    caught: { histories: 500 },
  },
  {
    file: BOOKING,
    find: "asRecorded = await this.#billing.capture({ accountId, holdId: id, credits, cost });",
    replace: "void this.#billing.capture({ accountId, holdId: id, credits, cost }).catch(() => undefined);",
    what: "an answer is given while its capture is under way",
    caught: { histories: 200 },
  },
  {
    file: BOOKING,
    find: "asRecorded = await this.#billing.capture(",
    replace: "await this.#billing.capture(",
    what: "a capture that came too late counts as one",
    caught: { histories: 2_000 },
  },
  // What failed is free, and its cost ours.
  {
    file: LIFE,
    find: "cost: cost ?? 0n, provider, why, message };",
    replace: "cost: 0n, provider, why, message };",
    what: "what a failure cost is dropped",
    caught: { histories: 200 },
  },
  {
    file: LIFE,
    find: "if (cost === undefined || isMetered === true) {",
    replace: "if (isMetered === true) {",
    what: "nobody looks for the bill of a failure that did not say what it cost",
    caught: { histories: 500 },
  },
  {
    file: LIFE,
    find: "        throw await this.#keepOpen(order, route, end);",
    replace:
      '        throw await this.#free(order, route, { ...end, kind: "failed", cost: 0n, isUnsent: false, mayFallBack: false });',
    what: "an outcome that nobody knows counts as a failure without a cost",
    caught: { histories: 200 },
  },
  {
    file: LIFE,
    find: '      return this.#keepOpen(order, route, { ...failed, kind: "unknown" });',
    replace: "      return failed.error;",
    what: "a failure that could not be recorded is called free, and another process goes on with it",
    caught: {
      test: "packages/paid-request/src/paid-requests.test.ts",
      name: "a failure that could not be recorded is not called free",
    },
  },
  {
    file: SEARCH,
    find: "      this.#events.notBooked(id, error);\n      return false;",
    replace: "      this.#events.notBooked(id, error);\n      return true;",
    what: "a bill that was found while billing was away is forgotten",
    caught: { histories: 10_000, seed: 352 },
  },
  // The resolver.
  {
    file: LOST,
    find: '  if (late < 0 || !enough) return { kind: "wait", unbilled };\n',
    replace: "",
    what: "what is open is released without a look at what the provider said",
    caught: { histories: 500 },
  },
  {
    file: LOST,
    find: "if (late < 0 || !enough)",
    replace: "if (!enough)",
    what: "a hold is given up while the provider may still bill it",
    caught: { histories: 10_000 },
  },
  {
    file: LOST,
    find: "const UNBILLED_LOOK_UPS = 2;",
    replace: "const UNBILLED_LOOK_UPS = 1;",
    what: "a hold is given up after one look-up",
    caught: { histories: 10_000 },
  },
  {
    file: LOST,
    find: 'const unbilled = result === "unknown";',
    replace: 'const unbilled = result === "silent";',
    what: "a provider that does not say is one that billed nothing, and the other way round",
    caught: { histories: 500 },
  },
  {
    file: RESOLVER,
    find: "await billing.release({ accountId, holdId: id }, released.reason, released.cost, released.provider);",
    replace: "await billing.capture({ accountId, holdId: id, credits: 1n, cost: released.cost });",
    what: "the customer is charged for what a look-up finds",
    caught: { histories: 200 },
  },
  {
    file: RESOLVER,
    find: "    if (!ended || isAll) return;",
    replace: "    if (ended || isAll) return;",
    what: "nobody looks for the bill of what was given up",
    caught: { histories: 5_000 },
  },
  {
    file: RECORD,
    find: "    if (kept !== undefined) {",
    replace: "    if (kept === null) {",
    what: "a kept answer is looked up instead of charged",
    caught: { histories: 5_000 },
  },
  {
    file: RECORD,
    find: "product === undefined) return",
    replace: "product !== null) return",
    what: "no answer is kept",
    caught: { histories: 200 },
  },
  {
    file: RECORD,
    find: 'return kept ? "recorded" : "void";',
    replace: 'return "recorded";',
    what: "an answer is captured that billing did not keep, because somebody resolves its hold",
    caught: { histories: 20_000, seed: 1_155 },
  },
  // The client of billing.
  {
    file: CLIENT,
    find: '  if (error instanceof ServiceError && error.reason === "invalid_value") return false;',
    replace: '  if (error instanceof ServiceError && error.reason === "invalid_value") return true as false;',
    what: "an answer that billing refused to keep counts as kept",
    caught: { histories: 20_000, seed: 1_155 },
  },
  {
    file: CLIENT,
    find: "if (attempt === ATTEMPTS) throw notRecorded(error);",
    replace: "if (attempt === ATTEMPTS) return { code: OutcomeCode.ALREADY_RESOLVED } as T;",
    what: "what billing never confirmed counts as refused",
    caught: { histories: 5_000 },
  },
  {
    file: CLIENT,
    find: "if (outcome.code === OutcomeCode.CLAIM_FINISHED) return outcome.earlierHoldId;",
    replace: "if (outcome.code === OutcomeCode.CLAIM_FINISHED) return undefined;",
    what: "a repeated request is carried out again, without a hold",
    caught: { histories: 200 },
  },
  {
    file: BATCHER,
    find: "batch[index]?.resolve(result);",
    replace: "batch[batch.length - 1 - index]?.resolve(result);",
    what: "the outcomes of a batch are given to the wrong operations",
    caught: { histories: 2_000 },
  },
  // The service of billing.
  {
    file: WRITER,
    find: "        from = to;\n",
    replace: "",
    what: "the outcomes of a commit are given to the wrong calls",
    caught: { histories: 10_000 },
  },
  {
    file: DEPOSIT,
    find: "FAILED: null, REFUNDED: null },\n  FAILED",
    replace: 'FAILED: null, REFUNDED: "refund" },\n  FAILED',
    what: "a payment that never came is taken back",
    caught: { histories: 500 },
  },
  {
    file: DEPOSIT,
    find: "COMPLETED: { COMPLETED: null",
    replace: 'COMPLETED: { COMPLETED: "deposit"',
    what: "a payment that is told twice counts twice",
    caught: { test: "packages/ledger/src/deposit.test.ts" },
  },
  // Media.
  {
    file: MEDIA_RECORD,
    find: 'return resumable === false ? "recorded" : "passed";',
    replace: 'return "recorded";',
    what: "a request is called free, and its job goes on",
    caught: { histories: 3_000, seed: 493 },
  },
  {
    file: MEDIA_RECORD,
    find: 'return ended === null ? { kind: "elsewhere" }',
    replace: 'return ended === null ? { kind: "not sent" }',
    what: "a generation that is being looked up is released as one that was never sent",
    caught: { histories: 3_000 },
  },
  {
    file: MEDIA_RECORD,
    find: 'if (found.ended.ending.kind === "released" || found.deleted) await',
    replace: 'if (found.ended.ending.kind !== "released" || found.deleted) await',
    what: "the files of a generation that another process has charged are removed",
    caught: { histories: 20_000 },
  },
  {
    file: MEDIA,
    find: "else if (accepted) return undefined;",
    replace: "else if (accepted) cost += 0n;",
    what: "a failure that may have been billed counts as one without a cost",
    caught: { histories: 1_000 },
  },
  {
    file: "services/media-generation/src/generation/caller-error.ts",
    find: "return !accepted && ELSEWHERE.has(kind);",
    replace: "return ELSEWHERE.has(kind);",
    what: "media falls back although the first attempt may be billed",
    caught: { histories: 1_000 },
  },
  {
    file: MEDIA,
    find: "shareOf(order, files.length), parts);",
    replace: "order.price, parts);",
    what: "a partial success is charged whole",
    caught: { histories: 1_000 },
  },
  {
    file: MEDIA,
    find: "if (failure !== undefined && delivered.length === 0) {",
    replace: "if (failure !== undefined) {",
    what: "what was made is not given when a part of it failed",
    caught: { histories: 1_000 },
  },
  {
    file: MEDIA,
    find: "if (!unwanted) return",
    replace: "if (!unwanted && !caller.signal.aborted) return",
    what: "a job that was given up too late, and delivered, is free",
    caught: { histories: 3_000 },
  },
  {
    file: JOB,
    find: "throw error.ofAcceptedJob();",
    replace: "throw error;",
    what: "a failed poll of an accepted job is called not accepted",
    caught: { histories: 3_000 },
  },
  {
    file: PARTS,
    find: "const accepted = failures.some((failure) => failure.accepted);",
    replace: "const { accepted } = main;",
    what: "of several parts that failed only one is asked whether it was accepted",
    caught: {
      test: "services/media-generation/src/generation/run-parts.test.ts",
      name: "parts of which one was accepted were accepted, whichever of them failed first",
    },
  },
  {
    file: PARTS,
    find: "else if (end.reason instanceof ProviderError) failures.push(end.reason);",
    replace: "else if (end.reason instanceof ProviderError) continue;",
    what: "a part that failed beside others costs nothing",
    caught: { histories: 1_000 },
  },
  {
    file: MEDIA_RECORD,
    find: 'if (ending.kind === "released" || ended.deleted) await',
    replace: 'if (ending.kind === "released") await',
    what: "the files of a job that was given up too late stay",
    caught: { histories: 3_000 },
  },
  {
    file: LOST,
    find: "(late >= 0 || lost.hasSeveralBills !== true)",
    replace: "(late >= 0 || lost !== undefined)",
    what: "the first bill of several jobs counts as all of them",
    caught: { histories: 5_000, seed: 1_883 },
  },
  {
    file: SEARCH,
    find: "        if (hasSeveralBills !== true) return;\n",
    replace: "        return;\n",
    what: "of several late bills only the first is booked",
    caught: { histories: 10_000 },
  },
  {
    file: RESOLVER,
    find: "verdict.why !== UNRESOLVED && hasSeveralBills !== true",
    replace: "verdict.why !== UNRESOLVED",
    what: "nobody looks for the other bills of several, when the resolver has found one",
    caught: { histories: 20_000, seed: 1_643 },
  },
  {
    file: LIFE,
    find: "isAll: found !== undefined && order.hasSeveralBills !== true }",
    replace: "isAll: found !== undefined }",
    what: "nobody looks for the bill of a part that failed beside others",
    caught: { histories: 1_000 },
  },
  {
    file: LIFE,
    find: "isAll: found !== undefined && order.hasSeveralBills !== true }",
    replace: "isAll: order.hasSeveralBills !== true }",
    what: "nobody looks for the bill of what was metered",
    caught: {
      test: "packages/paid-request/src/paid-requests.test.ts",
      name: "a bill that comes after the answer was metered",
    },
  },
  {
    file: LIFE,
    find: "      if (isMetered === true) {\n",
    replace: "      if (isMetered === undefined) {\n",
    what: "nobody looks for the bill of a part of a stream that another upstream goes on with",
    caught: { histories: 10_000, seed: 2_294 },
  },
  ...MUTANTS_OF_PARTS,
  ...MUTANTS_OF_PRICES,
  ...MUTANTS_OF_LEDGER,
  ...MUTANTS_OF_LOSSES,
  ...MUTANTS_FOR_TESTS,
  ...MUTANTS_OF_CHAIN,
];
