// Replays the answer of an earlier request with the same Idempotency-Key, from its row and its files.
// Nothing is generated, held or charged.
import { notReplayable } from "@gr/paid-request";
import type { GenerationEvents } from "../generation/events.ts";
import type { GenerationStore } from "../generation/store.ts";
import type { MediaStorage } from "../storage/media-storage.ts";
import { type ImageEventName, imageEvents } from "./image-events.ts";
import { type MediaAnswer, type MediaAnswerText, mediaAnswer } from "./media-answer.ts";

export interface ReplayDeps {
  readonly store: Pick<GenerationStore, "find">;
  readonly storage: Pick<MediaStorage, "size" | "read">;
  readonly events: Pick<GenerationEvents, "replayed">;
  readonly publicBaseUrl: string;
}

/**
 * @param id of a request that billing has charged. @param events name of the events of a client that wants a stream
 * @throws ServiceError idempotency_not_replayable
 */
export async function replayAnswer(
  { store, storage, events: log, publicBaseUrl }: ReplayDeps,
  accountId: string,
  id: string,
  events: ImageEventName | undefined,
): Promise<MediaAnswer | MediaAnswerText> {
  const generation = await store.find(id);
  const ended = generation?.ended;
  if (generation?.order.accountId !== accountId || ended?.ending.kind !== "captured") {
    throw notReplayable("is not in the log");
  }
  const { request, outputs } = generation.order;
  if (request.response_format === "b64_ephemeral") {
    throw notReplayable("was not kept, as response_format b64_ephemeral asks");
  }
  const files = await Promise.all(
    outputs.map(async (name) => {
      const size = await storage.size(name);
      if (size === undefined) throw notReplayable("was deleted since");
      return { size, read: () => storage.read(name) };
    }),
  );
  log.replayed(generation.order);
  const { finishedAt, ending } = ended;
  const finished = { charge: ending.bill.charge, finishedAt, outputs, tokens: generation.tokens };
  return events === undefined
    ? mediaAnswer(generation.order, finished, files, publicBaseUrl)
    : imageEvents(events, generation.order, finished, files, publicBaseUrl);
}
