// The life of a paid request, step by step, against the fake billing that is held equal to the real one. The simulation
// runs the same code in random histories; here each rule is a short story.
import { createBilling, ReleaseReason } from "@gr/clients";
import { type BillingCall, FakeBilling } from "@gr/ledger-model";
import { chargeOf, type PicoUsd } from "@gr/money";
import { ServiceError } from "@gr/proto";
import { BillingService, HoldState, OutcomeCode } from "@gr/proto/billing";
import { type RunningProcess, startProcess, systemClock } from "@gr/runtime";
import { ManualClock, until } from "@gr/testing";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { HoldRecord } from "./hold-record.ts";
import { LOSS_COOL_DOWN_MS } from "./loss-breaker.ts";
import type { PaidRequestSettings } from "./options.ts";
import type { Bill, Order, Route } from "./order.ts";
import { PaidRequests } from "./paid-requests.ts";
import type {
  AttemptContext,
  AttemptEnd,
  Delivered,
  Extension,
  Failed,
  FoundBill,
  LookUpResult,
  Unknown,
} from "./ports.ts";

interface TextLike {
  order: Order;
  product: string;
  bill: Bill;
  found: FoundBill;
}
type Attempt = (route: Route, context: AttemptContext) => Promise<AttemptEnd<TextLike>>;

const ACCOUNT = "0198a000-0000-7000-8000-000000000001";
const COST: PicoUsd = 250_000_000n;
const first: Route = { provider: "first", upstreamModel: "model-at-first" };
const second: Route = { provider: "second", upstreamModel: "model-at-second" };
const SETTINGS: PaidRequestSettings = {
  mostRunning: 2,
  graceMs: 60_000,
  resolveEveryMs: 1_000,
  leaseMs: 30_000,
  renewEveryMs: 1_000,
  holdForMs: 600_000,
  searchPauses: { open: [1, 1], failed: [1, 1], unresolved: Array(1_000).fill(10) },
};

let process: RunningProcess;
let fake: FakeBilling;
let clock: ManualClock;
let record: HoldRecord<TextLike>;
let requests: PaidRequests<TextLike>;
let lookUp: (billId: string) => LookUpResult<FoundBill>;
let askable: boolean;
/** Events outside of billing, in order. */
let reported: string[];
let next = 0;

beforeEach(async () => {
  clock = new ManualClock();
  fake = new FakeBilling({ clock, credit: 1_000_000n });
  process = await startProcess([fake.module], {
    env: {
      INTERNAL_AUTH_SECRET: "internal-secret-of-the-paid-request-tests",
      SERVICE_HTTP_PORT: "0",
      SERVICE_RPC_PORT: "0",
      LOG_LEVEL: "silent",
    },
  });
  reported = [];
  askable = true;
  lookUp = () => "unknown";
  const billing = createBilling(process.dial("billing", BillingService), systemClock);
  const answerOf = (body: string) => ({ contentType: "text/plain", body: Buffer.from(body) });
  record = new HoldRecord<TextLike>(billing, answerOf, () => reported.push("not kept"));
  const ignored = () => undefined;
  requests = new PaidRequests<TextLike>({
    service: "test",
    billing,
    record,
    lookUp: { canAsk: () => askable, ask: async (_, billId) => lookUp(billId) },
    events: {
      notCovered: () => reported.push("not covered"),
      routeClosed: ({ provider }, accountId) => reported.push(`${provider} closed for ${accountId ?? "all"}`),
      routeReopened: ignored,
      billLookedUp: () => reported.push("looked up"),
      billMetered: () => reported.push("metered"),
      fellBack: (_, __, to) => reported.push(`to ${to.provider}`),
      notCaptured: () => reported.push("not captured"),
      notBooked: ignored,
      resolved: (_, ending) => reported.push(ending.kind === "captured" ? "resolved" : ending.why),
      lateBill: (_, cost) => reported.push(`late ${cost}`),
      roundFailed: ignored,
    },
    clock,
    settings: SETTINGS,
  });
});
afterEach(() => process.stop());

