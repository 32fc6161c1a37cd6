// `carryOut` runs a request like media generation, from its fields to its charge and its booking, with the production
// code. The surroundings are absent: no hold, no database, no files.
import {
  type CleanPicture,
  chooseRoutes,
  createMediaOrder,
  type GenerationEvents,
  imageRequests,
  type MediaOrder,
  type MediaProvider,
  MediaWork,
  MemoryPlaces,
  mp4Of,
  pixelsOfImages,
  priceMediaOrder,
  videoRequests,
  withPartialImages,
} from "@gr/media-generation/simulated";
import type { Credits, PicoUsd } from "@gr/money";
import { type Model, ModelKind } from "@gr/proto/catalog";
import type { Timer } from "@gr/runtime";

export interface Charged {
  /** Credits of the hold: the list price, or the bound of a price by use. */
  readonly held: Credits;
  readonly charge: Credits;
  /** Cost that is booked as ours. */
  readonly cost: PicoUsd;
}

/** Milliseconds above any pause between polls. */
const LIMIT_MS = 60_000;

/** Timer without pauses and without effective limits. */
const hurried: Timer = {
  now: () => 0,
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (ms < LIMIT_MS) setImmediate(resolve);
      else signal?.addEventListener("abort", () => resolve(), { once: true });
    }),
};

const nobody = () => undefined;
const events: GenerationEvents = {
  notCovered: nobody,
  routeClosed: nobody,
  billLookedUp: nobody,
  billMetered: nobody,
  fellBack: nobody,
  notCaptured: nobody,
  notBooked: nobody,
  resolved: nobody,
  lateBill: nobody,
  roundFailed: nobody,
  succeeded: nobody,
  failed: nobody,
  partFailed: nobody,
  routeReopened: nobody,
  accountRefused: nobody,
  outcomeUnknown: nobody,
  noProvider: nobody,
  partialNotSent: nobody,
  notStored: nobody,
  notDiscarded: nobody,
  notLookedUp: nobody,
  replayed: nobody,
  resumed: nobody,
  endedUnanswered: nobody,
  contentRemoved: nobody,
};

/** @throws ServiceError if the request is refused, Error if its provider does not serve it */
export async function carryOut(
  id: string,
  model: Model,
  fields: object,
  pictures: readonly CleanPicture[],
  provider: MediaProvider,
): Promise<Charged> {
  const asked = model.kind === ModelKind.VIDEO ? videoRequests : imageRequests;
  const request = asked.schema.parse({ model: model.id, ...fields });
  const plain = createMediaOrder(asked, request, pictures, model);
  const { size, quality, seconds, audio } = plain.shape;
  const providers = new Map([[provider.name, provider]]);
  const routes = chooseRoutes(
    asked.kind,
    model,
    { size, quality, seconds, audio },
    providers,
    events,
    () => false,
  );
  const wanted = withPartialImages(plain, request, routes);
  const priced = priceMediaOrder(asked, wanted, pixelsOfImages(pictures));
  const { count, format } = wanted;
  const order: MediaOrder = {
    id,
    accountId: "account",
    keyId: "key",
    claim: undefined,
    kind: asked.kind,
    model: model.id,
    priceVersion: priced.priceVersion,
    rule: model.price,
    price: priced.price,
    credits: priced.charge,
    request: { n: count, ...priced.shape, output_format: format, response_format: wanted.responseFormat },
    outputs: Array.from({ length: count }, (_, index) => `${id}-${index}`),
    asynchronous: false,
    attempts: [],
    createdAt: 0,
    deadlineAt: 2 * LIMIT_MS,
  };
  const producer = workOf(model, providers).producer(
    order,
    { prompt: wanted.prompt, inputs: pictures },
    routes,
    { wants: () => true, send: () => undefined },
  );
  const { signal } = new AbortController();
  const { charge: held } = priced;
  const context = { number: 1, signal, held, extend: async () => ({ held }) };
  const end = await producer.attempt(routes[0], context);
  if (end.kind !== "delivered") throw new Error(`${end.kind}: ${end.message}`);
  if (end.bill === undefined) throw new Error("nobody knows what it costs us");
  return { held, ...end.bill };
}

async function* one(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

function workOf(model: Model, providers: ReadonlyMap<string, MediaProvider>): MediaWork {
  const catalog = { find: () => model };
  const video = mp4Of();
  return new MediaWork({
    store: { saveOperations: async () => true },
    storage: {
      put: async () => undefined,
      size: async () => undefined,
      read: () => {
        throw new Error("nothing is stored here");
      },
      delete: async () => undefined,
      sweep: async () => undefined,
      check: async () => undefined,
    },
    catalog,
    providers,
    read: (_artifact, _most, _signal, use) => use(one(video)),
    memory: new MemoryPlaces(1),
    convert: async (bytes, format) => ({ bytes, format, width: 1, height: 1 }),
    events,
    clock: hurried,
    limits: {
      timeoutMs: { image: 2 * LIMIT_MS, video: 2 * LIMIT_MS },
      mostVideoBytes: video.length,
      mostBase64Bytes: video.length,
    },
    graceMs: 0,
  });
}
