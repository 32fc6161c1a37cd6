// One text request from its accepted body to its settled hold. Everything that can refuse it comes first, then the
// hold, then the upstream; its answer ends only after the capture. A repeated Idempotency-Key is answered from what
// was kept.

import { type Claim, ReleaseReason } from "@gr/clients";
import { type Principal, principalOf } from "@gr/identity";
import { claimOf } from "@gr/paid-request";
import { ServiceError } from "@gr/proto";
import { type Model, ModelKind, type TokenPrice } from "@gr/proto/catalog";
import type { FastifyReply, FastifyRequest } from "fastify";
import { AnswerCopy } from "./answer-copy.ts";
import type { Exchange, TextDeps } from "./exchange.ts";
import { free } from "./give-up.ts";
import { holdFor } from "./hold-size.ts";
import { replayAnswer } from "./replay-answer.ts";
import { SERVICE } from "./resolve-holds.ts";
import { STREAM_TYPE, serveStream } from "./serve-stream.ts";
import { serveWhole } from "./serve-whole.ts";
import { readTextRequest, TEXT_PATHS, type TextApi, type TextRequest } from "./text-request.ts";
import type { Upstream } from "./upstream.ts";
import { upstreamBody } from "./upstream-body.ts";

const OVERLOADED_RETRY_MS = 1_000;
const WHOLE_TYPE = "application/json; charset=utf-8";
/** Characters of a model's name in an error message. */
const LONGEST_NAME = 200;

interface Target {
  readonly model: Model;
  readonly price: TokenPrice;
  readonly priceVersion: string;
  readonly upstream: Upstream;
  readonly upstreamModel: string;
}

/** @returns the whole answer, or the reply when the answer was streamed */
export async function serveText(
  deps: TextDeps,
  api: TextApi,
  http: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const principal = requireNormalKey(principalOf(http));
  const request = readTextRequest(api, requireBytes(http.body));
  const claim = claimOf(http.headers, TEXT_PATHS[api], () => [request.bytes]);
  const replay = (holdId: string) =>
    replayAnswer(deps, { accountId: principal.accountId, holdId, stream: request.stream }, reply);
  const target = await findTargetOrEarlier(deps, request, principal, claim);
  if (typeof target === "string") return replay(target);
  const body = upstreamBody(request, target.upstreamModel);
  const { upstream, upstreamModel, price } = target;
  const held = holdFor(request, target.model, price);
  const copy = claim && new AnswerCopy(request.stream ? STREAM_TYPE : WHOLE_TYPE);
  const exchange: Exchange = { id: http.id, request, upstream, upstreamModel, price, held, copy };
  if (!deps.running.enter()) throw overloaded();
  let left = false;
  const leave = () => {
    if (!left) deps.running.leave();
    left = true;
  };
  try {
    const earlier = await place(deps, exchange, target, principal, claim);
    if (earlier !== undefined) {
      leave();
      return await replay(earlier);
    }
    // A client that left meanwhile wants no answer, and nothing is sent yet.
    if (reply.raw.destroyed) {
      await free(deps, exchange, ReleaseReason.NOT_SENT, 0n);
      leave();
      return reply.hijack();
    }
    if (request.stream) return await serveStream(deps, exchange, body, reply, leave);
    const answer = await serveWhole(deps, exchange, body);
    leave();
    return reply.type(WHOLE_TYPE).send(answer);
  } catch (error) {
    leave();
    throw error;
  }
}

/** @returns the id of the request that had the same claim and was charged; undefined when the hold is placed */
async function place(
  deps: TextDeps,
  exchange: Exchange,
  target: Target,
  principal: Principal,
  claim: Claim | undefined,
): Promise<string | undefined> {
  const { TEXT_TOTAL_TIMEOUT_MS, HOLD_GRACE_MS } = deps.config;
  const placed = deps.billing.place({
    holdId: exchange.id,
    accountId: principal.accountId,
    spenderId: principal.keyId,
    credits: exchange.held,
    service: SERVICE,
    provider: target.upstream.name,
    upstreamModel: target.upstreamModel,
    model: exchange.request.model,
    priceVersion: target.priceVersion,
    deadlineAt: deps.clock.now() + TEXT_TOTAL_TIMEOUT_MS + HOLD_GRACE_MS,
    claim,
  });
  try {
    return await placed;
  } catch (error) {
    // The hold may exist although its place was never answered; nobody waits for its release.
    if (error instanceof ServiceError && error.reason === "billing_unavailable") {
      void free(deps, exchange, ReleaseReason.NOT_SENT, 0n);
    }
    throw error;
  }
}

/**
 * What a request was charged for it gets again, though the catalogue has changed since and would refuse it now.
 * @returns the id of that earlier request, if there is one. @throws ServiceError as findTarget, or because of the claim
 */
async function findTargetOrEarlier(
  deps: TextDeps,
  request: TextRequest,
  { accountId, keyId: spenderId }: Principal,
  claim: Claim | undefined,
): Promise<Target | string> {
  try {
    return findTarget(deps, request);
  } catch (refusal) {
    const earlier = claim && (await deps.billing.findEarlier({ accountId, spenderId, claim }));
    if (earlier === undefined) throw refusal;
    return earlier;
  }
}

/** @throws ServiceError model_not_found, wrong_endpoint, vision_not_supported, provider_unavailable */
function findTarget({ catalog, upstream }: TextDeps, request: TextRequest): Target {
  const model = catalog.find(request.model);
  if (model === undefined) {
    const name = request.model.slice(0, LONGEST_NAME).toWellFormed();
    throw new ServiceError("model_not_found", `The model "${name}" does not exist.`, { param: "model" });
  }
  if (model.kind !== ModelKind.TEXT) {
    const message = `The model "${model.id}" does not make text; use the path for ${pathOf(model)}.`;
    throw new ServiceError("wrong_endpoint", message, { param: "model" });
  }
  if (request.input.images > 0 && !model.capabilities.includes("vision")) {
    const message = `The model "${model.id}" does not support image input.`;
    throw new ServiceError("vision_not_supported", message, { param: request.input.firstImage });
  }
  const route = model.routes.find(({ provider }) => provider === upstream?.name);
  if (upstream === undefined || route === undefined || model.price?.rule.case !== "token") {
    throw new ServiceError("provider_unavailable", `No provider serves the model "${model.id}" now.`, {
      retryAfterMs: OVERLOADED_RETRY_MS,
    });
  }
  const { rule, version } = model.price;
  return {
    model,
    price: rule.value,
    priceVersion: version,
    upstream,
    upstreamModel: route.upstreamModel === "" ? model.id : route.upstreamModel,
  };
}

function pathOf({ kind }: Model): string {
  return kind === ModelKind.VIDEO ? "videos" : "images";
}

function requireNormalKey(principal: Principal | null): Principal {
  if (principal !== null && principal.kind !== "management") return principal;
  throw new ServiceError("invalid_api_key", "This endpoint needs a normal API key.");
}

function requireBytes(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body;
  throw new ServiceError("unsupported_media_type", "The content type must be application/json.");
}

function overloaded(): ServiceError {
  const message = "Too many requests are running; try again shortly.";
  return new ServiceError("provider_unavailable", message, { retryAfterMs: OVERLOADED_RETRY_MS });
}