function order(claimed?: string): Order {
  next += 1;
  const claim = claimed === undefined ? undefined : { key: digest(claimed), fingerprint: digest("body") };
  return {
    id: `0198a000-0000-7000-8000-${next.toString(16).padStart(12, "0")}`,
    accountId: ACCOUNT,
    keyId: ACCOUNT,
    model: "vendor/model",
    priceVersion: "v1",
    credits: 100n,
    deadlineAt: clock.now() + 660_000,
    claim,
  };
}

function digest(text: string): Uint8Array {
  return Buffer.alloc(32, text);
}

const billOf = (cost: PicoUsd): Bill => ({ charge: chargeOf(cost), cost });
function delivered(bill: Bill | undefined, metered: PicoUsd = COST): Delivered<TextLike> {
  return {
    kind: "delivered",
    bill,
    billId: "",
    billOf: (found) => billOf(found?.cost ?? metered),
    productOf: ({ charge }) => `answer for ${charge}`,
  };
}
function failed(cost: PicoUsd | undefined, more: Partial<Failed> = {}): Failed {
  const error = new ServiceError("provider_error", "The provider failed.");
  return {
    kind: "failed",
    error,
    cost,
    billId: "",
    isUnsent: false,
    mayFallBack: false,
    why: "failed",
    message: "",
    ...more,
  };
}
function unknown(billId = ""): Unknown {
  const error = new ServiceError("provider_timeout", "The provider did not answer; nothing was charged.");
  return { kind: "unknown", error, billId, why: "timeout", message: "" };
}

function serve(
  one: Order,
  attempt: Attempt,
  routes: readonly [Route, ...Route[]] = [first],
  gone = () => false,
) {
  return requests.serve(one, { routes, attempt }, gone);
}
const reasonOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "no error",
    (error) => (error instanceof ServiceError ? error.reason : String(error)),
  );
const kinds = (id: string) => fake.callsOf(id).map(({ kind }: BillingCall) => kind);
const resolve = () => requests.resolver.round(new AbortController().signal);
const soon = (check: () => boolean) => until(check, { timeoutMs: 60_000 });

describe("a route that loses money", () => {
  /** Ten holds of an order, in pico USD; a bill above it closes the route for all. */
  const TEN_HOLDS: PicoUsd = 1_000n * 100_000_000n;
  const isClosed = (accountId: string, route = first) => requests.losses.isClosed(route, accountId);

  test("closes for the account whose answer is billed above its charge", async () => {
    await serve(order(), async () => delivered({ charge: 3n, cost: TEN_HOLDS }));
    expect([isClosed(ACCOUNT), isClosed("other"), isClosed(ACCOUNT, second)]).toEqual([true, false, false]);
    expect(reported).toEqual([`first closed for ${ACCOUNT}`]);
  });

  test("closes for all after one bill above ten holds, delivered or failed", async () => {
    await serve(order(), async () => delivered({ charge: 3n, cost: TEN_HOLDS + 1n }));
    await reasonOf(serve(order(), async () => failed(TEN_HOLDS + 1n), [second]));
    expect([isClosed("other"), isClosed("other", second)]).toEqual([true, true]);
    expect(reported).toEqual(["first closed for all", "second closed for all"]);
  });

  test("stays open for bills that the hold covers: failures, answers as charged", async () => {
    await serve(order(), async () => delivered(billOf(TEN_HOLDS / 10n)));
    await reasonOf(serve(order(), async () => failed(TEN_HOLDS / 10n)));
    expect(isClosed(ACCOUNT)).toBe(false);
  });

  test("closes when the account cannot pay what the answer costs above its hold", async () => {
    const one = order();
    await serve(one, async () => delivered(billOf(2_000_000n * 100_000_000n)));
    expect(fake.hold(one.id)).toMatchObject({ chargedCredits: 100n });
    expect(reported).toEqual(["not covered", "first closed for all"]);
  });

  test("closes for the bill of a provider after which another one was asked", async () => {
    const fails = failed(TEN_HOLDS, { mayFallBack: true });
    await serve(order(), async ({ provider }) => (provider === "first" ? fails : delivered(billOf(COST))), [
      first,
      second,
    ]);
    expect([isClosed(ACCOUNT), isClosed(ACCOUNT, second)]).toEqual([true, false]);
  });

  test("closes when the bill is found after the request had ended", async () => {
    let asked = 0;
    lookUp = () => {
      asked += 1;
      return asked > 3 ? { cost: TEN_HOLDS } : "unknown";
    };
    await serve(order(), async () => delivered(undefined));
    expect(isClosed(ACCOUNT)).toBe(false);
    await soon(() => reported.some((event) => event.startsWith("late")));
    expect(isClosed(ACCOUNT)).toBe(true);
  });

  test("is skipped by running requests, also as the last route of a failed attempt", async () => {
    const third: Route = { provider: "third", upstreamModel: "model-at-third" };
    const asked: string[] = [];
    const attempt: Attempt = async ({ provider }) => {
      asked.push(provider);
      if (provider !== "first") return delivered(billOf(COST));
      await serve(order(), async () => delivered({ charge: 3n, cost: TEN_HOLDS + 1n }), [second]);
      return failed(0n, { mayFallBack: true });
    };
    await serve(order(), attempt, [first, second, third]);
    expect(asked).toEqual(["first", "third"]);
    asked.length = 0;
    expect(await reasonOf(serve(order(), attempt, [first, second]))).toBe("provider_error");
    expect(asked).toEqual(["first"]);
  });

  test("closes when another process left the hold, and its bill is found", async () => {
    askable = false;
    const one = order();
    await reasonOf(serve(one, async () => unknown()));
    askable = true;
    clock.advance(700_000);
    lookUp = () => ({ cost: TEN_HOLDS });
    await resolve();
    expect([isClosed(ACCOUNT), isClosed("other")]).toEqual([true, false]);
  });

  test("closes when another process kept the answer, and its charge is booked here", async () => {
    fake.before = async ({ kind }) => {
      if (kind === "capture") throw new ServiceError("service_unavailable", "lost");
    };
    await reasonOf(serve(order("key"), async () => delivered({ charge: 3n, cost: TEN_HOLDS })));
    fake.before = async () => undefined;
    clock.advance(LOSS_COOL_DOWN_MS);
    expect(isClosed(ACCOUNT)).toBe(false);
    await resolve();
    expect(isClosed(ACCOUNT)).toBe(true);
  });

  test("closes when the bill of an unknown outcome is found", async () => {
    lookUp = () => ({ cost: TEN_HOLDS });
    await reasonOf(serve(order(), async () => unknown()));
    await soon(() => reported.includes("billed_without_answer"));
    expect(isClosed(ACCOUNT)).toBe(true);
  });
});

