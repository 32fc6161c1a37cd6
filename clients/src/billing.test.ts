// Guarantees of the billing client: batches that keep their order, place that fails closed, settling that is repeated
// until it is done or is honestly unknown.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { ServiceError } from "@gr/proto";
import {
  BillingService,
  type Operation,
  OutcomeCode,
  type OutcomeSchema,
  ReleaseReason,
  SpendPeriod,
} from "@gr/proto/billing";
import { defineModule, implement, type RunningProcess, startProcess } from "@gr/runtime";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { type Billing, createBilling, type PlaceRequest } from "./billing.ts";

type Outcome = MessageInitShape<typeof OutcomeSchema>;
const DONE: Outcome = { code: OutcomeCode.DONE };

let running: RunningProcess;
let billing: Billing;
/** The batches that arrived, and what is answered to each operation. */
let batches: Operation[][];
let answer: (operations: Operation[]) => Promise<Outcome[]>;

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
        openAccount: unused,
        putSpender: unused,
        putDeposit: unused,
        getCredits: unused,
        listHolds: unused,
        leaseExpiredHolds: unused,
        verifyLedger: unused,
        putAdjustment: unused,
        keepAnswer: unused,
        readAnswer: unused,
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
  answer = async (operations) => operations.map(() => DONE);
  billing = createBilling(running.dial("billing", BillingService));
});

const request = (holdId: string): PlaceRequest => ({
  holdId,
  accountId: "account",
  spenderId: "spender",
  credits: 100n,
  service: "text-proxy",
  provider: "default",
  model: "vendor/model",
  priceVersion: "v1",
  deadlineAt: 1_800_000_000_000,
});
const refuseWith = (outcome: Outcome) => {
  answer = async (operations) => operations.map(() => outcome);
};
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
    await billing.capture({ holdId: "a", credits: 7n, cost: 650_000_000n });
    await billing.release("b", ReleaseReason.FAILED, 5n);
    await billing.release("c", ReleaseReason.NOT_SENT);
    expect(batches.flat().map(({ operation }) => operation)).toMatchObject([
      { case: "place", value: { ...request("a"), deadlineAt: 1_800_000_000_000n } },
      { case: "capture", value: { holdId: "a", credits: 7n, costPicoUsd: 650_000_000n } },
      { case: "release", value: { holdId: "b", reason: ReleaseReason.FAILED, costPicoUsd: 5n } },
      { case: "release", value: { holdId: "c", reason: ReleaseReason.NOT_SENT, costPicoUsd: 0n } },
    ]);
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
    [
      "to an expired key, with the time",
      { code: OutcomeCode.SPENDER_EXPIRED, expiresAt: BigInt(Date.UTC(2026, 0, 1)) },
      "api_key_expired",
      /2026-01-01T00:00:00\.000Z/,
    ],
    ["to a deleted key", { code: OutcomeCode.SPENDER_INACTIVE }, "invalid_api_key", /deleted/],
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
  const capture = () => billing.capture({ holdId: "a", credits: 1n, cost: 1n });
  const release = () => billing.release("a", ReleaseReason.FAILED);

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

  test("are done when the hold was resolved in another way: the cost is booked, the customer is not asked again", async () => {
    refuseWith({ code: OutcomeCode.ALREADY_RESOLVED });
    await capture();
    await release();
    expect(batches).toHaveLength(2);
  });

  test("differ for a hold that does not exist: nothing to free, but nothing was charged either", async () => {
    refuseWith({ code: OutcomeCode.UNKNOWN_HOLD });
    await release();
    expect((await errorOf(capture())).reason).toBe("outcome_unknown");
  });
});
