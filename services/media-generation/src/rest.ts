// The public routes of media generation: image and video requests, their log, and the hosted media.
import { normalKey, type Principal } from "@gr/identity";
import {
  claimOf,
  maxCostOf,
  quoteRecord,
  quoteSchema,
  refuseAmountNames,
  rulesOfPaidBodies,
} from "@gr/paid-request";
import { ServiceError } from "@gr/proto";
import {
  allowanceOf,
  type BodyRules,
  type RestApi,
  type RestRequest,
  type RestRoute,
  restRoute,
} from "@gr/runtime";
import type { FastifyReply } from "fastify";
import { mediaAnswerSchema } from "./answer/media-answer.ts";
import { sendText } from "./answer/send-text.ts";
import type { GenerationEvents } from "./generation/events.ts";
import type { MediaWork } from "./generation/media-work.ts";
import { contentOf, inputSources } from "./inputs/input-sources.ts";
import { acceptForms, MULTIPART } from "./inputs/multipart-form.ts";
import { generationAnswer, generationSchema } from "./log/log-answer.ts";
import { readEntry } from "./log/log-query.ts";
import { LOG_PATH, type LogDeps, logRoutes } from "./log/log-routes.ts";
import type { LogStore } from "./log/log-store.ts";
import {
  type AcceptDeps,
  type Accepted,
  acceptMedia,
  prefersAsync,
  RESPOND_ASYNC,
} from "./request/accept-media.ts";
import { type FinishedAnswer, generateMedia, quoteMedia } from "./request/generate-media.ts";
import { imageRequests } from "./request/image-request.ts";
import { canonicalText, type MediaRequest, type RequestKind } from "./request/request-kind.ts";
import { videoRequests } from "./request/video-request.ts";
import { mediaRoute } from "./storage/media-routes.ts";
import type { MediaStorage } from "./storage/media-storage.ts";

/** Size limit of a JSON body, in bytes. */
const MAX_BODY_BYTES = 50 * 1024 * 1024;

export interface RestDeps extends AcceptDeps, LogDeps {
  readonly storage: MediaStorage;
  readonly events: GenerationEvents;
  readonly work: MediaWork;
  readonly generationLog: LogStore;
  readonly maxFormBytes: number;
  /** Size limit of all requests in work together, in bytes. */
  readonly maxInputBytes: number;
}

export function mediaGenerationRest(deps: RestDeps): RestApi {
  const { billing, maxFormBytes, maxInputBytes } = deps;
  const bodies = rulesOfPaidBodies({
    billing,
    spenderOf: ({ principal }) => normalKey(principal),
    mostBytes: maxInputBytes,
  });
  const routes = [imageRequests, videoRequests].flatMap((asked) =>
    asked.paths.flatMap((path) => [
      generationRoute(deps, bodies, asked, path),
      quoteRoute(deps, bodies, asked, path),
    ]),
  );
  return {
    bodies,
    setup: (scope) => acceptForms(scope, maxFormBytes),
    routes: [...routes, ...logRoutes(deps), mediaRoute(deps.storage)],
  };
}

function generationRoute(deps: RestDeps, bodies: BodyRules, asked: RequestKind, path: string): RestRoute {
  const { summary, schema, form, things } = asked;
  return restRoute({
    method: "POST",
    path,
    summary,
    access: normalKey,
    body: schema,
    otherBodies: { [MULTIPART]: form },
    bodyLimit: MAX_BODY_BYTES,
    headers: { Prefer: `${RESPOND_ASYNC}: answer 202 as soon as the router has accepted the work` },
    responses: {
      200: {
        description:
          `The ${things}, paid for. The x-request-id of the answer is the id of the generation: GET ${LOG_PATH}/{id} ` +
          `has the URLs of its files, for every response_format but b64_ephemeral.`,
        schema: mediaAnswerSchema,
      },
      202: {
        description: `The work has begun, as requested by Prefer: ${RESPOND_ASYNC}; the Location header has its address in the log`,
        schema: generationSchema,
        headers: { Location: "Address of the generation in the log", "Preference-Applied": RESPOND_ASYNC },
      },
    },
    handle: (request) => answerRequest(deps, bodies, asked, path, request),
  });
}