describe("who pays", () => {
  test("what was delivered is charged as billed, and given away only then", async () => {
    const one = order();
    const served = await serve(one, async () => {
      expect(fake.state(one.id)).toBe(HoldState.OPEN);
      return delivered(billOf(COST));
    });
    expect(served).toEqual({ kind: "answered", product: "answer for 3", bill: { charge: 3n, cost: COST } });
    expect(fake.hold(one.id)).toMatchObject({
      state: HoldState.CAPTURED,
      chargedCredits: 3n,
      costPicoUsd: COST,
    });
  });

  test("without a bill it is looked up", async () => {
    const one = order();
    lookUp = (billId) => (billId === one.id ? { cost: 2n * COST } : "unknown");
    await serve(one, async () => delivered(undefined));
    expect(fake.hold(one.id)).toMatchObject({ chargedCredits: 5n, costPicoUsd: 2n * COST });
    expect(reported).toEqual(["looked up"]);
  });

  test("a provider that cannot be asked is paid as metered", async () => {
    askable = false;
    const one = order();
    await serve(one, async () => delivered(undefined));
    expect(fake.hold(one.id)).toMatchObject({ chargedCredits: 3n });
    expect(reported).toEqual(["metered"]);
  });

  test("a bill that comes after the answer was metered is in the books; what it is more is our loss", async () => {
    const one = order();
    let asked = 0;
    lookUp = () => {
      asked += 1;
      return asked > 3 ? { cost: 3n * COST } : "unknown";
    };
    await serve(one, async () => delivered(undefined));
    await soon(() => reported.includes(`late ${2n * COST}`));
    expect(fake.hold(one.id)).toMatchObject({ chargedCredits: 3n, costPicoUsd: COST });
    expect(fake.lost).toBe(2n * COST);
  });

  test("of a request with several bills each is booked, whenever it comes", async () => {
    const one = { ...order(), hasSeveralBills: true };
    let cost = 0n;
    lookUp = () => {
      cost += COST;
      return { cost };
    };
    await reasonOf(serve(one, async () => failed(undefined)));
    await soon(() => reported.length === 2);
    expect(reported).toEqual([`late ${COST}`, `late ${COST}`]);
    expect(fake.lost).toBe(2n * COST);
  });

  test("a failure is free, and its cost our loss", async () => {
    const one = order();
    expect(await reasonOf(serve(one, async () => failed(COST)))).toBe("provider_error");
    expect(fake.hold(one.id)).toMatchObject({
      state: HoldState.RELEASED,
      chargedCredits: 0n,
      costPicoUsd: COST,
    });
  });

  test("a failure of unknown cost frees the customer at once; the bill is booked when it is found", async () => {
    const one = order();
    let asked = 0;
    lookUp = () => {
      asked += 1;
      return asked === 1 ? "unknown" : { cost: COST };
    };
    await reasonOf(serve(one, async () => failed(undefined)));
    expect(fake.state(one.id)).toBe(HoldState.RELEASED);
    await soon(() => reported.includes(`late ${COST}`));
    expect(fake.lost).toBe(COST);
  });

  test("nobody pays for an outcome that nobody knows; the hold waits for its bill", async () => {
    const one = order();
    lookUp = () => "silent";
    expect(await reasonOf(serve(one, async () => unknown()))).toBe("provider_timeout");
    expect(fake.state(one.id)).toBe(HoldState.OPEN);
    const other = order();
    lookUp = (billId) => (billId === "generation-1" ? { cost: COST } : "silent");
    await reasonOf(serve(other, async () => unknown("generation-1")));
    await soon(() => fake.state(other.id) === HoldState.RELEASED);
    expect(fake.hold(other.id)).toMatchObject({ chargedCredits: 0n, costPicoUsd: COST });
  });

  test("a defect in a producer is an outcome that nobody knows", async () => {
    const one = order();
    const defect = async () => {
      throw new TypeError("undefined is not a function");
    };
    expect(await reasonOf(serve(one, defect))).toBe("internal_error");
    expect(fake.state(one.id)).toBe(HoldState.OPEN);
  });

  test("a failure that could not be recorded is not called free: others may go on with the request", async () => {
    const one = order();
    Object.assign(record, {
      end: () => Promise.reject(new ServiceError("service_unavailable", "no answer")),
      keepOpen: async () => "passed",
    });
    expect(await reasonOf(serve(one, async () => failed(COST)))).toBe("outcome_unknown");
    expect(fake.state(one.id)).toBe(HoldState.OPEN);
  });

  test("an answer whose hold was resolved by somebody else is withheld, its cost ours", async () => {
    const one = order();
    const late = serve(one, async () => {
      fake.giveUp(one.id);
      return delivered(billOf(COST));
    });
    expect(await reasonOf(late)).toBe("provider_timeout");
    expect(fake.hold(one.id)).toMatchObject({ state: HoldState.RELEASED, chargedCredits: 0n });
    expect(fake.lost).toBe(COST);
  });
});

