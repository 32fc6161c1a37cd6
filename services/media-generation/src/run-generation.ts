// The provider's part of a generation: its job is run within the time that the hold leaves, and every failure of the
// provider ends or hands over the generation before it is reported.
import type { MediaGenerationConfig } from "./config.ts";
import { endInFailure, type RunningGeneration } from "./end-generation.ts";
import type { NewGeneration } from "./generation/generation.ts";
import { runJob, type Succeeded } from "./generation/run-job.ts";
import type { GenerationDeps } from "./generation-deps.ts";
import type { Progress } from "./providers/provider.ts";
import { ProviderError } from "./providers/provider-error.ts";

/** @param first submits the job, or finds it where another process left it. @throws ServiceError */
export async function runGeneration(
  deps: GenerationDeps,
  running: RunningGeneration,
  first: (signal: AbortSignal) => Promise<Progress>,
): Promise<Succeeded> {
  const { generation, provider } = running;
  const left = workEndsAt(deps.config, generation) - deps.clock.now();
  const timeout = AbortSignal.timeout(Math.max(1, Math.min(left, deps.config.MEDIA_TIMEOUT_MS)));
  const signal = AbortSignal.any([timeout, deps.leases.stopping]);
  try {
    return await runJob(
      { provider, signal, saveOperation: (operation) => deps.store.saveOperation(generation.id, operation) },
      () => first(signal),
    );
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    throw await endInFailure(deps, running, error);
  }
}

/** The hold's deadline leaves the grace for a bill that comes late; the work must be over before it. Unix milliseconds. */
export function workEndsAt(
  { HOLD_GRACE_MS }: Pick<MediaGenerationConfig, "HOLD_GRACE_MS">,
  { deadlineAt }: Pick<NewGeneration, "deadlineAt">,
): number {
  return deadlineAt - HOLD_GRACE_MS;
}
