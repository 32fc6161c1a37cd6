// How the simulated text service produces an answer: whole or streamed, with or without its usage, cut by our own limits,
// for a client that may leave. A stream's hold grows while it runs, and it is cut when that is refused. What it delivers
// is charged by the library.
import { PICO_PER_CREDIT, type PicoUsd } from "@gr/money";
import type {
  AttemptContext,
  AttemptEnd,
  Delivered,
  Failed,
  FoundBill,
  Kinds,
  Order,
  Producer,
  Route,
  Unknown,
} from "@gr/paid-request";
import { ServiceError } from "@gr/proto";
import { StreamSpending } from "@gr/text-proxy/src/answer/stream-spending.ts";
import { checkCovered, checkDispatch } from "../books/invariants.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Life } from "../world/process.ts";
import { DRAIN_MS, STREAM_TIMEOUT_MS } from "../world/timing.ts";
import type { Request } from "./request.ts";
import { chargeFor, metered, type Upstream, type UpstreamReply } from "./upstream.ts";

/** Here a token is a pico-USD, and a request costs what its tokens do. */
const SIZE = { inputCost: 0n, tokenCost: 1n, stepCredits: 1n };
/** Between two looks whether a stream is still wanted. */
const LOOK_MS = 700;

export interface TextOrder extends Order {
  readonly request: Request;
}

export interface TextKinds extends Kinds {
  order: TextOrder;
  product: { readonly charge: bigint; readonly huge: boolean };
  found: FoundBill;
}

type End = AttemptEnd<TextKinds>;

export interface TextProducerOptions {
  readonly life: Life;
  readonly ledger: Ledger;
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly order: TextOrder;
}

export class TextProducer implements Producer<TextKinds> {
  readonly routes: readonly [Route, ...Route[]];
  readonly #options: TextProducerOptions;

  constructor(options: TextProducerOptions) {
    this.#options = options;
    const [first = "", ...others] = options.order.request.providers;
    this.routes = [routeOf(first), ...others.map(routeOf)];
  }

  readonly attempt = async (route: Route, context: AttemptContext): Promise<End> => {
    const { world } = this.#options.life;
    if (context.number > 1) world.count("attempts of a second route of text");
    const end = await this.#attempt(route, context);
    const mayBeBilled = end.kind === "unknown" || (end.kind === "failed" && end.cost === undefined);
    if (mayBeBilled && this.routes.length > context.number) {
      world.count("text that ended with its first route, which may have billed it");
    }
    return end;
  };

  async #attempt(route: Route, context: AttemptContext): Promise<End> {
    const { life, ledger, upstreams, order } = this.#options;
    const { request } = order;
    const upstream = upstreams.get(route.provider);
    if (upstream === undefined) throw new Error(`there is no provider ${route.provider}`);
    checkDispatch(life.world, ledger, request.hold, route.provider);
    // What streams is cut when its hold is used up; what comes in one piece is told where to end.
    const limit = request.streamed || request.most === undefined ? undefined : context.held * PICO_PER_CREDIT;
    if (limit !== undefined) checkCovered(life.world, ledger, request.hold, limit);
    const exchange = upstream.send(life, request, limit);
    const first = await exchange.first.promise.catch(() => undefined);
    if (first?.kind !== "begun") return this.#endOf(first);
    const last = await this.#read(exchange.last.promise, upstream, context);
    if (last === "cut") {
      upstream.cut(request.hold);
      life.world.count("streams cut by us");
      return this.#deliver(undefined);
    }
    if (last.kind === "broken" && last.cost === undefined) return failedSilently();
    return this.#deliver(last.kind === "answer" || last.kind === "broken" ? last.cost : undefined);
  }

  /** Reads a stream to its end, or for as long as we read it. */
  async #read(
    ended: Promise<UpstreamReply | undefined>,
    upstream: Upstream,
    context: AttemptContext,
  ): Promise<UpstreamReply | "cut"> {
    const { life, ledger, order } = this.#options;
    const { world } = life;
    const { hold } = order.request;
    const over = new AbortController();
    let last: UpstreamReply | "cut" | undefined;
    let waiting = false;
    let used: PicoUsd = 0n;
    const end = (how: UpstreamReply | "cut" | undefined) => {
      last ??= how;
      over.abort();
    };
    void ended.then(end);
    context.signal.addEventListener("abort", () => end("cut"), { once: true });
    const spending = new StreamSpending({
      order: { ...order, size: SIZE },
      context,
      limited: order.mostCredits === undefined,
      meter: { events: 0, tokens: () => Number(used) },
      upstream: {
        pause: () => {
          waiting = true;
          world.count("streams that waited for money");
        },
        resume: () => {
          waiting = false;
        },
      },
      refused: () => {
        world.count("streams cut for want of money");
        end("cut");
      },
    });
    const cutAt = life.now() + STREAM_TIMEOUT_MS;
    let drainedAt: number | undefined;
    while (last === undefined && life.now() < cutAt && !context.signal.aborted) {
      if (order.request.left) drainedAt ??= life.now() + DRAIN_MS;
      if (drainedAt !== undefined && life.now() >= drainedAt) break;
      // A stream that is held back gives nothing to count.
      if (!waiting) {
        // Whoever lets it go on has found that what was used is covered.
        checkCovered(world, ledger, hold, used);
        used = upstream.used(hold);
        spending.look();
      }
      await life.sleep(LOOK_MS, over.signal);
    }
    spending.stop();
    return last ?? "cut";
  }

  #endOf(reply: UpstreamReply | undefined): End {
    switch (reply?.kind) {
      case "answer":
        return this.#deliver(reply.cost);
      case "not sent":
        return { ...failed(0n), notSent: true, fallBack: true };
      case "refused":
        return { ...failed(0n), fallBack: reply.elsewhere };
      case "failed":
        return { ...failed(reply.cost), fallBack: reply.elsewhere };
      case "failed silently":
        return failedSilently();
      default:
        return unknown();
    }
  }

  #deliver(told: PicoUsd | undefined): Delivered<TextKinds> {
    const { request } = this.#options.order;
    const billOf = (cost: PicoUsd) => ({ charge: chargeFor(request, cost, 1), cost });
    return {
      kind: "delivered",
      bill: told === undefined ? undefined : billOf(told),
      billId: "",
      billOf: (found) => billOf(found?.cost ?? metered(request, 1)),
      productOf: ({ charge }) => ({ charge, huge: request.huge }),
    };
  }
}

function routeOf(provider: string): Route {
  return { provider, upstreamModel: "model" };
}

const PROBLEM = { billId: "", why: "failed", message: "the provider failed" } as const;

function failed(cost: PicoUsd | undefined): Failed {
  return { kind: "failed", error: providerError(), cost, notSent: false, fallBack: false, ...PROBLEM };
}

/** Another provider might do better, but this one may have billed it. */
function failedSilently(): Failed {
  return { ...failed(undefined), fallBack: true };
}

function unknown(): Unknown {
  return { kind: "unknown", error: providerError(), ...PROBLEM };
}

function providerError(): ServiceError {
  return new ServiceError("provider_error", "The provider failed; nothing was charged.");
}