describe("before anything is sent", () => {
  test("a refused place sends nothing", async () => {
    fake.placeOutcome = OutcomeCode.INSUFFICIENT_CREDITS;
    const one = order();
    const refused = serve(one, async () => {
      throw new Error("it was sent");
    });
    expect(await reasonOf(refused)).toBe("insufficient_credits");
    expect(fake.holds).toEqual([]);
  });

  test("a place that was never answered is freed, and nothing is sent", async () => {
    const one = order();
    fake.after = async ({ kind }) => {
      if (kind === "place") throw new ServiceError("service_unavailable", "lost on the way");
    };
    const lost = serve(one, async () => {
      throw new Error("it was sent");
    });
    expect(await reasonOf(lost)).toBe("billing_unavailable");
    await soon(() => fake.state(one.id) === HoldState.RELEASED);
  });

  test("nothing is sent for a caller that has left", async () => {
    const one = order();
    const attempt = async () => {
      throw new Error("it was sent");
    };
    expect(await serve(one, attempt, [first], () => true)).toEqual({ kind: "left" });
    expect(fake.callsOf(one.id).at(-1)).toMatchObject({ kind: "release", reason: ReleaseReason.NOT_SENT });
  });

  describe("what must wait for the money is prepared", () => {
    /** Serves like `serve`, with a log entry for each attempt. */
    const prepared = (one: Order, prepare: (signal: AbortSignal) => Promise<void>, gone = () => false) => {
      const attempt = async () => {
        reported.push("sent");
        return delivered(billOf(COST));
      };
      return requests.serve(one, { routes: [first], attempt, prepare }, gone);
    };

    test("once the hold is placed, and before anything is sent", async () => {
      const one = order();
      const served = await prepared(one, async () => void reported.push(`prepared, ${fake.state(one.id)}`));
      expect(served).toMatchObject({ kind: "answered" });
      expect(reported).toEqual([`prepared, ${HoldState.OPEN}`, "sent"]);
    });

    test("not at all without a hold, or for a caller that has left", async () => {
      const prepare = async () => void reported.push("prepared");
      expect(await prepared(order(), prepare, () => true)).toEqual({ kind: "left" });
      fake.placeOutcome = OutcomeCode.INSUFFICIENT_CREDITS;
      expect(await reasonOf(prepared(order(), prepare))).toBe("insufficient_credits");
      expect(reported).toEqual([]);
    });

    test("and when it fails the hold is released, nothing is sent, and its error is the caller's", async () => {
      const one = order("a key");
      const refuse = async () => {
        throw new ServiceError("invalid_image", "image: the picture does not decode.", { param: "image" });
      };
      expect(await reasonOf(prepared(one, refuse))).toBe("invalid_image");
      expect(fake.callsOf(one.id).at(-1)).toMatchObject({ kind: "release", reason: ReleaseReason.NOT_SENT });
      expect([reported, fake.charged, requests.running.ids()]).toEqual([[], 0n, []]);
      // The claim is free again.
      expect(await prepared(order("a key"), async () => undefined)).toMatchObject({ kind: "answered" });
    });

    test("and is no matter to a caller that leaves meanwhile", async () => {
      const one = order();
      let left = false;
      const leave = async () => {
        left = true;
        throw new Error("given up");
      };
      expect(await prepared(one, leave, () => left)).toEqual({ kind: "left" });
      expect([reported, fake.state(one.id)]).toEqual([[], HoldState.RELEASED]);
    });

    test("and is given up when the process stops", async () => {
      const stopped = prepared(
        order(),
        (signal) =>
          new Promise((_, reject) => {
            signal.addEventListener("abort", () =>
              reject(new ServiceError("provider_unavailable", "Stopped.")),
            );
            requests.running.cancelAll("the process stops");
          }),
      );
      expect(await reasonOf(stopped)).toBe("provider_unavailable");
    });
  });

  test("more requests than may run are refused without a hold", async () => {
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const wait = async () => {
      await ended;
      return delivered(billOf(COST));
    };
    const two = [serve(order(), wait), serve(order(), wait)];
    expect(await reasonOf(serve(order(), wait))).toBe("provider_unavailable");
    end();
    await Promise.all(two);
    expect(fake.holds.length).toBe(2);
  });
});

