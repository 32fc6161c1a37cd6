// Guarantees of the billing client: batches keep their order, and `place` fails closed.
// Settling is repeated until it succeeds or its outcome is reported as unknown.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { ServiceError } from "@gr/proto";
import {
  BillingService,
  BudgetLevel,
  type JudgeClaimRequest,
  type KeepAnswerRequest,
  type Operation,
  OutcomeCode,
  type OutcomeSchema,
  type ReadAnswerRequest,
  type ReadAnswerResponseSchema,
  ReleaseReason,
  SpendPeriod,
} from "@gr/proto/billing";
import { defineModule, implement, type RunningProcess, startProcess, systemClock } from "@gr/runtime";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { type Billing, createBilling, MOST_KEPT_BYTES, type PlaceRequest } from "./billing.ts";

type Outcome = MessageInitShape<typeof OutcomeSchema>;
const DONE: Outcome = { code: OutcomeCode.DONE };

let running: RunningProcess;
let billing: Billing;
/** Batches that arrived, and the answer to each operation. */
let batches: Operation[][];
let answer: (operations: Operation[]) => Promise<Outcome[]>;
/** Answers that arrived to be kept, and the effect of each call. */
let kept: KeepAnswerRequest[];
let keep: () => Promise<void>;
let judge: (request: JudgeClaimRequest) => Promise<Outcome>;
let check: () => Promise<Outcome>;
let find: (request: ReadAnswerRequest) => Promise<MessageInitShape<typeof ReadAnswerResponseSchema>>;

const unused = async (): Promise<never> => {
  throw new Error("the client has no business calling this");
};
const fakeBilling = defineModule({
  name: "billing",
  needs: [],
  config: z.object({}),
  create: async () => ({
    rpc: [
      implement(BillingService, {
        async post({ operations }) {
          batches.push(operations);
          return { outcomes: await answer(operations) };
        },
        checkSpender: async () => ({ outcome: await check() }),
        openAccount: unused,
        setSuspended: unused,
        putSpender: unused,
        putDeposit: unused,
        getCredits: unused,
        listHolds: unused,
        leaseExpiredHolds: unused,
        verifyLedger: unused,
        putAdjustment: unused,
        async keepAnswer(request) {
          kept.push(request);
          await keep();
          return {};
        },
        judgeClaim: async (request) => ({ outcome: await judge(request) }),
        readAnswer: (request) => find(request),
      }),
    ],
  }),
});

beforeAll(async () => {
  running = await startProcess([fakeBilling], {
    env: {
      INTERNAL_AUTH_SECRET: "internal-secret-of-the-client-tests-0123",
      SERVICE_HTTP_PORT: "0",
      SERVICE_RPC_PORT: "0",
      LOG_LEVEL: "silent",
    },
  });
});
afterAll(async () => {
  await running?.stop();
});
beforeEach(() => {
  batches = [];
  kept = [];
  keep = async () => undefined;
  judge = async () => DONE;
  check = async () => DONE;
  find = async () => ({});
  answer = async (operations) => operations.map(() => DONE);
  billing = createBilling(running.dial("billing", BillingService), systemClock);
});

const request = (holdId: string): PlaceRequest => ({
  holdId,
  accountId: "account",
  spenderId: "spender",
  credits: 100n,
  service: "text-proxy",
  provider: "default",
  upstreamModel: "model",
  model: "vendor/model",
  priceVersion: "v1",
  deadlineAt: 1_800_000_000_000,
});
const refuseWith = (outcome: Outcome) => {
  answer = async (operations) => operations.map(() => outcome);
};
/** The hold of an account that every test uses. */
const named = (holdId: string) => ({ holdId, accountId: "account" });
const holdsOf = (operations: Operation[]) => operations.map(({ operation }) => operation.value?.holdId);

async function errorOf(attempt: Promise<unknown>): Promise<ServiceError> {
  const error = await attempt.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof ServiceError) return error;
  throw new Error("no ServiceError was thrown", { cause: error });
}

