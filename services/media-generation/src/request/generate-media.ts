// GenerateMedia runs one media request from its fields to its answer: an order at an exact price, the providers that
// may execute it, and the steps of a paid request in between.
import type { Billing, CatalogCopy, Claim } from "@gr/clients";
import { type AllowLists, requireAllowed } from "@gr/identity";
import { dependsOnInputPixels, isExact } from "@gr/models";
import type { Credits } from "@gr/money";
import {
  type Answered,
  type PaidRequests,
  type Producer,
  type Quoted,
  type Route,
  requireWithin,
} from "@gr/paid-request";
import type { Allowance, Clock } from "@gr/runtime";
import { answerFile } from "../answer/answer-files.ts";
import { imageEvents } from "../answer/image-events.ts";
import type { ImageStream } from "../answer/image-stream.ts";
import { type MediaAnswer, type MediaAnswerText, mediaAnswer } from "../answer/media-answer.ts";
import { type ReplayDeps, replayAnswer } from "../answer/replay-answer.ts";
import { callerError, NOT_SENT } from "../generation/caller-error.ts";
import type { GenerationEvents } from "../generation/events.ts";
import type { MediaKinds, MediaOrder, MediaProduct } from "../generation/generation.ts";
import type { MediaWork } from "../generation/media-work.ts";
import type { MemoryPlaces } from "../generation/memory-places.ts";
import type { CleanPicture } from "../inputs/clean-picture.ts";
import type { InputShare } from "../inputs/fetch-inputs.ts";
import type { InputSource } from "../inputs/input-sources.ts";
import type { Inputs, SeenPicture } from "../inputs/prepare-inputs.ts";
import type { JobKind, MediaProvider } from "../providers/provider.ts";
import { createMediaName } from "../storage/media-name.ts";
import { chooseRoutes, type Parameters } from "./choose-routes.ts";
import {
  createMediaOrder,
  pixelsOfImages,
  priceMediaOrder,
  type WantedMedia,
  withPartialImages,
} from "./media-order.ts";
import type { MediaRequest, RequestKind } from "./request-kind.ts";

export interface GenerateDeps extends ReplayDeps {
  readonly requests: PaidRequests<MediaKinds>;
  readonly work: MediaWork;
  readonly memory: MemoryPlaces;
  readonly catalog: CatalogCopy;
  readonly providers: ReadonlyMap<string, MediaProvider>;
  readonly events: GenerationEvents;
  readonly clock: Clock;
  readonly inputs: Inputs;
  readonly billing: Pick<Billing, "maySpend">;
  /** Milliseconds from the order to the deadline of its hold. */
  readonly holdForMs: Readonly<Record<JobKind, number>>;
}

export interface Caller {
  /** UUID; becomes the id of the hold and of the generation. */
  readonly requestId: string;
  readonly accountId: string;
  readonly keyId: string;
  /** Person of a web token. */
  readonly personId?: string | undefined;
  /** Claim of a request with an Idempotency-Key. */
  readonly claim: Claim | undefined;
  /** Models and providers that the key allows; undefined = all. */
  readonly allowed?: AllowLists | undefined;
  /** Limit for the cost of the request; undefined = no limit. */
  readonly maxCost: Credits | undefined;
  /** The client does not wait for the answer. */
  readonly asynchronous: boolean;
  /** Address that receives a webhook about the end. */
  readonly callbackUrl?: string | undefined;
  /** Returns true if no client waits for the answer any more. */
  gone(): boolean;
}

export interface FinishedAnswer {
  readonly answer: MediaAnswer | MediaAnswerText;
  /** Id of an earlier request with the same claim and answer: nothing was generated or charged now. */
  readonly replayed: string | undefined;
}

/** A request that is held and recorded, and runs in the background. */
export interface BegunMedia {
  readonly order: MediaOrder;
  /** Resolves when its charge is committed. Rejects with a ServiceError. */
  readonly served: Promise<Served>;
}

export interface Served {
  readonly product: MediaProduct;
  readonly charge: Credits;
}

/** Input from a client, with its fields checked. */
export interface Incoming {
  readonly fields: MediaRequest;
  readonly sources: readonly InputSource[];
  /** Allowance for the pictures' bytes. */
  readonly allowance: Allowance;
  /** Stream of a client that wants one; absent = it wants a plain answer. */
  readonly stream?: ImageStream | undefined;
  /** Aborts when the client has disconnected; never for a client that does not wait. */
  readonly left: AbortSignal;
}

