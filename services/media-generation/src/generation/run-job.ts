// Runs one job of a provider to its end: submit, then poll within the signal's time.
// After its submission a job may be billed, even if a later step fails.
import { isDeepStrictEqual } from "node:util";
import type { Timer } from "@gr/runtime";
import type { MediaProvider, Operation, Progress } from "../providers/provider.ts";
import { ProviderError, type ProviderFailure } from "../providers/provider-error.ts";
import { isTimeout, withinTime } from "./time-limit.ts";

export type Succeeded = Extract<Progress, { state: "succeeded" }>;
type Pending = Extract<Progress, { state: "pending" }>;

const MIN_PAUSE_MS = 50;
const MAX_PAUSE_MS = 15_000;
const PAUSES_PER_WAIT = 10;
const CANCEL_TIMEOUT_MS = 5_000;
/** Failures that confirm a requested cancellation: the job has ended without a result. */
const CONFIRMS = new Set<ProviderFailure>(["failed", "cancelled", "rejected"]);
/** Failures of a poll that are no evidence about the job. */
const POLL_AGAIN = new Set<ProviderFailure>(["rate_limited", "unavailable", "timeout", "unknown_outcome"]);

export interface JobRun {
  readonly provider: MediaProvider;
  readonly clock: Timer;
  readonly signal: AbortSignal;
  /**
   * Aborted when the client cancels. It does not interrupt a submission, because its operation must be recorded. The
   * job is polled further: only its provider confirms a cancellation.
   */
  readonly cancelled?: AbortSignal;
  /** Stores an operation for a later process. @returns false if the job has passed to another process */
  readonly saveOperation: (operation: Operation) => Promise<boolean>;
  /** Called with the progress in whole percent, at each report of the provider. */
  readonly progressed?: ((percent: number) => void) | undefined;
}

/** Submits a job and polls it to its end. @throws ProviderError */
export async function runJob(run: JobRun, submit: () => Promise<Progress>): Promise<Succeeded> {
  return follow(run, await submit(), undefined);
}

/** Continues a job that was submitted before. @throws ProviderError */
export function resumeJob(run: JobRun, operation: Operation): Promise<Succeeded> {
  return follow(run, { state: "pending", operation, pollAfterMs: 0 }, operation);
}

/** @param saved the stored state of the operation */
async function follow(run: JobRun, begun: Progress, saved: Operation | undefined): Promise<Succeeded> {
  let progress = begun;
  let known = saved;
  let waited = 0;
  let isCancelling = false;
  while (progress.state === "pending") {
    const { operation } = progress;
    if (!isDeepStrictEqual(known, operation)) {
      if (!(await run.saveOperation(operation))) throw left(run.provider, "passed to another process");
      known = operation;
    }
    if (progress.percent !== undefined) run.progressed?.(progress.percent);
    if (run.cancelled?.aborted && !isCancelling) {
      isCancelling = (await requestCancellation(run, operation)) === undefined;
      waited = 0;
    }
    const pause = pauseBefore(progress, waited);
    waited += pause;
    progress = await pollOnce(run, progress, pause).catch((error) => {
      throw isCancelling ? cancelledBy(run.provider, error) : error;
    });
  }
  return progress;
}

/** Returns the confirmed cancellation for a job that ended without a result. Any other error stays. */
function cancelledBy({ name }: MediaProvider, error: unknown): unknown {
  if (!(error instanceof ProviderError) || !CONFIRMS.has(error.kind)) return error;
  const { usage } = error;
  return new ProviderError("cancelled", `${name}: the job was cancelled for its caller`, {
    accepted: true,
    ...(usage === undefined ? {} : { usage }),
    cause: error,
  });
}

/**
 * Pause until the next poll: the provider's wish, or a tenth of the time so far. After minutes, a few seconds more
 * are harmless, and thousands of waiting jobs are polled less.
 */
function pauseBefore({ pollAfterMs }: Pending, waited: number): number {
  return Math.min(Math.max(pollAfterMs, waited / PAUSES_PER_WAIT, MIN_PAUSE_MS), MAX_PAUSE_MS);
}

/** @returns the same progress if the client cancels during the pause */
async function pollOnce(run: JobRun, pending: Pending, pause: number): Promise<Progress> {
  const { provider, clock, signal, cancelled } = run;
  const isCancellable = cancelled !== undefined && !cancelled.aborted;
  await clock.sleep(pause, isCancellable ? AbortSignal.any([signal, cancelled]) : signal);
  if (isCancellable && cancelled.aborted && !signal.aborted) return pending;
  try {
    if (!signal.aborted) return await provider.poll(pending.operation, signal);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    if (!signal.aborted) {
      if (!POLL_AGAIN.has(error.kind)) throw error.ofAcceptedJob();
      return { ...pending, pollAfterMs: error.retryAfterMs ?? pause * 2 };
    }
  }
  throw await abort(run, pending.operation);
}

/**
 * After its time limit the job is cancelled. At the stop of this process it is not: the next process continues it.
 */
async function abort(run: JobRun, operation: Operation): Promise<ProviderError> {
  const { provider, signal } = run;
  if (!isTimeout(signal)) return left(provider, "left while it ran");
  const cause = await requestCancellation(run, operation);
  const message = `${provider.name}: the job did not end in time`;
  return new ProviderError("timeout", message, { accepted: true, cause });
}

/** @returns the error if the request did not reach the provider */
function requestCancellation({ provider, clock }: JobRun, operation: Operation): Promise<unknown> {
  return withinTime(clock, CANCEL_TIMEOUT_MS, (limit) => provider.cancel(operation, limit)).catch(
    (error) => error,
  );
}

/** This process does not poll the job any more. Another one may. */
export class LeftRunning extends ProviderError {}

function left({ name }: MediaProvider, why: string): ProviderError {
  return new LeftRunning("unknown_outcome", `${name}: the job was ${why}`, { accepted: true });
}
