// The public routes of media generation: image and video requests, their log, and the hosted media.
import { explainedRecord } from "@gr/clients";
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
import { generationRecord } from "@gr/request-record";
import {
  allowanceOf,
  type BodyRules,
  type FormRules,
  type RestApi,
  type RestRequest,
  type RestRoute,
  restRoute,
} from "@gr/runtime";
import type { FastifyReply } from "fastify";
import { DESCRIBED_EVENTS, type ImageEventName } from "./answer/image-events.ts";
import { ImageStream } from "./answer/image-stream.ts";
import { mediaAnswerSchema } from "./answer/media-answer.ts";
import { sendText } from "./answer/send-text.ts";
import type { GenerationEvents } from "./generation/events.ts";
import type { MediaWork } from "./generation/media-work.ts";
import { contentOf, INPUT_FIELDS, inputSources, MAX_PICTURE_BYTES } from "./inputs/input-sources.ts";
import { messageOf } from "./log/log-message.ts";
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
import { VIDEOS_PATH, videoJobs } from "./request/video-job.ts";
import { videoRequests } from "./request/video-request.ts";
import { mediaRoute } from "./storage/media-routes.ts";
import type { MediaStorage } from "./storage/media-storage.ts";
import { videoOf, videoSchema } from "./videos/video-object.ts";
import { videoRoutes } from "./videos/video-routes.ts";
import { accountRoutes } from "./webhooks/account-routes.ts";
import type { Callbacks } from "./webhooks/callbacks.ts";
import { type DeliveryRouteDeps, deliveryRoutes } from "./webhooks/delivery-routes.ts";
import type { ReceiverStore } from "./webhooks/receiver-store.ts";

/** Size limit of a JSON body, in bytes. */
const MAX_BODY_BYTES = 50 * 1024 * 1024;

/** Pause before a look at a running generation. */
const LOOK_AFTER_SECONDS = { image: "2", video: "5" } as const;

export interface RestDeps extends Omit<AcceptDeps, "callbacks">, LogDeps, DeliveryRouteDeps {
  readonly callbacks: Callbacks;
  readonly receivers: ReceiverStore;
  readonly storage: MediaStorage;
  readonly events: GenerationEvents;
  readonly work: MediaWork;
  readonly generationLog: LogStore;
  readonly maxFormBytes: number;
  /** Size limit of all requests in work together, in bytes. */
  readonly maxInputBytes: number;
}

export function mediaGenerationRest(deps: RestDeps): RestApi {
  const { billing, maxInputBytes } = deps;
  const bodies = rulesOfPaidBodies({
    billing,
    spenderOf: ({ principal }) => normalKey(principal),
    mostBytes: maxInputBytes,
  });
  const generations = [imageRequests, videoRequests].flatMap((asked) =>
    asked.paths.map((path) => generationRoute(deps, bodies, asked, path)),
  );
  const quotes = [imageRequests, videoRequests, videoJobs].flatMap((asked) =>
    asked.paths.map((path) => quoteRoute(deps, bodies, asked, path)),
  );
  const videos = [videoJobRoute(deps, bodies), ...videoRoutes(deps)];
  return {
    bodies,
    routes: [
      ...[...generations, ...quotes, ...videos],
      ...[...logRoutes(deps), ...deliveryRoutes(deps), ...accountRoutes(deps), mediaRoute(deps.storage)],
    ],
  };
}

function generationRoute(deps: RestDeps, bodies: BodyRules, asked: RequestKind, path: string): RestRoute {
  const { summary, schema, things } = asked;
  return restRoute({
    method: "POST",
    path,
    summary,
    access: normalKey,
    body: schema,
    form: formRules(deps, asked),
    bodyLimit: MAX_BODY_BYTES,
    headers: { Prefer: `${RESPOND_ASYNC}: answer 202 as soon as the router has accepted the work` },
    responses: {
      200: {
        description:
          `The ${things}, paid for. The x-request-id of the answer is the id of the generation: GET ${LOG_PATH}/{id} ` +
          `has the URLs of its files, for every response_format but b64_ephemeral.`,
        schema: mediaAnswerSchema,
        ...(asked.kind === "image" ? { others: DESCRIBED_EVENTS } : {}),
      },
      202: {
        description: `The work has begun, as requested by Prefer: ${RESPOND_ASYNC}; the Location header has its address in the log`,
        schema: generationRecord,
        headers: {
          Location: "Address of the generation in the log",
          "Retry-After": "Seconds after which a look at it is worth the request",
          "Preference-Applied": RESPOND_ASYNC,
        },
      },
    },
    handle: (request) => answerRequest(deps, bodies, asked, path, request),
  });
}

function formRules({ maxFormBytes }: RestDeps, { form }: RequestKind): FormRules {
  return { schema: form, maxBytes: maxFormBytes, maxFileBytes: MAX_PICTURE_BYTES, fileFields: INPUT_FIELDS };
}

