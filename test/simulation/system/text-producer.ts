// Text producer owns the answers of the simulated text service: whole or streamed, with usage or without, cut by our own limits, for a client
// that can leave. The hold of a stream grows while the stream runs, and a refused growth cuts the stream. The library charges the delivered
// part.
import { type Credits, chargeOf, PICO_PER_CREDIT, type PicoUsd } from "@gr/money";
import {
  type AttemptContext,
  type AttemptEnd,
  type Bill,
  type Broken,
  chargeOfParts,
  costOfParts,
  type Delivered,
  type Failed,
  type FoundBill,
  type Kinds,
  type Order,
  type Producer,
  type Route,
  type Unknown,
} from "@gr/paid-request";
import { ServiceError } from "@gr/proto";
import {
  asBilled,
  type CircuitBreaker,
  isPassedOver,
  notAsked,
  StreamSpending,
} from "@gr/text-proxy/simulated";
import { checkCovered, checkDispatch, violated } from "../books/invariants.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Life } from "../world/process.ts";
import { DRAIN_MS, REST_MS, STREAM_TIMEOUT_MS } from "../world/timing.ts";
import type { Request } from "./request.ts";
import { metered, type Upstream, type UpstreamReply } from "./upstream.ts";

/** A token costs one pico-USD, and a request costs its tokens. */
const SIZE = { inputCost: 0n, tokenCost: 1n, stepCredits: 1n };
/** Time between two looks for the client of a stream, in ms. */
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
  /** By the upstream's name. */
  readonly breakers: ReadonlyMap<string, CircuitBreaker>;
  readonly routes: readonly [Route, ...Route[]];
  readonly order: TextOrder;
  /** True for a route that losses have closed: a running request skips the route. */
  readonly isClosed: (route: Route) => boolean;
}

export class TextProducer implements Producer<TextKinds> {
  readonly routes: readonly [Route, ...Route[]];
  readonly #options: TextProducerOptions;
  /** The client has a part of an answer. */
  #given = false;
  /** The stream of this attempt broke off. */
  #brokeOff = false;
  /** Bills of the parts that the client has from earlier attempts. */
  #parts: readonly Bill[] = [];
  /** Bills of all parts, and the least hold, if the next attempt is to continue the stream. */
  #offered: { readonly parts: readonly Bill[]; readonly least: Credits } | undefined;
  /** This attempt continues the stream. */
  #continuesStream = false;

  constructor(options: TextProducerOptions) {
    this.#options = options;
    this.routes = options.routes;
  }

  readonly attempt = async (route: Route, context: AttemptContext): Promise<End | Broken<TextKinds>> => {
    const { life, order } = this.#options;
    const { world } = life;
    const { request } = order;
    if (context.number > 1) world.count("attempts of a second route of text");
    this.#continuesStream = false;
    this.#begin();
    if (this.#given && !this.#continuesStream) {
      throw world.fail(violated("I17", `${request.hold} goes to ${route.provider}`));
    }
    this.#brokeOff = false;
    request.turnedAway = false;
    const { end, free } = await this.#tryRoute(route, context);
    request.turnedAway = free && this.#openAfter(route).length > 0;
    const mayBeBilled = end.kind === "unknown" || (end.kind === "failed" && end.cost === undefined);
    if (mayBeBilled && this.routes.length > context.number) {
      world.count("text that ended with its first route, which may have billed it");
    }
    return this.#endFor(route, end);
  };

  #openAfter(route: Route): readonly Route[] {
    return this.routes.slice(this.routes.indexOf(route) + 1).filter((each) => !this.#options.isClosed(each));
  }

  /** @returns its end, and true if the attempt certainly cost nothing and the request itself is without fault */
  async #tryRoute(route: Route, context: AttemptContext): Promise<{ end: End; free: boolean }> {
    const { life, upstreams, breakers } = this.#options;
    const { world } = life;
    const upstream = upstreams.get(route.provider);
    const breaker = breakers.get(route.provider);
    if (upstream === undefined || breaker === undefined) throw new Error(`there is no ${route.provider}`);
    // Since the route was chosen, a request that is not played here has failed there.
    if (world.random.chance(0.04)) breaker.enter("another account").failed("upstream");
    if (isPassedOver(breaker, this.#openAfter(route), breakersByUpstream(breakers))) {
      world.count("text that went on from an open breaker");
      return { end: notAsked(), free: true };
    }
    if (breaker.waitMs > 0) world.count("text sent to a failing upstream, since no other could be asked");
    const permit = breaker.enter(this.#options.order.accountId);
    const made = await this.#attempt(route, upstream, context, (first) => {
      if (first === undefined || FAILURES.has(first.kind)) permit.failed("upstream");
      else if (first.kind === "refused") permit.ignored();
      else permit.succeeded();
      if (first?.kind === "refused" && first.elsewhere) breaker.coolDown(REST_MS);
    });
    const end = asBilled(upstream, made, this.#given);
    const refused = made.kind === "failed" && made.cost === 0n;
    if (refused || upstream.billed) return { end, free: refused && made.mayFallBack };
    const free = made.kind !== "delivered" && !this.#given;
    if (free && this.routes.length > context.number) {
      world.count("text that went on, since nobody bills for its first route");
    }
    return { end, free };
  }

