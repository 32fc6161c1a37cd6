// ServeText runs one text request from its accepted body to its answer. All refusals happen first. Then the library of
// paid requests places the hold, runs the attempts, and charges the answer.
// A repeated Idempotency-Key receives the stored answer.
import type { Billing, CatalogCopy, SavedTexts, TextLog } from "@gr/clients";
import { type Principal, requireAllowed } from "@gr/identity";
import { dearestTokenPrice } from "@gr/models";
import type { Credits } from "@gr/money";
import {
  claimOf,
  maxCostOf,
  notReplayable,
  type PaidRequests,
  quoteRecord,
  type Route,
  requireWithin,
} from "@gr/paid-request";
import { ServiceError } from "@gr/proto";
import { type Model, ModelKind, type TokenPrice } from "@gr/proto/catalog";
import { type Clock, STREAM_HEADERS } from "@gr/runtime";
import type { PriceTerms } from "@gr/text-upstream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { StreamProducer } from "./answer/stream-producer.ts";
import type { TextProducer } from "./answer/text-producer.ts";
import { WholeProducer } from "./answer/whole-producer.ts";
import type { TextProxyConfig } from "./config.ts";
import { textLine } from "./cost/text-line.ts";
import type { TextEvents } from "./events.ts";
import { continuesElsewhere } from "./request/continued-request.ts";
import { type HoldSize, holdSizeOf, inputBound } from "./request/hold-size.ts";
import { extrasCostOf, pricedRoutes, rateTermsOf } from "./request/price-effects.ts";
import { withAdvice } from "./request/refused-for-money.ts";
import type { TextOrder } from "./request/text-order.ts";
import {
  mayHaveMarks,
  readTextRequest,
  TEXT_PATHS,
  type TextApi,
  type TextRequest,
} from "./request/text-request.ts";
import type { TextKinds } from "./text-kinds.ts";
import { chooseRoutes } from "./upstream/choose-routes.ts";
import type { Upstream } from "./upstream/upstream.ts";

export interface TextDeps {
  readonly config: TextProxyConfig;
  readonly billing: Billing;
  readonly catalog: CatalogCopy;
  /** Upstreams by name. */
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly paid: PaidRequests<TextKinds>;
  readonly events: TextEvents;
  readonly textLog: TextLog;
  readonly savedTexts: Pick<SavedTexts, "add">;
  readonly clock: Clock;
  /** Bytes of request bodies that the process holds at the same time. */
  readonly inputBytes: number;
}

const UNSERVED_RETRY_MS = 1_000;

/** A model that at least one upstream serves. */
interface Target {
  readonly model: Model;
  readonly price: TokenPrice;
  readonly priceVersion: string;
  /** Routes, best first. */
  readonly routes: readonly [Route, ...Route[]];
  /** Effects of the request's fields on the price, by upstream. */
  readonly priceTerms: ReadonlyMap<string, PriceTerms>;
}

/** @returns the whole answer, or the reply when the answer was streamed */
export async function serveText(
  deps: TextDeps,
  api: TextApi,
  principal: Principal,
  http: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const began = performance.now();
  const { accountId, keyId, personId } = principal;
  const reading = readRequest(api, accountId, http);
  const request = reading instanceof Promise ? await reading : reading;
  const content = () => [request.bytes];
  const claim = await claimOf(http.headers, TEXT_PATHS[api], principal, content, { owner: accountId });
  const maxCost = maxCostOf(http.headers);
  const continues = continuesElsewhere(http.headers);
  const found = await deps.paid.prepareOrFindEarlier({ accountId, keyId, personId, claim }, () => {
    const target = findTarget(deps, request, principal);
    const size = sizeOf(request, target);
    requireWithin(boundOf(size), maxCost);
    return { ...target, size };
  });
  if ("earlier" in found) return replay(deps, principal, request, found.earlier, reply);
  const { price, priceVersion, routes, priceTerms, size } = found.prepared;
  const { HOLD_LEASE_MS, HOLD_GRACE_MS } = deps.config;
  const order: TextOrder = {
    id: http.id,
    accountId,
    keyId,
    personId,
    model: found.prepared.model.id,
    priceVersion,
    credits: size.credits,
    mostCredits: size.mostCredits,
    deadlineAt: deps.clock.now() + HOLD_LEASE_MS + HOLD_GRACE_MS,
    claim,
    request,
    price,
    priceTerms,
    size,
    maxCost,
    continues: continues && request.stream,
    savesTexts: principal.savesTexts === true,
  };
  const producer = new (request.stream ? StreamProducer : WholeProducer)({ ...deps, order, routes, reply });
  try {
    const served = await deps.paid.serve(order, producer, () => reply.raw.destroyed);
    if (served.kind === "answered") {
      const { upstreamMs } = producer;
      const tookMs = performance.now() - began;
      deps.events.timed(tookMs - upstreamMs, upstreamMs);
      const { meters } = served.bill;
      deps.textLog.add(textLine(order, producer.trace, { tookMs, meters }, deps.clock.now()));
      const answer = producer.deliver(served.product);
      saveTexts(deps, order, producer, tookMs);
      return answer;
    }
    if (served.kind === "left") return reply.hijack();
    return await replay(deps, principal, request, served.id, reply);
  } catch (error) {
    const { trace } = producer;
    // Other requests were refused, and have no hold.
    if (trace.attempts.length > 0) {
      const tookMs = performance.now() - began;
      deps.textLog.add(textLine(order, trace, { tookMs, error }, deps.clock.now()));
      saveTexts(deps, order, producer, tookMs);
    }
    return producer.fail(withAdvice(error, order));
  }
}

