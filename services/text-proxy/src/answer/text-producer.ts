// TextProducer is the common base of complete answers and streams: attempts produce an answer,
// which is then sent or dropped.
import { dearestRates, tokenPriceAt } from "@gr/models";
import type { AttemptContext, AttemptEnd, Broken, PaidRequests, Producer, Route } from "@gr/paid-request";
import type { FastifyReply } from "fastify";
import type { TextProxyConfig } from "../config.ts";
import type { CarriedPart } from "../cost/carried-part.ts";
import { ratesAsked, termsAsked } from "../cost/charged-meters.ts";
import type { Attempt } from "../cost/failed-attempt.ts";
import type { AttemptTrace, TextTrace } from "../cost/text-line.ts";
import { asBilled, cannotContinue, notAsked } from "../cost/unbilled-attempt.ts";
import type { TextEvents } from "../events.ts";
import { limitToAdd } from "../request/hold-size.ts";
import { priceBounds } from "../request/price-bounds.ts";
import type { TextOrder } from "../request/text-order.ts";
import { upstreamBody } from "../request/upstream-body.ts";
import type { AnswerToSave } from "../stream/stream-answer.ts";
import type { TextKinds, TextProduct } from "../text-kinds.ts";
import { isPassedOver } from "../upstream/choose-routes.ts";
import type { Upstream } from "../upstream/upstream.ts";
import type { AnswerReceiver } from "../upstream/upstream-call.ts";
import { WatchedAnswer } from "../upstream/watched-answer.ts";

export interface ProducerParts {
  readonly order: TextOrder;
  readonly routes: readonly [Route, ...Route[]];
  /** Upstreams by name. */
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly reply: FastifyReply;
  readonly events: TextEvents;
  readonly config: TextProxyConfig;
  /** Its breaker of losses closes routes while the request runs. */
  readonly paid: Pick<PaidRequests<TextKinds>, "losses">;
}

export type AnswerEnd = Omit<TextTrace, "attempts">;

export abstract class TextProducer implements Producer<TextKinds> {
  protected readonly parts: ProducerParts;
  readonly #attempts: AttemptTrace[] = [];
  #upstreamMs = 0;

  constructor(parts: ProducerParts) {
    this.parts = parts;
  }

  /** Returns the later routes that are not closed because of losses. */
  #openAfter(route: Route): readonly Route[] {
    const { order, paid } = this.parts;
    const later = this.routes.slice(this.routes.indexOf(route) + 1);
    return later.filter((each) => !paid.losses.isClosed(each, order.accountId));
  }

  /** Attempts and end of the answer, up to now. */
  get trace(): TextTrace {
    return { attempts: this.#attempts, ...this.ended };
  }

  /** Duration of all attempts together, in milliseconds. */
  get upstreamMs(): number {
    return this.#upstreamMs;
  }

  get routes(): readonly [Route, ...Route[]] {
    return this.parts.routes;
  }

  async attempt(route: Route, context: AttemptContext): Promise<AttemptEnd<TextKinds> | Broken<TextKinds>> {
    const { events, upstreams, config } = this.parts;
    const upstream = upstreams.get(route.provider);
    if (upstream === undefined) throw new Error(`there is no upstream ${route.provider}`);
    // Price at this upstream.
    const price = tokenPriceAt(this.parts.order.price, route.provider);
    const order = this.orderAt(upstream, { ...this.parts.order, price, asked: route.provider });
    if (order === undefined) return cannotContinue();
    const { request, size } = order;
    const { api, stream } = request;
    const added = limitToAdd(request, size, context.held);
    const limit = added === undefined ? undefined : { field: upstream.kind.limitFields[api], tokens: added };
    const bounds = priceBounds({
      request,
      price: dearestRates(price, ratesAsked(order)),
      terms: termsAsked(order),
      held: context.held,
    });
    const body = upstreamBody(request, route.upstreamModel, limit, bounds);
    const stated = request.outputLimit === undefined ? undefined : size.mostTokens;
    const terms = {
      held: context.held,
      limit: added ?? stated,
      surplus: config.TEXT_COST_SURPLUS_PERCENT,
    };
    const breaker = upstream.breaker(route.upstreamModel);
    const coolDown = (ms: number) => breaker.coolDown(ms);
    const stopsWithinHold = added !== undefined || (stated !== undefined && order.mostCredits === undefined);
    const asked = { order, upstream, events, stopsWithinHold, coolDown };
    const attempt = { ...asked, terms: () => terms, carried: this.carried };
    if (breaker.isOpen && isPassedOver(breaker, this.#openAfter(route), upstreams)) {
      this.#attempts.push({ ...route, outcome: "not_asked", tookMs: 0 });
      return notAsked();
    }
    const permit = breaker.enter(order.accountId);
    const began = performance.now();
    let outcome = "defect";
    try {
      const end = await this.read(attempt, context, (receiver) => {
        const watched = new WatchedAnswer(receiver, breaker, permit, context.signal);
        upstream.post({ api, stream, body, id: order.id, signal: context.signal }, watched);
      });
      outcome = end.kind === "delivered" ? "delivered" : end.why;
      return this.endOf(attempt, context, asBilled(upstream, end, this.hasDelivered));
    } finally {
      const tookMs = performance.now() - began;
      this.#upstreamMs += tookMs;
      this.#attempts.push({ ...route, outcome, tookMs });
    }
  }

  /** Earlier parts of the answer. */
  protected get carried(): CarriedPart | undefined {
    return undefined;
  }

  /** The order for this upstream; undefined if it cannot continue the earlier parts. */
  protected orderAt(_upstream: Upstream, order: TextOrder): TextOrder | undefined {
    return order;
  }

  /** Returns the attempt's end for the library: another upstream may continue a stream that broke off. */
  protected endOf(
    _attempt: Attempt,
    _context: AttemptContext,
    end: AttemptEnd<TextKinds>,
  ): AttemptEnd<TextKinds> | Broken<TextKinds> {
    return end;
  }

  /** End of the answer, if there is one. */
  protected abstract readonly ended: AnswerEnd;

  /** True if the client has received a part of an answer. */
  protected abstract readonly hasDelivered: boolean;

  /** The answer, or its delivered part, for a key that saves texts. */
  abstract readonly answerToSave: AnswerToSave;

  /** Sends the end of a paid answer. @returns the answer to the request */
  abstract deliver(product: TextProduct): unknown;

  /** Ends a request without an answer. @returns the end; @throws the error if no part of an answer was sent */
  abstract fail(error: unknown): unknown;

  /** @param send sends the request, once; the receiver is called with its answer */
  protected abstract read(
    attempt: Attempt,
    context: AttemptContext,
    send: (receiver: AnswerReceiver) => void,
  ): Promise<AttemptEnd<TextKinds>>;
}