/**
 * Time for pictures to arrive and be decoded during the hold, in milliseconds. The provider's time begins afterwards.
 */
const BRINGING_MS = 60_000;

/**
 * Resolves when the charge is committed, whether or not the client is still connected. The answer's memory is in use
 * until the answer is sent: the function's user must occupy the place in memory until then.
 * @returns undefined if the client disconnected before anything was sent. @throws ServiceError
 */
export async function generateMedia(
  deps: GenerateDeps,
  asked: RequestKind,
  incoming: Incoming,
  caller: Caller,
): Promise<FinishedAnswer | undefined> {
  const begun = await beginMedia(deps, asked, incoming, caller);
  if (begun === undefined || "answer" in begun) return begun;
  const { order, served } = begun;
  const { product, charge } = await served;
  const finished = { ...product, charge };
  const { stream } = incoming;
  const hasFiles = stream !== undefined || order.request.response_format !== "url";
  const wanted = hasFiles ? product.files : [];
  const files = await Promise.all(wanted.map((file) => answerFile(deps.storage, file)));
  const answer =
    stream === undefined
      ? mediaAnswer(order, finished, files, deps.publicBaseUrl)
      : imageEvents(stream.name, order, finished, files, deps.publicBaseUrl);
  return { answer, replayed: undefined };
}

/**
 * Runs the first half of `generateMedia`: resolves when the request is certain to be worked on.
 * @returns the answer of an earlier request with the same claim; undefined if the client has
 * disconnected. @throws ServiceError
 */
export async function beginMedia(
  deps: GenerateDeps,
  asked: RequestKind,
  incoming: Incoming,
  caller: Caller,
): Promise<BegunMedia | FinishedAnswer | undefined> {
  const replay = async (id: string) => ({
    answer: await replayAnswer(deps, caller.accountId, id, incoming.stream?.name),
    replayed: id,
  });
  const ready = await deps.requests.prepareOrFindEarlier(caller, () =>
    prepare(deps, asked, incoming, caller),
  );
  if ("earlier" in ready) return replay(ready.earlier);
  const { order, producer } = ready.prepared;
  const begun = await deps.requests.begin(order, producer, () => caller.gone());
  if (begun.kind === "left") return undefined;
  if (begun.kind === "earlier") return replay(begun.id);
  return { order, served: followMedia(deps, order, begun.served) };
}

async function followMedia(
  { events, clock }: GenerateDeps,
  order: MediaOrder,
  served: Promise<Answered<MediaKinds>>,
): Promise<Served> {
  const { bill, product } = await served;
  const { route, providerMs } = product;
  events.succeeded(order, route, bill, { totalMs: clock.now() - order.createdAt, providerMs });
  return { product, charge: bill.charge };
}

/**
 * Returns the exact or largest cost of a request. Nothing is held or sent, and pictures are read
 * only as far as the price needs.
 * @throws ServiceError for each refusal of the request itself before its pictures are decoded
 */
export async function quoteMedia(
  { catalog, providers, events, inputs, requests: { losses } }: GenerateDeps,
  asked: RequestKind,
  { fields, sources, allowance, left: signal }: Incoming,
  { accountId: owner, allowed }: Pick<Caller, "accountId" | "allowed">,
): Promise<Quoted> {
  const model = requireAllowed(allowed, catalog.require(fields.model));
  const plain = createMediaOrder(asked, fields, sources, model);
  const isClosed = (route: Route) => losses.isClosed(route, owner);
  const routes = chooseRoutes(asked.kind, model, parametersOf(plain), providers, events, isClosed);
  const wanted = withPartialImages(plain, fields, routes);
  const { id, price } = model;
  const urls = dependsOnInputPixels(price) ? "headers" : "unread";
  const seen = await inputs.look(sources, urls, { owner, allowance, signal });
  const { charge, priceVersion } = priceMediaOrder(asked, wanted, pixelsOfSeen(seen));
  return { model: id, credits: charge, isExact: price !== undefined && isExact(price), priceVersion };
}

function parametersOf({ shape: { size, quality, seconds, audio } }: WantedMedia): Parameters {
  return { size, quality, seconds, audio };
}

