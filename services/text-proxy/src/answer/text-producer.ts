// What answers in one piece and streams have in common: attempts make one, then it is given to the client or not.
import { tokenPriceAt } from "@gr/models";
import type { AttemptContext, AttemptEnd, Producer, Route } from "@gr/paid-request";
import type { FastifyReply } from "fastify";
import type { TextProxyConfig } from "../config.ts";
import type { TextEvents } from "../events.ts";
import { limitToAdd } from "../request/hold-size.ts";
import type { TextOrder } from "../request/text-order.ts";
import { upstreamBody } from "../request/upstream-body.ts";
import type { Upstream } from "../upstream/upstream.ts";
import type { AnswerReceiver } from "../upstream/upstream-call.ts";
import { WatchedAnswer } from "../upstream/watched-answer.ts";
import type { Attempt } from "./failed-attempt.ts";
import { payableContext } from "./payable-context.ts";
import type { TextKinds, TextProduct } from "./text-kinds.ts";
import { notAsked, unbilled } from "./unbilled-attempt.ts";

export interface ProducerParts {
  readonly order: TextOrder;
  readonly routes: readonly [Route, ...Route[]];
  /** By name. */
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly reply: FastifyReply;
  readonly events: TextEvents;
  readonly config: TextProxyConfig;
}

export abstract class TextProducer implements Producer<TextKinds> {
  protected readonly parts: ProducerParts;
  #upstreamMs = 0;

  constructor(parts: ProducerParts) {
    this.parts = parts;
  }

  /** Of all attempts together. */
  get upstreamMs(): number {
    return this.#upstreamMs;
  }

  get routes(): readonly [Route, ...Route[]] {
    return this.parts.routes;
  }

  async attempt(route: Route, whole: AttemptContext): Promise<AttemptEnd<TextKinds>> {
    const { events, upstreams, config } = this.parts;
    const context = payableContext(whole, this.parts.order.maxCost);
    const upstream = upstreams.get(route.provider);
    if (upstream === undefined) throw new Error(`there is no upstream ${route.provider}`);
    // What it costs there.
    const price = tokenPriceAt(this.parts.order.price, route.provider);
    const order = { ...this.parts.order, price };
    const { request, size } = order;
    const { api, stream } = request;
    const added = limitToAdd(request, size, context.held);
    const limit = added === undefined ? undefined : { field: upstream.kind.limitFields[api], tokens: added };
    const body = upstreamBody(request, route.upstreamModel, limit);
    const terms = {
      held: context.held,
      limit: request.outputLimit === undefined ? added : size.mostTokens,
      surplus: config.TEXT_COST_SURPLUS_PERCENT,
    };
    const attempt = { order, upstream, events, terms: () => terms };
    const breaker = upstream.breaker(route.upstreamModel);
    const passage = breaker.enter();
    if (passage === undefined) return notAsked(breaker.waitMs);
    const began = performance.now();
    try {
      const end = await this.read(attempt, context, (receiver) => {
        const watched = new WatchedAnswer(receiver, breaker, passage, context.signal);
        upstream.post({ api, stream, body, id: order.id, signal: context.signal }, watched);
      });
      return upstream.billed ? end : unbilled(end, !this.hasBegun);
    } finally {
      this.#upstreamMs += performance.now() - began;
    }
  }

  /** Whether the client has got something. */
  protected abstract readonly hasBegun: boolean;

  /** Gives the last of an answer that is paid for. @returns what the request is answered with */
  abstract give(product: TextProduct): unknown;

  /** There is no answer. @returns what ends the request; @throws the error when nothing of an answer was sent */
  abstract fail(error: unknown): unknown;

  /** @param send sends the request, once; the receiver gets its answer */
  protected abstract read(
    attempt: Attempt,
    context: AttemptContext,
    send: (receiver: AnswerReceiver) => void,
  ): Promise<AttemptEnd<TextKinds>>;
}