describe("operations", () => {
  test("arrive with every field", async () => {
    await billing.place(request("a"));
    await billing.capture({ ...named("a"), credits: 7n, cost: 650_000_000n });
    await billing.release(named("b"), ReleaseReason.FAILED, 5n);
    await billing.release(named("c"), ReleaseReason.NOT_SENT);
    expect(batches.flat().map(({ operation }) => operation)).toMatchObject([
      { case: "place", value: { ...request("a"), deadlineAt: 1_800_000_000_000n } },
      { case: "capture", value: { ...named("a"), credits: 7n, costPicoUsd: 650_000_000n } },
      { case: "release", value: { ...named("b"), reason: ReleaseReason.FAILED, costPicoUsd: 5n } },
      { case: "release", value: { ...named("c"), reason: ReleaseReason.NOT_SENT, costPicoUsd: 0n } },
    ]);
  });

  test("carry the claim of their request", async () => {
    const claim = { key: new Uint8Array(32).fill(1), fingerprint: new Uint8Array(32).fill(2) };
    await billing.place({ ...request("a"), claim });
    expect(batches.flat()[0]?.operation.value).toMatchObject({ holdId: "a", claim });
    await billing.place(request("b"));
    expect(batches.flat()[1]?.operation.value).not.toHaveProperty("claim");
  });

  test("that gather while a call is in flight leave as one, in their order, each with its own outcome", async () => {
    const calling = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    answer = async (operations) => {
      calling.resolve();
      if (batches.length === 1) await release.promise;
      return operations.map((_, index) => (index % 2 === 0 ? DONE : { code: OutcomeCode.SPENDER_INACTIVE }));
    };
    const first = billing.place(request("first"));
    await calling.promise;
    const ids = Array.from({ length: 20 }, (_, i) => `hold-${i}`);
    const others = ids.map((id) => billing.place(request(id)));
    release.resolve();
    await first;
    const results = await Promise.allSettled(others);
    expect(batches.map(holdsOf)).toEqual([["first"], ids]);
    expect(results.map(({ status }) => status)).toEqual(
      ids.map((_, index) => (index % 2 === 0 ? "fulfilled" : "rejected")),
    );
  });

  test("never go in batches of more than 256", async () => {
    await Promise.all(Array.from({ length: 600 }, (_, i) => billing.place(request(`hold-${i}`))));
    expect(batches.flat()).toHaveLength(600);
    expect(Math.max(...batches.map(({ length }) => length))).toBeLessThanOrEqual(256);
  });
});

test("a place whose claim is finished answers the earlier request's id", async () => {
  refuseWith({ code: OutcomeCode.CLAIM_FINISHED, earlierHoldId: "earlier" });
  expect(await billing.place(request("a"))).toEqual({ earlier: "earlier" });
});

