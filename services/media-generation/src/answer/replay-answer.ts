// The answer of an earlier request, for whoever repeats it under its Idempotency-Key: read from its row and its files.
// Nothing is made, held or charged.
import { buffer } from "node:stream/consumers";
import { ServiceError } from "@gr/proto";
import type { GenerationDeps } from "../generation-deps.ts";
import { type ImageAnswer, imageAnswer } from "./image-answer.ts";

/** @param id of a request that billing has charged. @throws ServiceError idempotency_not_replayable */
export async function replayAnswer(
  deps: GenerationDeps,
  accountId: string,
  id: string,
): Promise<ImageAnswer> {
  const generation = await deps.store.find(id);
  const ended = generation?.ending;
  if (generation?.accountId !== accountId || ended?.state !== "succeeded") throw notKept("is not in the log");
  const { request, outputs } = generation;
  if (request.response_format === "b64_ephemeral") {
    throw notKept("was not kept, as response_format b64_ephemeral asks");
  }
  const sizes = await Promise.all(outputs.map((name) => deps.storage.size(name)));
  if (sizes.includes(undefined)) throw notKept("was deleted since");
  const pictures = request.response_format === "url" ? [] : await readFiles(deps, outputs);
  deps.events.replayed(generation);
  return imageAnswer(deps.config, generation, ended, pictures);
}

function readFiles({ storage }: GenerationDeps, names: readonly string[]): Promise<Buffer[]> {
  return Promise.all(names.map((name) => buffer(storage.read(name))));
}

function notKept(why: string): ServiceError {
  const message = `The request with this Idempotency-Key was carried out and charged once, but its result ${why}.`;
  return new ServiceError("idempotency_not_replayable", message, { param: "Idempotency-Key" });
}