  /** Returns the end of an attempt as the router does: another route may continue a stream that broke off. */
  #endFor(route: Route, end: End): End | Broken<TextKinds> {
    const { life, upstreams, order } = this.#options;
    const { request } = order;
    const upstream = upstreams.get(route.provider);
    const { world } = life;
    if (upstream === undefined || !this.#brokeOff || end.kind === "delivered" || !request.continues)
      return end;
    request.partsAt.set(route.provider, world.now);
    return {
      kind: "broken",
      error: end.error,
      message: end.message,
      billId: "",
      otherwise: () => {
        if (this.#offered !== undefined) world.count("streams that could not go on for want of money");
        this.#offered = undefined;
        request.turnedAway = false;
        request.partsAt.delete(route.provider);
        return end;
      },
      isBilled: upstream.billed,
      billOf: (found) => {
        const cost = found?.cost ?? metered(request, 1);
        return { cost, charge: chargeOf(cost) };
      },
      continueAt: (_next, parts) => {
        // The hold can be larger than in the memory of the router: the answer to an extension was lost.
        this.#offered = { parts, least: order.credits + chargeOf(2n * costOfParts(parts)) };
        request.turnedAway = true;
        return costOfParts(parts);
      },
    };
  }

  /** Notes an attempt that continues the stream of the attempt before. */
  #begin(): void {
    const { life, ledger, order } = this.#options;
    const offered = this.#offered;
    this.#offered = undefined;
    if (offered === undefined) return;
    // All parts, and the words that the next upstream reads again, which cost as much.
    checkCovered(life.world, ledger, order.request.hold, offered.least * PICO_PER_CREDIT);
    life.world.count("streams that went on elsewhere");
    this.#parts = offered.parts;
    order.request.carried = costOfParts(offered.parts);
    this.#continuesStream = true;
  }

  /** @param begun called at the first reply */
  async #attempt(
    route: Route,
    upstream: Upstream,
    context: AttemptContext,
    begun: (first: UpstreamReply | undefined) => void,
  ): Promise<End> {
    const { life, ledger, order } = this.#options;
    const { request } = order;
    checkDispatch(life.world, ledger, request.hold, route.provider);
    // A stream is cut at the end of its hold; an answer in one piece has a limit on its output.
    const limit = request.streamed || request.most === undefined ? undefined : context.held * PICO_PER_CREDIT;
    if (limit !== undefined) checkCovered(life.world, ledger, request.hold, limit);
    const exchange = upstream.send(life, request, limit);
    const first = await exchange.first.promise.catch(() => undefined);
    begun(first);
    if (first?.kind !== "begun") return this.#endOf(first);
    this.#given = true;
    const last = await this.#read(exchange.last.promise, upstream, context);
    if (last === "cut") {
      upstream.cut(request.hold);
      life.world.count("streams cut by us");
      return this.#deliver(undefined);
    }
    if (last.kind === "broken" && last.cost === undefined) {
      this.#brokeOff = true;
      return failedSilently();
    }
    return this.#deliver(last.kind === "answer" || last.kind === "broken" ? last.cost : undefined);
  }

  /** Reads a stream to its end, or to the end of our patience. */
  async #read(
    ended: Promise<UpstreamReply | undefined>,
    upstream: Upstream,
    context: AttemptContext,
  ): Promise<UpstreamReply | "cut"> {
    const { life, ledger, order } = this.#options;
    const { world } = life;
    const { hold } = order.request;
    const before = costOfParts(this.#parts);
    const { mostCredits } = order;
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
      order: {
        ...order,
        mostCredits: mostCredits === undefined ? undefined : mostCredits + chargeOf(before),
        size: { ...SIZE, inputCost: before },
      },
      context,
      isLimited: order.mostCredits === undefined,
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
      // A stream that waits has no bytes to count.
      if (!waiting) {
        // A stream continues only after a check that the hold covers its present cost.
        checkCovered(world, ledger, hold, before + used);
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
        return { ...failed(0n), isUnsent: true, mayFallBack: true };
      case "refused":
        return { ...failed(0n), mayFallBack: reply.elsewhere };
      case "failed":
        return { ...failed(reply.cost), mayFallBack: reply.elsewhere };
      case "failed silently":
        return failedSilently();
      default:
        return unknown();
    }
  }

  #deliver(told: PicoUsd | undefined): Delivered<TextKinds> {
    const { request } = this.#options.order;
    const billOf = (cost: PicoUsd) => ({ charge: chargeOfParts(cost, this.#parts), cost });
    return {
      kind: "delivered",
      bill: told === undefined ? undefined : billOf(told),
      billId: "",
      billOf: (found) => billOf(found?.cost ?? metered(request, 1)),
      productOf: ({ charge }) => ({ charge, huge: request.huge }),
    };
  }
}

export function routeOf(provider: string): Route {
  return { provider, upstreamModel: "model" };
}

/** As the functions that choose routes take them. */
export function breakersByUpstream(breakers: ReadonlyMap<string, CircuitBreaker>) {
  return new Map([...breakers].map(([name, breaker]) => [name, { breaker: () => breaker }]));
}

/** Replies that speak against an upstream. */
const FAILURES: ReadonlySet<UpstreamReply["kind"]> = new Set([
  "not sent",
  "failed",
  "failed silently",
  "broken",
]);
const PROBLEM = { billId: "", why: "failed", message: "the provider failed" } as const;

function failed(cost: PicoUsd | undefined): Failed {
  return { kind: "failed", error: providerError(), cost, isUnsent: false, mayFallBack: false, ...PROBLEM };
}

/** Another provider can succeed, but this one can have a bill. */
function failedSilently(): Failed {
  return { ...failed(undefined), mayFallBack: true };
}

function unknown(): Unknown {
  return { kind: "unknown", error: providerError(), ...PROBLEM };
}

function providerError(): ServiceError {
  return new ServiceError("provider_error", "The provider failed; nothing was charged.");
}