describe("place is refused", () => {
  const limit = { capCredits: 12_345n, period: SpendPeriod.DAY, resetsAt: BigInt(Date.UTC(2026, 10, 21)) };

  test.each<[string, Outcome, string, RegExp]>([
    [
      "without enough credit",
      { code: OutcomeCode.INSUFFICIENT_CREDITS, availableCredits: 12n },
      "insufficient_credits",
      /0\.0012 USD/,
    ],
    [
      "while running requests hold the credit",
      { code: OutcomeCode.INSUFFICIENT_CREDITS, inFlight: true },
      "credits_in_flight",
      /still running/,
    ],
    [
      "at a cap, which is named with its period and its end",
      { code: OutcomeCode.SPEND_LIMIT_EXCEEDED, ...limit },
      "spend_limit_exceeded",
      /1\.2345 USD a day .* resets at 2026-11-21T00:00:00\.000Z/,
    ],
    [
      "at a cap that never resets",
      { code: OutcomeCode.SPEND_LIMIT_EXCEEDED, capCredits: 1n, period: SpendPeriod.LIFETIME },
      "spend_limit_exceeded",
      /0\.0001 USD does not allow this request\. It does not reset\./,
    ],
    [
      "at a cap that running requests hold",
      { code: OutcomeCode.SPEND_LIMIT_EXCEEDED, inFlight: true, ...limit },
      "spend_limit_in_flight",
      /still running/,
    ],
    ...(["account", "member", "customer"] as const).flatMap((name) => {
      const budget = { budgetLevel: BudgetLevel[name.toUpperCase() as "MEMBER"], resetsAt: limit.resetsAt };
      const above = `The limit of the ${name}'s budget above this key`;
      const [exceeded, closed] = [OutcomeCode.SPEND_LIMIT_EXCEEDED, OutcomeCode.BUDGET_CLOSED];
      const expiresAt = limit.resetsAt;
      return [
        [
          `by the limit of the ${name}, without its amount`,
          { code: exceeded, period: SpendPeriod.DAY, ...budget },
          "spend_limit_exceeded",
          new RegExp(`^${above} does not allow this request. It resets at 2026-11-21T00:00:00.000Z.$`),
        ],
        [
          `by the limit of the ${name} that running requests hold`,
          { code: exceeded, inFlight: true, ...budget },
          "spend_limit_in_flight",
          new RegExp(`^${above} is reserved by requests that are still running`),
        ],
        [
          `by the closed budget of the ${name}`,
          { code: closed, ...budget },
          "budget_closed",
          new RegExp(`^The ${name}'s budget above this key is closed`),
        ],
        [
          `by the expired budget of the ${name}, with the time`,
          { code: closed, ...budget, expiresAt },
          "budget_closed",
          new RegExp(`^The ${name}'s budget above this key expired at 2026-11-21T00:00:00.000Z`),
        ],
      ] satisfies [string, Outcome, string, RegExp][];
    }),
    [
      "to an expired key, with the time",
      { code: OutcomeCode.SPENDER_EXPIRED, expiresAt: BigInt(Date.UTC(2026, 0, 1)) },
      "api_key_expired",
      /2026-01-01T00:00:00\.000Z/,
    ],
    [
      "while the request with its Idempotency-Key runs",
      { code: OutcomeCode.CLAIM_IN_PROGRESS },
      "idempotency_in_progress",
      /still running/,
    ],
    [
      "for an Idempotency-Key of another request",
      { code: OutcomeCode.CLAIM_MISMATCH },
      "idempotency_mismatch",
      /a new key for each request/,
    ],
    [
      "beyond what free models allow in a day, with the time when it begins anew",
      { code: OutcomeCode.FREE_LIMIT_EXCEEDED, resetsAt: BigInt(Date.UTC(2026, 10, 21)) },
      "free_limit_exceeded",
      /2026-11-21T00:00:00\.000Z/,
    ],
    [
      "beyond the largest number of open requests of an account",
      { code: OutcomeCode.TOO_MANY_HOLDS },
      "rate_limit_exceeded",
      /^This account has as many open requests/,
    ],
    [
      "beyond the share of one key in the open requests of its account",
      { code: OutcomeCode.SHARE_OF_HOLDS_USED },
      "rate_limit_exceeded",
      /^This API key has its share of the open requests of its account/,
    ],
    [
      "to a deleted key",
      { code: OutcomeCode.SPENDER_INACTIVE },
      "invalid_api_key",
      /^The API key is not valid\.$/,
    ],
    [
      "of a suspended account, which is told so",
      { code: OutcomeCode.SPENDER_INACTIVE, suspended: true },
      "account_suspended",
      /suspended this account.*ask the operator/,
    ],
    [
      "by an outcome it does not know",
      { code: OutcomeCode.UNSPECIFIED },
      "billing_unavailable",
      /nothing charged/,
    ],
    ["for a hold that is resolved", { code: OutcomeCode.ALREADY_RESOLVED }, "billing_unavailable", /nothing/],
  ])("%s", async (_when, outcome, reason, message) => {
    refuseWith(outcome);
    const error = await errorOf(billing.place(request("a")));
    expect(error.reason).toBe(reason);
    expect(error.message).toMatch(message);
    expect(batches).toHaveLength(1);
    check = async () => outcome;
    const mine = { accountId: "account", spenderId: "spender" };
    expect(await errorOf(billing.maySpend(mine))).toMatchObject({ reason, message: error.message });
  });

  test.each([OutcomeCode.SPEND_LIMIT_EXCEEDED, OutcomeCode.BUDGET_CLOSED])(
    "by a budget above the key with outcome %s, and so is the growth of a hold: param names the budget",
    async (code) => {
      refuseWith({ code, budgetLevel: BudgetLevel.CUSTOMER });
      expect((await errorOf(billing.place(request("a")))).param).toBe("budget");
      const extend = { ...named("a"), credits: 2n, deadlineAt: 1 };
      expect(await billing.extend(extend)).toMatchObject({ kind: "refused", error: { param: "budget" } });
    },
  );

  test("with when to come back, where coming back helps", async () => {
    refuseWith({ code: OutcomeCode.CLAIM_IN_PROGRESS });
    expect((await errorOf(billing.place(request("a")))).retryAfterMs).toBeGreaterThan(0);
    refuseWith({ code: OutcomeCode.CLAIM_MISMATCH });
    const mismatch = await errorOf(billing.place(request("a")));
    expect([mismatch.retryAfterMs, mismatch.param]).toEqual([undefined, "Idempotency-Key"]);
    refuseWith({ code: OutcomeCode.FREE_LIMIT_EXCEEDED, resetsAt: BigInt(Date.now() + 3_600_000) });
    const limited = await errorOf(billing.place(request("a")));
    expect(limited.retryAfterMs).toBeGreaterThan(3_500_000);
    refuseWith({ code: OutcomeCode.TOO_MANY_HOLDS });
    expect((await errorOf(billing.place(request("a")))).retryAfterMs).toBeGreaterThan(0);
    refuseWith({ code: OutcomeCode.FREE_LIMIT_EXCEEDED, resetsAt: 1n });
    expect((await errorOf(billing.place(request("a")))).retryAfterMs).toBe(0);
  });

  test("when billing fails, and is not repeated: no hold, no upstream call", async () => {
    answer = async () => {
      throw new Error("down");
    };
    const error = await errorOf(billing.place(request("a")));
    expect(error.reason).toBe("billing_unavailable");
    expect(error.retryAfterMs).toBeGreaterThan(0);
    expect(batches).toHaveLength(1);
  });

  test("when billing answers another number of outcomes", async () => {
    answer = async () => [];
    expect((await errorOf(billing.place(request("a")))).reason).toBe("billing_unavailable");
  });
});

