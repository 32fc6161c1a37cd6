// The Runware adapter: one address accepts lists of tasks with ids of our own. A task is queued and then polled.
// After a lost submission, a poll shows whether the task was started. Each result includes its cost.
import type { PicoUsd } from "@gr/money";
import type { Phase } from "../answer-failure.ts";
import type { JsonFields } from "../json-body.ts";
import type { Outbound, OutboundAnswer } from "../outbound.ts";
import { percentOf } from "../percent.ts";
import {
  type MediaJob,
  type MediaProvider,
  MOST_PARTS,
  type Operation,
  type Progress,
  type ReportedUsage,
} from "../provider.ts";
import { ProviderError } from "../provider-error.ts";
import { createProviderHttp } from "../provider-http.ts";
import { costOf, failureOf, readTasks, readUsage, type TaskAnswer, type TaskItem } from "./read-answer.ts";
import { taskIdOf, taskOf } from "./runware-task.ts";

export const RUNWARE = "runware";
const POLL_AFTER_MS = 1_000;
/** Statuses of answers about single tasks. Without any result, the status belongs to the first error. */
const SAYS: ReadonlySet<number> = new Set([200, 400, 404]);

export interface RunwareOptions {
  readonly apiKey: string;
  /** API address, up to and with the version: https://api.runware.ai/v1 */
  readonly baseUrl: string;
  readonly outbound: Outbound;
}

export function createRunwareProvider(options: RunwareOptions): MediaProvider {
  const { apiKey: secret, baseUrl, outbound } = options;
  const credentials = { authorization: `Bearer ${secret}` };
  const http = createProviderHttp({
    name: RUNWARE,
    baseUrl,
    secret,
    credentials,
    outbound,
    usageOf: readUsage,
  });

  const send = (phase: Phase, tasks: readonly JsonFields[], signal: AbortSignal, headers = {}) =>
    http.send(phase, { method: "POST", to: baseUrl, headers, json: tasks }, signal);

  /** @throws ProviderError for an answer that is none about tasks */
  function tasksOf(answer: OutboundAnswer, phase: Phase): TaskAnswer {
    const tasks = readTasks(answer);
    if (tasks !== undefined) return tasks;
    throw answer.status === 200 ? failed("an answer of another shape") : http.failure(phase, answer);
  }

  async function submit(job: MediaJob, signal: AbortSignal): Promise<Progress> {
    const task = await taskOf(job);
    const answer = await send("submit", [task], signal, { "x-request-id": job.requestId });
    const { items, errors } = tasksOf(answer, "submit");
    const [error] = errors;
    if (error !== undefined) throw failureOf(error, answer, http, "submit");
    return progressOf(items, { task: taskIdOf(job.requestId, job.part) });
  }

  async function poll(operation: Operation, signal: AbortSignal): Promise<Progress> {
    const task = String(operation["task"]);
    const answer = await send("follow", [lookAt(task)], signal);
    const { items, errors } = tasksOf(answer, "follow");
    const error = errors.find(({ taskUUID }) => taskUUID == null || taskUUID === task);
    if (error !== undefined) throw failureOf(error, answer, http, "follow");
    return progressOf(items, operation);
  }

  /** Queries all jobs that the request can have had. Runware answers "unknown" for jobs that were never sent. */
  async function lookUp(requestId: string, signal: AbortSignal): Promise<PicoUsd | undefined> {
    const ids = Array.from({ length: MOST_PARTS }, (_, index) => taskIdOf(requestId, index + 1));
    const answer = await send("submit", ids.map(lookAt), signal);
    const { items, errors } = tasksOf(answer, "submit");
    const general = errors.find(({ taskUUID }) => taskUUID == null);
    if (general !== undefined) throw failureOf(general, answer, http, "submit");
    if (!SAYS.has(answer.status)) throw http.failure("submit", answer);
    // An error under a task's id is the task's end, or its refusal before a start. Neither has a result to pay for.
    return items.length === 0 ? undefined : items.reduce((sum, item) => sum + billOf(item), 0n);
  }

  return {
    name: RUNWARE,
    kinds: { image: { mostAtOnce: 1, submit }, video: { mostAtOnce: 1, submit } },
    poll,
    cancel: async () => undefined,
    lookUp,
  };
}

const lookAt = (taskUUID: string): JsonFields => ({ taskType: "getResponse", taskUUID });

const urlOf = ({ imageURL, videoURL }: TaskItem) => imageURL ?? videoURL ?? undefined;

/** @throws ProviderError for a running task: Runware will bill it, at a cost that is not yet fixed */
function billOf(item: TaskItem): PicoUsd {
  const billed = urlOf(item) === undefined ? undefined : costOf(item);
  if (billed !== undefined) return billed;
  throw new ProviderError("unavailable", "runware: a task without its cost", { accepted: true });
}

/** @throws ProviderError */
function progressOf(items: readonly TaskItem[], operation: Operation): Progress {
  const own = items.filter(({ taskUUID }) => taskUUID === operation["task"]);
  const ended = own.find((item) => urlOf(item) !== undefined || item.status === "success");
  if (ended === undefined) {
    if (own.some(({ status }) => status === "error")) throw failed("the task failed");
    const percent = percentOf(own[0]?.progress, 100);
    return { state: "pending", operation, pollAfterMs: POLL_AFTER_MS, percent };
  }
  const billed = costOf(ended);
  const usage: ReportedUsage | undefined = billed === undefined ? undefined : { billed };
  const url = urlOf(ended);
  if (url === undefined) throw failed("a result without a file", usage);
  const type = ended.videoURL == null ? "image/png" : "video/mp4";
  return { state: "succeeded", artifacts: [{ url, type }], ...(usage === undefined ? {} : { usage }) };
}

const failed = (what: string, usage?: ReportedUsage) =>
  new ProviderError("failed", `runware: ${what}`, {
    accepted: true,
    ...(usage === undefined ? {} : { usage }),
  });