/** Saves prompt and answer after the answer was sent, or after the last attempt failed. */
function saveTexts(
  { savedTexts, clock }: TextDeps,
  { id, accountId, keyId, savesTexts, request }: TextOrder,
  producer: Pick<TextProducer, "answerToSave">,
  tookMs: number,
): void {
  if (!savesTexts) return;
  const { body, bytes } = producer.answerToSave;
  const beganAt = Math.round(clock.now() - tookMs);
  savedTexts.add({ id, accountId, keyId, beganAt, prompt: request.bytes, answer: body, answerBytes: bytes });
}

/**
 * Returns the largest cost of a request. Nothing is held or sent. @throws ServiceError for
 * each refusal of the request itself
 */
export async function quoteText(
  deps: TextDeps,
  api: TextApi,
  principal: Principal,
  http: FastifyRequest,
): Promise<object> {
  const request = await readRequest(api, principal.accountId, http);
  const target = findTarget(deps, request, principal);
  const credits = boundOf(sizeOf(request, target));
  const { model, priceVersion } = target;
  return quoteRecord({ model: model.id, credits, isExact: credits === 0n, priceVersion });
}

/** @returns no promise for a short request. @throws as readTextRequest */
function readRequest(
  api: TextApi,
  owner: string,
  { body }: FastifyRequest,
): TextRequest | Promise<TextRequest> {
  const bytes = requireBytes(body);
  const marks = mayHaveMarks(bytes, { owner });
  return marks instanceof Promise
    ? marks.then((hasMarks) => readTextRequest(api, bytes, hasMarks))
    : readTextRequest(api, bytes, marks);
}

function boundOf({ credits, mostCredits }: HoldSize): Credits {
  return mostCredits ?? credits;
}

/** The hold must be enough at each of the model's upstreams. */
function sizeOf(request: TextRequest, target: Target): HoldSize {
  const { model, price, routes } = target;
  const providers = routes.map(({ provider }) => provider);
  const terms = rateTermsOf(target, inputBound(request, model));
  const dearest = dearestTokenPrice(price, providers, terms);
  return holdSizeOf(request, model, dearest, extrasCostOf(request, price, target));
}

/**
 * Replays the stored answer of a charged request, byte for byte, under a request id of its own. Nothing is sent to an
 * upstream and nothing is charged.
 * @throws ServiceError idempotency_not_replayable, service_unavailable
 */
async function replay(
  { billing, events }: TextDeps,
  { accountId }: Principal,
  { stream }: TextRequest,
  earlier: string,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const answer = await billing.readAnswer(accountId, earlier);
  if (answer === undefined) throw notReplayable("was not kept; to ask again, use a new key");
  events.replayed();
  const { buffer, byteOffset, byteLength } = answer.body;
  return reply
    .headers(stream ? STREAM_HEADERS : {})
    .header("idempotency-replayed", "true")
    .type(answer.contentType)
    .send(Buffer.from(buffer, byteOffset, byteLength));
}

/** @throws ServiceError model_not_found, model_not_allowed, wrong_endpoint, vision_not_supported, provider_unavailable */
function findTarget(
  { catalog, upstreams, paid: { losses } }: TextDeps,
  request: TextRequest,
  { accountId, allowed }: Principal,
): Target {
  const model = requireAllowed(allowed, catalog.require(request.model));
  if (model.kind !== ModelKind.TEXT) {
    const message = `The model "${model.id}" does not generate text; use the path for ${pathOf(model)}.`;
    throw new ServiceError("wrong_endpoint", message, { param: "model" });
  }
  if (request.input.images > 0 && !model.capabilities.includes("vision")) {
    const message = `The model "${model.id}" does not support image input.`;
    throw new ServiceError("vision_not_supported", message, { param: request.input.firstImage });
  }
  const known = chooseRoutes(model, upstreams, (route) => losses.isClosed(route, accountId));
  const rule = model.price?.rule;
  const version = model.price?.version ?? "";
  const { routes, priceTerms } =
    rule?.case === "token"
      ? pricedRoutes(request, rule.value, inputBound(request, model), known, upstreams)
      : { routes: [], priceTerms: new Map<string, PriceTerms>() };
  const [first, ...others] = routes;
  if (first === undefined || rule?.case !== "token") {
    throw new ServiceError("provider_unavailable", `No provider serves the model "${model.id}" now.`, {
      retryAfterMs: UNSERVED_RETRY_MS,
    });
  }
  return { model, price: rule.value, priceVersion: version, routes: [first, ...others], priceTerms };
}

function pathOf({ kind }: Model): string {
  return kind === ModelKind.VIDEO ? "videos" : "images";
}

function requireBytes(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body;
  throw new ServiceError("unsupported_media_type", "The content type must be application/json.");
}