describe("claims", () => {
  test("whoever repeats a charged request is told which it was, and the answer was kept", async () => {
    const one = order("key");
    await serve(one, async () => delivered(billOf(COST)));
    expect(kinds(one.id)).toEqual(["place", "keepAnswer", "capture"]);
    expect(fake.keptOf(one.id)).toEqual({ contentType: "text/plain", body: "answer for 3" });
    const again = await serve(order("key"), async () => {
      throw new Error("it was sent again");
    });
    expect(again).toEqual({ kind: "earlier", id: one.id });
  });

  test("an answer that comes when its hold is being resolved is neither kept nor given; its cost is ours", async () => {
    const one = order("key");
    const late = serve(one, async () => {
      fake.expire(one.id);
      await process
        .dial("billing", BillingService)
        .leaseExpiredHolds({ service: "test", limit: 10, leaseMs: 1_000n });
      return delivered(billOf(COST));
    });
    expect(await reasonOf(late)).toBe("provider_timeout");
    expect(fake.hold(one.id)).toMatchObject({
      state: HoldState.RELEASED,
      chargedCredits: 0n,
      costPicoUsd: COST,
    });
  });

  test("a request that would be refused now is found again by its claim", async () => {
    const one = order("key");
    await serve(one, async () => delivered(billOf(COST)));
    const refuse = () => {
      throw new ServiceError("model_not_found", "The model is gone.");
    };
    expect(await requests.prepareOrFindEarlier(order("key"), refuse)).toEqual({ earlier: one.id });
    expect(await reasonOf(requests.prepareOrFindEarlier(order("other"), refuse))).toBe("model_not_found");
  });
});