describe("capture and release", () => {
  const capture = () => billing.capture({ ...named("a"), credits: 1n, cost: 1n });
  const release = () => billing.release(named("a"), ReleaseReason.FAILED);

  test.each([
    ["capture", capture],
    ["release", release],
  ])("%s is repeated until billing is back", async (_name, settle) => {
    answer = async (operations) => {
      if (batches.length < 3) throw new Error("down");
      return operations.map(() => DONE);
    };
    await settle();
    expect(batches).toHaveLength(3);
  });

  test("that never succeed are an unknown outcome, which nobody is told to retry", async () => {
    answer = async () => {
      throw new ServiceError("service_unavailable", "down", { retryAfterMs: 1 });
    };
    const error = await errorOf(capture());
    expect(error.reason).toBe("outcome_unknown");
    expect(error.retryAfterMs).toBeUndefined();
    expect(batches.length).toBeGreaterThan(1);
  });

  test("say whether the customer was charged, and are not repeated when the hold was resolved in another way", async () => {
    expect(await capture()).toBe(true);
    refuseWith({ code: OutcomeCode.ALREADY_RESOLVED });
    expect(await capture()).toBe(false);
    await release();
    expect(batches).toHaveLength(3);
  });

  test("differ for a hold that does not exist: nothing to free, but nothing was charged either", async () => {
    refuseWith({ code: OutcomeCode.UNKNOWN_HOLD });
    await release();
    expect((await errorOf(capture())).reason).toBe("outcome_unknown");
  });
});

