// One image request from its fields to its answer: an order at an exact price, the providers that may carry it out, and
// the life of a paid request in between.
import type { CatalogCopy, Claim } from "@gr/clients";
import type { PaidRequests, Producer } from "@gr/paid-request";
import type { Clock } from "@gr/runtime";
import { type ImageAnswer, imageAnswer } from "../answer/image-answer.ts";
import { type ReplayDeps, replayAnswer } from "../answer/replay-answer.ts";
import type { GenerationEvents } from "../generation/events.ts";
import type { MediaKinds, MediaOrder } from "../generation/generation.ts";
import type { MediaWork } from "../generation/media-work.ts";
import type { MediaProvider } from "../providers/provider.ts";
import { makeMediaName } from "../storage/media-name.ts";
import { chooseRoutes } from "./choose-routes.ts";
import { makeImageOrder } from "./image-order.ts";
import type { ImageRequest } from "./image-request.ts";

export interface GenerateDeps extends ReplayDeps {
  readonly requests: PaidRequests<MediaKinds>;
  readonly work: MediaWork;
  readonly catalog: CatalogCopy;
  readonly providers: ReadonlyMap<string, MediaProvider>;
  readonly events: GenerationEvents;
  readonly clock: Clock;
  /** From the order to the deadline of its hold, in milliseconds. */
  readonly holdForMs: number;
}

export interface Caller {
  /** UUID; becomes the id of the hold and of the generation. */
  readonly requestId: string;
  readonly accountId: string;
  readonly keyId: string;
  /** Of a request with an Idempotency-Key. */
  readonly claim: Claim | undefined;
  /** Whether nobody waits for the answer any more. */
  gone(): boolean;
}

export interface GivenAnswer {
  readonly answer: ImageAnswer;
  /** Of an earlier request with the same claim: nothing was made or charged now. */
  readonly replayed: boolean;
}

/**
 * Resolves when the charge is committed, whether the caller still listens or not.
 * @returns undefined when the caller left before anything was sent. @throws ServiceError
 */
export async function generateImages(
  deps: GenerateDeps,
  request: ImageRequest,
  caller: Caller,
): Promise<GivenAnswer | undefined> {
  const replay = async (id: string) => ({
    answer: await replayAnswer(deps, caller.accountId, id),
    replayed: true,
  });
  const asked = await deps.requests.prepareOrFindEarlier(caller, () => prepare(deps, request, caller));
  if ("earlier" in asked) return replay(asked.earlier);
  const { order, producer } = asked.prepared;
  const served = await deps.requests.serve(order, producer, () => caller.gone());
  if (served.kind === "left") return undefined;
  if (served.kind === "earlier") return replay(served.id);
  const { bill, product } = served;
  deps.events.succeeded(order, product.route, bill, (deps.clock.now() - order.createdAt) / 1_000);
  const ended = { ...product, charge: bill.charge };
  const pictures = product.files.map(({ bytes }) => bytes);
  return { answer: imageAnswer(order, ended, pictures, deps.publicBaseUrl), replayed: false };
}

/** @throws ServiceError that names the field at fault */
function prepare(
  { catalog, providers, events, clock, work, holdForMs }: GenerateDeps,
  request: ImageRequest,
  { requestId, accountId, keyId, claim }: Caller,
): { order: MediaOrder; producer: Producer<MediaKinds> } {
  const wanted = makeImageOrder(request, catalog.find(request.model));
  const { size, quality } = wanted;
  const routes = chooseRoutes("image", wanted.model, { size, quality }, providers, events);
  const kept = wanted.responseFormat !== "b64_ephemeral";
  const { prompt, count, outputFormat } = wanted;
  const sized = { ...(size === undefined ? {} : { size }), ...(quality === undefined ? {} : { quality }) };
  const createdAt = clock.now();
  const order: MediaOrder = {
    id: requestId,
    accountId,
    keyId,
    claim,
    kind: "image",
    model: wanted.model.id,
    priceVersion: wanted.priceVersion,
    price: wanted.price,
    credits: wanted.charge,
    request: {
      ...(kept ? { prompt } : {}),
      n: count,
      ...sized,
      output_format: outputFormat,
      response_format: wanted.responseFormat,
    },
    outputs: kept ? Array.from({ length: count }, () => makeMediaName(outputFormat)) : [],
    createdAt,
    deadlineAt: createdAt + holdForMs,
  };
  return { order, producer: work.producer(order, { prompt, inputs: [] }, routes) };
}