describe("attempts", () => {
  const unavailable = (cost: PicoUsd = 0n) => failed(cost, { mayFallBack: true });

  test("a second provider is named in billing before it is asked, and each cost is its provider's", async () => {
    const one = order();
    await serve(
      one,
      async ({ provider }, { number }) => {
        expect(fake.hold(one.id)).toMatchObject({ provider, attempt: number });
        return provider === "first" ? unavailable(7n) : delivered(billOf(COST));
      },
      [first, second],
    );
    expect(reported).toEqual(["to second"]);
    expect(fake.callsOf(one.id)).toMatchObject([
      { kind: "place", provider: "first" },
      { kind: "nextAttempt", provider: "second", attempt: 2, cost: 7n },
      { kind: "capture", cost: COST },
    ]);
    expect(fake.lost).toBe(7n);
  });

  test("the bill of a metered attempt is booked to it when it is found, while the next one runs", async () => {
    const one = order();
    lookUp = (billId) => (billId === "bill" ? { cost: 30n } : "unknown");
    await serve(
      one,
      async ({ provider }) => {
        if (provider === "first") return { ...unavailable(7n), isMetered: true, billId: "bill" };
        await soon(() => reported.includes("late 23"));
        expect(fake.hold(one.id)).toMatchObject({ provider: "second", attempt: 2, state: HoldState.OPEN });
        expect(fake.lost).toBe(30n);
        return delivered(billOf(COST));
      },
      [first, second],
    );
    expect(fake.hold(one.id)).toMatchObject({ state: HoldState.CAPTURED, costPicoUsd: COST });
    expect(fake.lost).toBe(30n);
  });

  test("the bill of a metered attempt that nobody could go on with is booked, too", async () => {
    const one = order();
    lookUp = () => ({ cost: 30n });
    await reasonOf(serve(one, async () => ({ ...unavailable(7n), isMetered: true })));
    await soon(() => reported.includes("late 23"));
    expect(fake.lost).toBe(30n);
  });

  test.each([
    ["an outcome that nobody knows", () => unknown()],
    ["a failure that may have been billed", () => failed(undefined, { mayFallBack: true })],
    ["a refusal that another provider would repeat", () => failed(0n)],
  ])("%s is not tried elsewhere", async (_, end) => {
    const asked: string[] = [];
    const attempt: Attempt = async ({ provider }) => {
      asked.push(provider);
      return end();
    };
    await reasonOf(serve(order(), attempt, [first, second]));
    expect(asked).toEqual(["first"]);
  });

  test("nothing more is sent when the hold was resolved meanwhile, or when that is not known", async () => {
    for (const trouble of ["resolved", "silent"]) {
      const one = order();
      const asked: string[] = [];
      fake.before = async ({ kind }) => {
        if (trouble === "silent" && kind === "nextAttempt")
          throw new ServiceError("service_unavailable", "lost");
      };
      const attempt: Attempt = async ({ provider }) => {
        asked.push(provider);
        if (trouble === "resolved") fake.giveUp(one.id);
        return unavailable();
      };
      await reasonOf(serve(one, attempt, [first, second]));
      expect(asked).toEqual(["first"]);
      expect(fake.state(one.id)).toBe(trouble === "resolved" ? HoldState.RELEASED : HoldState.OPEN);
    }
  });
});

