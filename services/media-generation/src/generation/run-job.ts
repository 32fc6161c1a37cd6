// Drives one job of a provider to its end: submit, then poll for as long as the signal allows. What has been submitted
// may be billed, whatever fails afterwards.
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
/** A poll that fails so says nothing about the job. */
const POLL_AGAIN = new Set<ProviderFailure>(["rate_limited", "unavailable", "timeout", "unknown_outcome"]);

export interface JobRun {
  readonly provider: MediaProvider;
  readonly clock: Timer;
  readonly signal: AbortSignal;
  /** Aborted when the caller has given it up. A submission is not cut short by it: what it begins has to be known. */
  readonly givenUp?: AbortSignal;
  /** Makes an operation survive this process. @returns false when the job is not ours any more */
  readonly saveOperation: (operation: Operation) => Promise<boolean>;
  /** Told how far it is, in whole percent, whenever its provider says. */
  readonly progressed?: ((percent: number) => void) | undefined;
}

/** Submits a job and follows it. @throws ProviderError */
export async function runJob(run: JobRun, submit: () => Promise<Progress>): Promise<Succeeded> {
  return follow(run, await submit(), undefined);
}

/** Goes on with a job that was submitted before. @throws ProviderError */
export function resumeJob(run: JobRun, operation: Operation): Promise<Succeeded> {
  return follow(run, { state: "pending", operation, pollAfterMs: 0 }, operation);
}

/** @param saved the operation as it would be found again */
async function follow(run: JobRun, begun: Progress, saved: Operation | undefined): Promise<Succeeded> {
  let progress = begun;
  let known = saved;
  let waited = 0;
  while (progress.state === "pending") {
    const { operation } = progress;
    if (!isDeepStrictEqual(known, operation)) {
      if (!(await run.saveOperation(operation))) throw left(run.provider, "passed to another process");
      known = operation;
    }
    if (progress.percent !== undefined) run.progressed?.(progress.percent);
    const pause = pauseBefore(progress, waited);
    waited += pause;
    progress = await pollOnce(run, progress, pause);
  }
  return progress;
}

/**
 * As long as the provider asks for, or a tenth of what the job has taken so far: whoever waits for minutes does not mind a
 * few seconds, and thousands of jobs that wait are not polled every moment.
 */
function pauseBefore({ pollAfterMs }: Pending, waited: number): number {
  return Math.min(Math.max(pollAfterMs, waited / PAUSES_PER_WAIT, MIN_PAUSE_MS), MAX_PAUSE_MS);
}

async function pollOnce(run: JobRun, pending: Pending, pause: number): Promise<Progress> {
  const { provider, clock, signal, givenUp } = run;
  await clock.sleep(pause, givenUp === undefined ? signal : AbortSignal.any([signal, givenUp]));
  try {
    if (!signal.aborted && !givenUp?.aborted) return await provider.poll(pending.operation, signal);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    if (!signal.aborted) {
      if (!POLL_AGAIN.has(error.kind)) throw error.ofAcceptedJob();
      return { ...pending, pollAfterMs: error.retryAfterMs ?? pause * 2 };
    }
  }
  throw await giveUp(run, pending.operation);
}

/** Out of time, or given up by its caller, the job is cancelled; when this process stops it is left for the next one. */
async function giveUp(
  { provider, clock, signal, givenUp }: JobRun,
  operation: Operation,
): Promise<ProviderError> {
  if (!givenUp?.aborted && !isTimeout(signal)) return left(provider, "left while it ran");
  const cause = await withinTime(clock, CANCEL_TIMEOUT_MS, (limit) =>
    provider.cancel(operation, limit),
  ).catch((error) => error);
  if (givenUp?.aborted) {
    const message = `${provider.name}: the job was cancelled for its caller`;
    return new ProviderError("cancelled", message, { accepted: true, cause });
  }
  const message = `${provider.name}: the job did not end in time`;
  return new ProviderError("timeout", message, { accepted: true, cause });
}

/** This process does not follow the job any more, and another one may. */
export class LeftRunning extends ProviderError {}

function left({ name }: MediaProvider, why: string): ProviderError {
  return new LeftRunning("unknown_outcome", `${name}: the job was ${why}`, { accepted: true });
}
