// Drives one job of a provider to its end: submit, then poll for as long as the signal allows.
import { setTimeout as sleep } from "node:timers/promises";
import type { MediaProvider, Operation, Progress } from "../providers/provider.ts";
import { ProviderError, type ProviderFailure } from "../providers/provider-error.ts";

export type Succeeded = Extract<Progress, { state: "succeeded" }>;

const MIN_PAUSE_MS = 50;
const MAX_PAUSE_MS = 15_000;
const CANCEL_TIMEOUT_MS = 5_000;
/** A poll that fails so says nothing about the job. */
const POLL_AGAIN = new Set<ProviderFailure>(["rate_limited", "unavailable", "timeout", "unknown_outcome"]);

export interface JobRun {
  readonly provider: MediaProvider;
  readonly signal: AbortSignal;
  /** Makes an operation survive this process; called before it is polled. */
  readonly saveOperation: (operation: Operation) => Promise<unknown>;
}

/** @param first the answer of `submit`, or a pending operation to go on with. @throws ProviderError */
export async function runJob(run: JobRun, first: () => Promise<Progress>): Promise<Succeeded> {
  let progress = await first();
  while (progress.state === "pending") {
    await run.saveOperation(progress.operation);
    progress = await pollOnce(run, progress);
  }
  return progress;
}

async function pollOnce(
  { provider, signal }: JobRun,
  pending: Extract<Progress, { state: "pending" }>,
): Promise<Progress> {
  const pause = Math.min(Math.max(pending.pollAfterMs, MIN_PAUSE_MS), MAX_PAUSE_MS);
  try {
    await sleep(pause, undefined, { signal });
    return await provider.poll(pending.operation, signal);
  } catch (error) {
    if (signal.aborted) throw await givenUp(provider, pending.operation, signal);
    if (error instanceof ProviderError && POLL_AGAIN.has(error.kind)) {
      return { ...pending, pollAfterMs: error.retryAfterMs ?? pause * 2 };
    }
    throw error;
  }
}

/** Out of time, the job is cancelled; when this process stops it is left for the next one. */
async function givenUp(
  provider: MediaProvider,
  operation: Operation,
  signal: AbortSignal,
): Promise<ProviderError> {
  const timedOut = (signal.reason as Error | null)?.name === "TimeoutError";
  if (!timedOut) {
    return new ProviderError("unknown_outcome", `${provider.name}: left while its job ran`, {
      accepted: true,
    });
  }
  const cause = await provider
    .cancel(operation, AbortSignal.timeout(CANCEL_TIMEOUT_MS))
    .catch((error) => error);
  return new ProviderError("timeout", `${provider.name}: the job did not end in time`, {
    accepted: true,
    cause,
  });
}