describe("a kept answer", () => {
  const capture = { accountId: "an account", holdId: "a", credits: 7n, cost: 650_000_000n };
  const whole = { contentType: "text/plain", body: Buffer.from("the answer") };

  test("arrives with what its hold is to be captured with", async () => {
    await billing.keepAnswer(capture, whole);
    expect(kept).toHaveLength(1);
    expect(kept[0]).toMatchObject({
      holdId: "a",
      credits: 7n,
      costPicoUsd: 650_000_000n,
      contentType: "text/plain",
      body: Uint8Array.from(whole.body),
    });
  });

  test("is sent again until billing is back", async () => {
    keep = async () => {
      if (kept.length < 3) throw new Error("down");
    };
    await billing.keepAnswer(capture, whole);
    expect(kept).toHaveLength(3);
  });

  test("that never arrives is an unknown outcome, which nobody is told to retry", async () => {
    keep = async () => {
      throw new ServiceError("service_unavailable", "down", { retryAfterMs: 1 });
    };
    const error = await errorOf(billing.keepAnswer(capture, whole));
    expect([error.reason, error.retryAfterMs]).toEqual(["outcome_unknown", undefined]);
    expect(kept.length).toBeGreaterThan(1);
  });

  test("of a hold that somebody else resolves is refused once and for all", async () => {
    expect(await billing.keepAnswer(capture, whole)).toBe(true);
    keep = async () => {
      throw new ServiceError("invalid_value", "The hold is not open any more.");
    };
    expect(await billing.keepAnswer(capture, whole)).toBe(false);
    expect(kept).toHaveLength(2);
  });

  test("is sent when it just fits, and not when it is a byte larger", async () => {
    await billing.keepAnswer(capture, { ...whole, body: Buffer.alloc(MOST_KEPT_BYTES) });
    expect(kept[0]?.body.byteLength).toBe(MOST_KEPT_BYTES);
    await billing.keepAnswer(capture, { ...whole, body: Buffer.alloc(MOST_KEPT_BYTES + 1) });
    expect(kept).toHaveLength(1);
  });

  test("is read by account and request", async () => {
    find = async ({ accountId, holdId }) => ({
      answer: { contentType: "text/plain", body: Buffer.from(`${accountId} ${holdId}`) },
    });
    const answer = await billing.readAnswer("account", "a");
    expect(answer?.contentType).toBe("text/plain");
    expect(Buffer.from(answer?.body ?? []).toString()).toBe("account a");
  });

  test("that is not there reads as undefined", async () => {
    expect(await billing.readAnswer("account", "a")).toBeUndefined();
  });

  test("that cannot be read now is worth another try", async () => {
    find = async () => {
      throw new Error("down");
    };
    const error = await errorOf(billing.readAnswer("account", "a"));
    expect(error.reason).toBe("service_unavailable");
    expect(error.retryAfterMs).toBeGreaterThan(0);
  });
});

describe("an earlier request of a claim", () => {
  const claim = { key: new Uint8Array(32).fill(1), fingerprint: new Uint8Array(32).fill(2) };
  const claiming = { accountId: "account", spenderId: "spender", claim };

  test("is found by who asks, under which key and for what", async () => {
    judge = async ({ accountId, spenderId, claim: { key, fingerprint } = claim }) => ({
      code: OutcomeCode.CLAIM_FINISHED,
      earlierHoldId: `${accountId} ${spenderId} ${key?.[0]} ${fingerprint?.[0]}`,
    });
    expect(await billing.findEarlier(claiming)).toBe("account spender 1 2");
  });

  test("that was never charged is not there", async () => {
    judge = async () => DONE;
    check = async () => DONE;
    expect(await billing.findEarlier(claiming)).toBeUndefined();
  });

  test.each([
    [OutcomeCode.CLAIM_IN_PROGRESS, "idempotency_in_progress"],
    [OutcomeCode.CLAIM_MISMATCH, "idempotency_mismatch"],
    [OutcomeCode.SPENDER_INACTIVE, "invalid_api_key"],
    [OutcomeCode.SPENDER_EXPIRED, "api_key_expired"],
  ])("is refused with outcome %i as a place is: %s", async (code, reason) => {
    judge = async () => ({ code });
    expect((await errorOf(billing.findEarlier(claiming))).reason).toBe(reason);
  });

  test("that cannot be asked for now is worth another try", async () => {
    judge = async () => {
      throw new Error("down");
    };
    const { reason, retryAfterMs } = await errorOf(billing.findEarlier(claiming));
    expect([reason, retryAfterMs]).toEqual(["billing_unavailable", 1_000]);
  });
});