/** Never waits for the video: the answer is the job, or the job of an earlier request with the same Idempotency-Key. */
function videoJobRoute(deps: RestDeps, bodies: BodyRules): RestRoute {
  const { summary, schema } = videoJobs;
  return restRoute({
    method: "POST",
    path: VIDEOS_PATH,
    summary,
    access: normalKey,
    body: schema,
    form: formRules(deps, videoJobs),
    bodyLimit: MAX_BODY_BYTES,
    responses: {
      200: { description: "The finished job of an earlier request with the same key", schema: videoSchema },
      202: {
        description: `The job is held and recorded; its id is also that of its entry at ${LOG_PATH}/{id}`,
        schema: videoSchema,
        headers: { Location: "Where the state of the job is found" },
      },
    },
    handle: async (request: RestRequest<MediaRequest, unknown, Principal>) => {
      const { caller, reply } = request;
      const { parts, sender } = await readRequest(bodies, videoJobs, VIDEOS_PATH, request);
      const accepted = await acceptMedia(deps, videoJobs, { ...parts, left: NEVER }, sender);
      const [id, replayed, status] =
        "answer" in accepted ? [accepted.replayed, true, 200] : [accepted.id, accepted.repeated, 202];
      const entry = await readEntry(deps.generationLog, caller, id ?? sender.requestId);
      reply.status(status).header("location", `${VIDEOS_PATH}/${entry.id}`);
      if (replayed) reply.header("idempotency-replayed", "true");
      return videoOf(entry, deps.publicBaseUrl);
    },
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
    form: formRules(deps, asked),
    bodyLimit: MAX_BODY_BYTES,
    // A parameter, so that openapi-python-client imports all names for an operation with two kinds of bodies.
    headers: { "x-max-cost": "Of the request itself; without effect on its quote" },
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
  request: RestRequest<MediaRequest, unknown, Principal>,
): Promise<object> {
  const { caller: principal, http, reply } = request;
  const { parts, sender } = await readRequest(bodies, asked, path, request);
  if (prefersAsync(http.headers)) {
    // Nobody reads a stream.
    const fields = { ...parts.fields, stream: false };
    const accepted = await acceptMedia(deps, asked, { ...parts, fields, left: NEVER }, sender);
    return "answer" in accepted ? sendFinished(accepted, reply) : accept(deps, principal, accepted, reply);
  }
  refuseCallback(parts.fields);
  const left = departureOf(reply);
  const waits = { ...sender, gone: () => reply.raw.destroyed, asynchronous: false };
  return deps.memory.during(principal.accountId, () =>
    unlessLeft(left, reply, async () => {
      const stream =
        parts.fields.stream === true ? new ImageStream(eventsOf(path), reply, deps.clock) : undefined;
      const incoming = { ...parts, left, stream };
      try {
        const finished = await parts.allowance.during(() => generateMedia(deps, asked, incoming, waits));
        if (finished === undefined) return reply.hijack();
        const { answer } = finished;
        return stream?.begun && "pieces" in answer ? stream.finish(answer) : sendFinished(finished, reply);
      } catch (error) {
        if (!stream?.begun) throw error;
        return stream.fail(error);
      }
    }),
  );
}

/** @throws ServiceError for a client that waits, and names an address for the answer all the same */
function refuseCallback({ callback_url: callback }: MediaRequest): void {
  if (callback == null) return;
  const message = `A webhook goes with Prefer: ${RESPOND_ASYNC} only: without it the answer of this request has the result.`;
  throw new ServiceError("invalid_value", message, { param: "callback_url" });
}

/** Signal of a client that does not wait. */
const NEVER = new AbortController().signal;

/** Reads the parts of a request, its sender, and its claim. @throws ServiceError that names the field at fault */
async function readRequest(
  bodies: BodyRules,
  asked: RequestKind,
  path: string,
  { body, caller: principal, http, reply }: RestRequest<MediaRequest, unknown, Principal>,
) {
  const { accountId, keyId, personId, responseFormat, allowed } = principal;
  const fields = { ...body, response_format: body.response_format ?? responseFormat ?? "url" };
  refuseAmountNames(http.body as object);
  const sources = inputSources(fields);
  const work = { owner: accountId };
  const content = async function* () {
    yield canonicalText(asked, fields);
    yield* contentOf(sources, work);
  };
  const claim = await claimOf(http.headers, path, principal, content, work);
  const parts = { fields, sources, allowance: allowanceOf(http, reply, bodies) };
  const owner = { accountId, keyId, personId };
  const sender = { requestId: http.id, ...owner, claim, allowed, maxCost: maxCostOf(http.headers) };
  return { parts, sender };
}

function eventsOf(path: string): ImageEventName {
  return path.endsWith("/edits") ? "image_edit" : "image_generation";
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
  { generationLog, publicBaseUrl, prices }: RestDeps,
  caller: Principal,
  { id, repeated }: Accepted,
  reply: FastifyReply,
): Promise<object> {
  const entry = await readEntry(generationLog, caller, id);
  reply
    .status(202)
    .header("location", `${LOG_PATH}/${id}`)
    .header("retry-after", LOOK_AFTER_SECONDS[entry.kind])
    .header("preference-applied", RESPOND_ASYNC);
  if (repeated) reply.header("idempotency-replayed", "true");
  return explainedRecord(messageOf(entry, publicBaseUrl), prices);
}
