// Fan-out: a request for more than its provider makes at once is several jobs at the same time. Some may succeed and
// others fail; what has been submitted is remembered together, so that another process can go on with all of it.
import type { Operation, Progress } from "../providers/provider.ts";
import { ProviderError } from "../providers/provider-error.ts";
import { type JobRun, resumeJob, runJob, type Succeeded } from "./run-job.ts";

/** One entry a part; null for a part that has nothing to be polled. */
export type SavedParts = readonly (Operation | null)[];

/** @typeParam Made what is made of a part that succeeded */
export interface PartsRun<Made> extends Omit<JobRun, "saveOperation"> {
  /** Makes the operations survive this process. @returns false when the generation is not ours any more */
  readonly save: (parts: SavedParts) => Promise<boolean>;
  /** @throws ProviderError: then the part has failed */
  readonly take: (succeeded: Succeeded) => Promise<Made>;
}

export interface PartsEnd<Made> {
  readonly made: readonly Made[];
  readonly failures: readonly ProviderError[];
}

/** How many each job is to make. */
export function partsOf(count: number, mostAtOnce: number): number[] {
  const full = Array.from({ length: Math.floor(count / mostAtOnce) }, () => mostAtOnce);
  const rest = count % mostAtOnce;
  return rest === 0 ? full : [...full, rest];
}

/** Ends when all parts have. Rejects only for a defect. */
export function runParts<Made>(
  run: PartsRun<Made>,
  submits: readonly (() => Promise<Progress>)[],
): Promise<PartsEnd<Made>> {
  const operations = submits.map(() => null);
  return endOf(run, operations, (job, index) => runJob(job, submits[index] ?? notSubmitted));
}

/** Goes on with parts that were submitted before. A part without an operation is lost: nobody can ask for it. */
export function resumeParts<Made>(run: PartsRun<Made>, saved: SavedParts): Promise<PartsEnd<Made>> {
  return endOf(run, saved, (job, index) => {
    const operation = saved[index];
    return operation == null ? notSubmitted() : resumeJob(job, operation);
  });
}

async function endOf<Made>(
  { save, take, progressed, ...run }: PartsRun<Made>,
  known: SavedParts,
  follow: (job: JobRun, index: number) => Promise<Succeeded>,
): Promise<PartsEnd<Made>> {
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
      return take(await follow(job, index));
    }),
  );
  const made: Made[] = [];
  const failures: ProviderError[] = [];
  for (const end of ends) {
    if (end.status === "fulfilled") made.push(end.value);
    else if (end.reason instanceof ProviderError) failures.push(end.reason);
    else throw end.reason;
  }
  return { made, failures };
}

async function notSubmitted(): Promise<never> {
  const message = "a part of the job was lost with the process that sent it";
  throw new ProviderError("unknown_outcome", message, { accepted: true });
}

/** What a request failed of when none of its parts succeeded: an outcome that nobody knows first, then the first failure. */
export function failureOf(failures: readonly [ProviderError, ...ProviderError[]]): ProviderError {
  const [first, ...others] = failures;
  const main = failures.find(({ kind }) => kind === "timeout" || kind === "unknown_outcome") ?? first;
  const accepted = failures.some((failure) => failure.accepted);
  return others.length === 0 || main.accepted === accepted ? main : main.ofAcceptedJob();
}