/** Accepts the same body as the request itself. */
function quoteRoute(deps: RestDeps, bodies: BodyRules, asked: RequestKind, path: string): RestRoute {
  return restRoute({
    method: "POST",
    path: path.replace("/v1/compat/", "/v1/quote/"),
    summary: "Cost of this request; the router reserves and sends nothing",
    access: normalKey,
    body: asked.schema,
    otherBodies: { [MULTIPART]: asked.form },
    bodyLimit: MAX_BODY_BYTES,
    responses: { 200: { description: "Price, or its upper limit", schema: quoteSchema } },
    handle: async ({ body, caller, http, reply }: RestRequest<MediaRequest, unknown, Principal>) => {
      refuseAmountNames(http.body as object);
      const allowance = allowanceOf(http, reply, bodies);
      const left = departureOf(reply);
      const incoming = { fields: body, sources: inputSources(body), allowance, left };
      const quote = () =>
        deps.memory.during(caller.accountId, () => quoteMedia(deps, asked, incoming, caller));
      return unlessLeft(left, reply, async () => quoteRecord(await allowance.during(quote)));
    },
  });
}

async function answerRequest(
  deps: RestDeps,
  bodies: BodyRules,
  asked: RequestKind,
  path: string,
  { body: fields, caller: principal, http, reply }: RestRequest<MediaRequest, unknown, Principal>,
): Promise<object> {
  const { accountId, keyId } = principal;
  refuseAmountNames(http.body as object);
  const sources = inputSources(fields);
  const work = { owner: accountId };
  const content = async function* () {
    yield canonicalText(asked, fields);
    yield* contentOf(sources, work);
  };
  const claim = await claimOf(http.headers, path, principal, content, work);
  const allowance = allowanceOf(http, reply, bodies);
  const parts = { fields, sources, allowance };
  const caller = { requestId: http.id, accountId, keyId, claim, maxCost: maxCostOf(http.headers) };
  if (prefersAsync(http.headers)) {
    const incoming = { ...parts, left: new AbortController().signal };
    const accepted = await acceptMedia(deps, asked, incoming, caller);
    return "answer" in accepted ? sendFinished(accepted, reply) : accept(deps, principal, accepted, reply);
  }
  const left = departureOf(reply);
  const waits = { ...caller, gone: () => reply.raw.destroyed, asynchronous: false };
  return deps.memory.during(accountId, () =>
    unlessLeft(left, reply, async () => {
      const finished = await allowance.during(() => generateMedia(deps, asked, { ...parts, left }, waits));
      return finished === undefined ? reply.hijack() : sendFinished(finished, reply);
    }),
  );
}

/** Returns a signal that aborts when the client disconnects. After the answer it has no effect. */
function departureOf({ raw }: FastifyReply): AbortSignal {
  const left = new AbortController();
  const leave = () => left.abort(new Error("the client has left"));
  if (raw.destroyed) leave();
  else raw.once("close", leave);
  return left.signal;
}

/** Sends no answer for a request that was aborted because its client disconnected. A defect is still thrown. */
async function unlessLeft(
  left: AbortSignal,
  reply: FastifyReply,
  answer: () => Promise<object>,
): Promise<object> {
  try {
    return await answer();
  } catch (error) {
    const isAborted = left.aborted && (error === left.reason || error instanceof ServiceError);
    if (!isAborted) throw error;
    return reply.hijack();
  }
}

/**
 * Sends an answer. A replayed answer names the earlier request, which has another id.
 * Resolves when the answer is sent.
 */
async function sendFinished({ answer, replayed }: FinishedAnswer, reply: FastifyReply): Promise<object> {
  if (replayed !== undefined) {
    reply.header("idempotency-replayed", "true").header("location", `${LOG_PATH}/${replayed}`);
  }
  return "pieces" in answer ? sendText(answer, reply) : answer;
}

async function accept(
  { generationLog, publicBaseUrl }: RestDeps,
  caller: Principal,
  { id, repeated }: Accepted,
  reply: FastifyReply,
): Promise<object> {
  const entry = generationAnswer(await readEntry(generationLog, caller, id), publicBaseUrl);
  reply.status(202).header("location", `${LOG_PATH}/${id}`).header("preference-applied", RESPOND_ASYNC);
  if (repeated) reply.header("idempotency-replayed", "true");
  return entry;
}
