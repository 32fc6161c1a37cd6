// Fan-out: a request above its provider's limit becomes several jobs at the same time. Some may succeed and others
// fail. Their operations are stored together, so that another process can continue all of them.
import type { Operation, Progress } from "../providers/provider.ts";
import { ProviderError } from "../providers/provider-error.ts";
import { type JobRun, resumeJob, runJob, type Succeeded } from "./run-job.ts";

/** One entry per part; null for a part without a job to poll. */
export type SavedParts = readonly (Operation | null)[];

/** @typeParam PartResult the result of a successful part */
export interface PartsRun<PartResult> extends Omit<JobRun, "saveOperation"> {
  /** Stores the operations for a later process. @returns false if the generation has passed to another process */
  readonly save: (parts: SavedParts) => Promise<boolean>;
  /** @throws ProviderError, which fails the part */
  readonly collect: (succeeded: Succeeded) => Promise<PartResult>;
}

export interface PartsEnd<PartResult> {
  readonly delivered: readonly PartResult[];
  readonly failures: readonly ProviderError[];
}

/** Returns the `count` of each job. */
export function partsOf(count: number, mostAtOnce: number): number[] {
  const full = Array.from({ length: Math.floor(count / mostAtOnce) }, () => mostAtOnce);
  const remainder = count % mostAtOnce;
  return remainder === 0 ? full : [...full, remainder];
}

/** Resolves when all parts have ended. Rejects only for a defect. */
export function runParts<PartResult>(
  run: PartsRun<PartResult>,
  submits: readonly (() => Promise<Progress>)[],
): Promise<PartsEnd<PartResult>> {
  const operations = submits.map(() => null);
  return endOf(run, operations, (job, index) => runJob(job, submits[index] ?? notSubmitted));
}

/** Continues parts that were submitted before. A part without an operation is lost: it cannot be polled. */
export function resumeParts<PartResult>(
  run: PartsRun<PartResult>,
  saved: SavedParts,
): Promise<PartsEnd<PartResult>> {
  return endOf(run, saved, (job, index) => {
    const operation = saved[index];
    return operation == null ? notSubmitted() : resumeJob(job, operation);
  });
}

async function endOf<PartResult>(
  { save, collect, progressed, ...run }: PartsRun<PartResult>,
  known: SavedParts,
  follow: (job: JobRun, index: number) => Promise<Succeeded>,
): Promise<PartsEnd<PartResult>> {
  const operations = [...known];
  // One write after the other, so that an older list never overwrites a newer one.
  let written = Promise.resolve(true);
  const saveAt = (index: number) => (operation: Operation) => {
    operations[index] = operation;
    written = written.then(() => save([...operations]));
    return written;
  };
  const percents = known.map(() => 0);
  const progressedAt = (index: number) => (percent: number) => {
    percents[index] = percent;
    progressed?.(Math.floor(percents.reduce((sum, each) => sum + each, 0) / percents.length));
  };
  const ends = await Promise.allSettled(
    known.map(async (_, index) => {
      const job = { ...run, saveOperation: saveAt(index), progressed: progressedAt(index) };
      return collect(await follow(job, index));
    }),
  );
  const delivered: PartResult[] = [];
  const failures: ProviderError[] = [];
  for (const end of ends) {
    if (end.status === "fulfilled") delivered.push(end.value);
    else if (end.reason instanceof ProviderError) failures.push(end.reason);
    else throw end.reason;
  }
  return { delivered, failures };
}

async function notSubmitted(): Promise<never> {
  const message = "a part of the job was lost with the process that sent it";
  throw new ProviderError("unknown_outcome", message, { accepted: true });
}

/** Returns the failure of a request without a successful part: an unknown outcome first, else the first failure. */
export function failureOf(failures: readonly [ProviderError, ...ProviderError[]]): ProviderError {
  const [first, ...others] = failures;
  const main = failures.find(({ kind }) => kind === "timeout" || kind === "unknown_outcome") ?? first;
  const accepted = failures.some((failure) => failure.accepted);
  return others.length === 0 || main.accepted === accepted ? main : main.ofAcceptedJob();
}
