// The ends of a running generation: files hosted and the charge captured, or a failure recorded and the hold released,
// or the outcome left open for the resolver. Settles before it returns; on every path the row decides first.
import { ServiceError } from "@gr/proto";
import { callerError } from "./generation/caller-error.ts";
import type { Ended, Ending, NewGeneration } from "./generation/generation.ts";
import type { Succeeded } from "./generation/run-job.ts";
import { type Costing, costOfFailure, trueCost } from "./generation/true-cost.ts";
import type { GenerationDeps } from "./generation-deps.ts";
import type { MediaProvider } from "./providers/provider.ts";
import { ProviderError } from "./providers/provider-error.ts";
import { settle } from "./settle.ts";
import { type ImageFile, InvalidImageError } from "./storage/image-file.ts";

export interface RunningGeneration {
  readonly generation: NewGeneration;
  readonly costing: Costing;
  readonly provider: MediaProvider;
}

/** Converts, hosts, charges. @throws ServiceError, when it has ended in another way */
export async function endInSuccess(
  deps: GenerationDeps,
  running: RunningGeneration,
  { outputs, usage }: Succeeded,
): Promise<{ files: ImageFile[]; ended: Ended }> {
  const { generation, costing } = running;
  const cost = trueCost(usage, costing);
  let files: ImageFile[];
  try {
    const format = generation.request.output_format;
    files = await Promise.all(outputs.map(({ bytes }) => deps.convert(bytes, format)));
    await Promise.all(
      generation.outputs.map((name, index) => deps.storage.put(name, files[index]?.bytes ?? Buffer.alloc(0))),
    );
  } catch (error) {
    // The provider has done its part and will bill it.
    if (error instanceof InvalidImageError) {
      const options = { accepted: true, usage: { billed: cost }, cause: error };
      throw await endInFailure(deps, running, new ProviderError("failed", error.message, options));
    }
    deps.events.notStored(generation, error);
    await recordFailure(deps, generation, {
      cost,
      kind: "not_stored",
      message: "the media could not be stored",
    });
    throw error;
  }
  const ending: Ending = {
    state: "succeeded",
    charge: generation.hold,
    cost,
    errorKind: null,
    errorMessage: null,
  };
  const times = await deps.store.finish(generation.id, ending);
  if (times === undefined) {
    await discardUnlessPaid(deps, generation);
    throw unknownOutcome("This request was taken over by another process while the image was made.");
  }
  const charged = await settle(deps, generation.id, ending).catch((error) => {
    deps.events.notSettled(generation.id, error);
    throw unknownOutcome("The image was made, but could not be charged for yet; it will be.", error);
  });
  if (!charged) throw unknownOutcome("The image was made too late to be charged for, so it is withheld.");
  return { files, ended: { ...ending, ...times } };
}

/** Records the failure and frees the hold, or leaves both to the resolver. @returns what the caller is told */
export async function endInFailure(
  deps: GenerationDeps,
  { generation, costing, provider }: RunningGeneration,
  error: ProviderError,
): Promise<ServiceError> {
  const { kind, message } = error;
  const lost = kind === "timeout" || kind === "unknown_outcome";
  const unbilled = error.accepted && error.usage === undefined;
  if (lost || (kind === "failed" && unbilled && provider.lookUp !== undefined)) {
    deps.events.outcomeUnknown(generation, error);
    // Should this fail, the lease runs out and the row is found all the same.
    const marked = await deps.store.markUnknown(generation.id, kind, message).catch((storeError) => {
      deps.events.notSettled(generation.id, storeError);
      return false;
    });
    // Whoever has the row by now may go on with its job, and charge for it.
    if (!marked)
      return unknownOutcome("Nobody knows yet what became of this request; it may be charged.", error);
  } else {
    deps.events.failed(generation, error);
    await recordFailure(deps, generation, { cost: costOfFailure(error.usage, costing), kind, message });
  }
  return callerError(error);
}

/** Never rejects: the caller has an error to report already, and the resolver repeats what did not work. */
async function recordFailure(
  deps: GenerationDeps,
  generation: NewGeneration,
  { cost, kind, message }: { cost: bigint; kind: string; message: string },
): Promise<void> {
  const state = kind === "blocked" ? "blocked" : "failed";
  const ending: Ending = { state, charge: 0n, cost, errorKind: kind, errorMessage: message };
  try {
    if ((await deps.store.finish(generation.id, ending)) === undefined) return;
    await settle(deps, generation.id, ending);
    await discardOutputs(deps, generation);
  } catch (error) {
    deps.events.notSettled(generation.id, error);
  }
}

/** Removes files that nobody has paid for. */
export async function discardOutputs(
  { storage }: Pick<GenerationDeps, "storage">,
  { outputs }: Pick<NewGeneration, "outputs">,
): Promise<void> {
  await Promise.all(outputs.map((name) => storage.delete(name)));
}

/** Another process has ended it, or is about to: the files are either its success, or nobody's. */
async function discardUnlessPaid(deps: GenerationDeps, generation: NewGeneration): Promise<void> {
  try {
    const state = (await deps.store.find(generation.id))?.state;
    if (state === "failed" || state === "blocked") await discardOutputs(deps, generation);
  } catch (error) {
    deps.events.notStored(generation, error);
  }
}

function unknownOutcome(message: string, cause?: unknown): ServiceError {
  return new ServiceError("outcome_unknown", message, { cause });
}