/** Pixels of each image; 0 for an unread one, if the price does not depend on pixels. */
function pixelsOfSeen(seen: readonly SeenPicture[]): number[] {
  return seen.flatMap(({ source, pixels }) => (source.role === "image" ? [pixels ?? 0] : []));
}

/**
 * Reads pictures after all other checks, and decodes them during the hold. If the price depends on the pixels of a
 * URL, the picture is needed before the hold. It is then fetched only for a client that could pay for some request.
 */
async function lookAtInputs(
  { inputs, billing }: GenerateDeps,
  { sources }: Incoming,
  { accountId, keyId: spenderId, personId, claim }: Caller,
  { model }: WantedMedia,
  share: InputShare,
): Promise<readonly SeenPicture[]> {
  const priced = dependsOnInputPixels(model.price);
  if (priced && sources.some(({ kind, role }) => kind === "url" && role === "image")) {
    await billing.maySpend({ accountId, spenderId, personId, claimKey: claim?.key });
  }
  return inputs.look(sources, priced ? "whole" : "unread", share);
}

/** @throws ServiceError that names the field at fault */
async function prepare(
  deps: GenerateDeps,
  asked: RequestKind,
  incoming: Incoming,
  caller: Caller,
): Promise<{ order: MediaOrder; producer: Producer<MediaKinds> }> {
  const { requests, catalog, providers, events, clock, work, inputs, holdForMs } = deps;
  const { fields, sources, allowance, left: signal } = incoming;
  const { requestId, accountId, keyId, personId, claim, maxCost, asynchronous, callbackUrl, allowed } =
    caller;
  const createdAt = clock.now();
  const model = requireAllowed(allowed, catalog.require(fields.model));
  const plain = createMediaOrder(asked, fields, sources, model);
  const isClosed = (route: Route) => requests.losses.isClosed(route, accountId);
  const routes = chooseRoutes(asked.kind, model, parametersOf(plain), providers, events, isClosed);
  const wanted = withPartialImages(plain, fields, routes);
  const { prompt, count, format } = wanted;
  const share = { owner: accountId, allowance, signal };
  const seen = await lookAtInputs(deps, incoming, caller, wanted, share);
  const pixels = pixelsOfSeen(seen);
  const { shape, price, charge, priceVersion } = priceMediaOrder(asked, wanted, pixels);
  requireWithin(charge, maxCost);
  const kept = wanted.responseFormat !== "b64_ephemeral";
  const order: MediaOrder = {
    id: requestId,
    accountId,
    keyId,
    personId,
    claim,
    kind: asked.kind,
    model: wanted.model.id,
    priceVersion,
    price,
    rule: wanted.model.price,
    credits: charge,
    request: {
      ...(kept ? { prompt } : {}),
      n: count,
      ...shape,
      output_format: format,
      response_format: wanted.responseFormat,
    },
    outputs: kept ? Array.from({ length: count }, () => createMediaName(format)) : [],
    asynchronous,
    callbackUrl,
    // The number of jobs depends on the provider, and a resuming process does not have it.
    hasSeveralBills: count > 1,
    createdAt,
    attempts: [],
    deadlineAt: clock.now() + holdForMs[asked.kind] + (sources.length === 0 ? 0 : BRINGING_MS),
  };
  const job = { prompt, inputs: [] as readonly CleanPicture[] };
  const producer = work.producer(order, job, routes, incoming.stream);
  if (seen.length === 0) return { order, producer };
  const prepareInputs = async (stopping: AbortSignal) => {
    job.inputs = await prepareBeforeStop(inputs, seen, share, stopping);
    // The order shares this list and is recorded later, so pixels that the price did not need are now included.
    pixels.splice(0, pixels.length, ...pixelsOfImages(job.inputs));
  };
  return { order, producer: { ...producer, prepare: prepareInputs } };
}

async function prepareBeforeStop(
  inputs: Inputs,
  seen: readonly SeenPicture[],
  share: InputShare,
  stopping: AbortSignal,
): Promise<readonly CleanPicture[]> {
  try {
    return await inputs.prepare(seen, { ...share, signal: AbortSignal.any([share.signal, stopping]) });
  } catch (error) {
    throw stopping.aborted ? callerError(NOT_SENT, "the process stops", { cause: error }) : error;
  }
}