describe("holds of running requests", () => {
  test("grow when the money allows it", async () => {
    const one = order();
    const grown: Extension[] = [];
    await serve(one, async (_, { held, extend }) => {
      expect(held).toBe(one.credits);
      for (const credits of [500n, 10_000_000n]) grown.push(await extend(credits));
      expect(fake.hold(one.id)).toMatchObject({ credits: 500n });
      return delivered(billOf(COST));
    });
    expect(grown).toMatchObject([{ held: 500n }, { refused: { reason: "insufficient_credits" } }]);
  });

  test("last longer before their deadline comes near, and not sooner", async () => {
    const one = order();
    await serve(one, async () => {
      await requests.renew();
      expect(kinds(one.id)).toEqual(["place"]);
      clock.advance(400_000);
      await requests.renew();
      expect(fake.hold(one.id)?.deadlineAt).toBe(BigInt(clock.now() + 600_000));
      return delivered(billOf(COST));
    });
    clock.advance(400_000);
    await requests.renew();
    expect(kinds(one.id)).toEqual(["place", "extend", "capture"]);
  });

  test("are given up when somebody else has resolved them", async () => {
    const one = order();
    await reasonOf(
      serve(one, async (_, { signal }) => {
        fake.giveUp(one.id);
        clock.advance(400_000);
        await requests.renew();
        expect(signal.aborted).toBe(true);
        return failed(0n);
      }),
    );
  });
});

describe("what was left open", () => {
  const keepOpen = async (claimed?: string) => {
    askable = false;
    const one = order(claimed);
    await reasonOf(serve(one, async () => unknown()));
    askable = true;
    clock.advance(700_000);
    return one;
  };

  test("is not released after one look-up that finds no bill, but after two", async () => {
    const one = await keepOpen();
    await resolve();
    expect(fake.state(one.id)).toBe(HoldState.OPEN);
    await resolve();
    // Leased: no process may resolve the hold yet.
    expect(fake.state(one.id)).toBe(HoldState.OPEN);
    clock.advance(SETTINGS.leaseMs + 1);
    await resolve();
    expect(fake.state(one.id)).toBe(HoldState.RELEASED);
    expect(fake.callsOf(one.id).at(-1)).toMatchObject({ kind: "release", reason: ReleaseReason.UNRESOLVED });
  });

  test("is our loss when a bill is found", async () => {
    const one = await keepOpen();
    lookUp = () => ({ cost: COST });
    await resolve();
    expect(fake.hold(one.id)).toMatchObject({
      state: HoldState.RELEASED,
      chargedCredits: 0n,
      costPicoUsd: COST,
    });
  });

  test("stays open while the provider says nothing, for an hour", async () => {
    const one = await keepOpen();
    lookUp = () => "silent";
    for (let round = 0; round < 3; round += 1) {
      await resolve();
      clock.advance(SETTINGS.leaseMs + 1);
    }
    expect(fake.state(one.id)).toBe(HoldState.OPEN);
    clock.advance(3_600_000);
    await resolve();
    expect(fake.state(one.id)).toBe(HoldState.RELEASED);
  });

  test("is captured when its answer had been kept", async () => {
    const one = order("key");
    fake.before = async ({ kind }) => {
      if (kind === "capture") throw new ServiceError("service_unavailable", "lost");
    };
    expect(await reasonOf(serve(one, async () => delivered(billOf(COST))))).toBe("outcome_unknown");
    fake.before = async () => undefined;
    clock.advance(700_000);
    await resolve();
    expect(fake.hold(one.id)).toMatchObject({ state: HoldState.CAPTURED, chargedCredits: 3n });
  });

  test("a late bill after it was given up is our loss", async () => {
    const one = await keepOpen();
    let late: LookUpResult<FoundBill> = "unknown";
    lookUp = () => late;
    await resolve();
    clock.advance(SETTINGS.leaseMs + 1);
    await resolve();
    expect(fake.state(one.id)).toBe(HoldState.RELEASED);
    late = { cost: COST };
    await soon(() => reported.includes(`late ${COST}`));
    expect(fake.lost).toBe(COST);
  });

  test("a request that still runs here is left to itself", async () => {
    const one = order();
    await serve(one, async () => {
      fake.expire(one.id);
      lookUp = () => ({ cost: COST });
      await resolve();
      expect(fake.state(one.id)).toBe(HoldState.OPEN);
      return delivered(billOf(COST));
    });
    expect(fake.state(one.id)).toBe(HoldState.CAPTURED);
  });
});

test("a process that stops waits for what runs, then tells it to give up", async () => {
  let cancelled = false;
  const running = serve(
    order(),
    (_, { signal }) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => {
          cancelled = true;
          resolve(failed(0n));
        });
      }),
  );
  const ended = reasonOf(running);
  await soon(() => requests.running.served === 1);
  await requests.stop();
  expect(cancelled).toBe(true);
  expect(await ended).toBe("provider_error");
});
