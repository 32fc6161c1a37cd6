// MediaRoom generates images and videos for every simulated provider: at once or as a polled job, with the faults that
// prompts and models request, billed once at the end of the work. Wire formats only parse and render.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyReply } from "fastify";
import { DrawingRoom } from "../drawing/drawing-room.ts";
import { drawFilm } from "../drawing/film.ts";
import { drawPicture, drawThumbnails } from "../drawing/picture.ts";
import { blockedByModeration, Refusal, serverFailure } from "../request/refusal.ts";
import { type Simulation, uniqueHex } from "../request/simulation.ts";
import type { Billed, MediaOrder } from "./media-order.ts";
import { type PromptWord, wordsIn } from "./prompt-words.ts";
import { type ResultFile, ResultFiles } from "./result-files.ts";

export type JobState = "queued" | "running" | "done" | "failed" | "blocked" | "cancelled";

/** A job in a form that every provider can render. */
export interface JobView {
  readonly id: string;
  readonly state: JobState;
  /** Without the input files. */
  readonly order: Omit<MediaOrder, "inputs" | "bill">;
  /** Results of a job with the state "done"; fewer than wanted if some failed. */
  readonly files: readonly ResultFile[];
  /** Undefined before it is billed. */
  readonly billed: Billed | undefined;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

export interface MediaResult {
  readonly files: readonly ResultFile[];
  readonly billed: Billed;
}

interface Job extends Omit<JobView, "state" | "files" | "billed"> {
  readonly words: ReadonlySet<PromptWord>;
  files: readonly ResultFile[];
  billed: Billed | undefined;
  polls: number;
  /** End of the job, if it has ended. */
  end: "done" | "failed" | "blocked" | "cancelled" | undefined;
  /** Starts the work, once. */
  begin: () => void;
}

/** Number of polls with the answer "queued" or "running" before the first "done". */
const PENDING_POLLS = 2;
const SLOW_POLLS = 8;
/** Limit above which the oldest jobs are deleted. */
const MOST_JOBS = 20_000;

export class MediaRoom {
  readonly files = new ResultFiles();
  readonly #simulation: Simulation;
  readonly #drawing = new DrawingRoom();
  readonly #draw: typeof draw;
  readonly #jobs = new Map<string, Job>();
  /** Prompts and models that have already failed once. */
  readonly #failedOnce = new Set<string>();
  /** Number of jobs so far, by request with partial failures. */
  readonly #partial = new Map<string, number>();

  /** @param drawing true for real pictures; the bill is the same without */
  constructor(simulation: Simulation, drawing = true) {
    this.#simulation = simulation;
    this.#draw = drawing ? draw : drawNothing;
  }

  /**
   * Runs an order of a provider with immediate answers. @throws Refusal
   * @returns undefined if the answer never arrives: `reply` is already handled, and the route returns it
   */
  async generate(order: MediaOrder, reply: FastifyReply): Promise<MediaResult | undefined> {
    const words = this.#accept(order);
    if (words.has("#5xx-once")) this.#failOnce(`${order.model}\n${order.prompt}`);
    if (fails(order, words) || this.#failsInPart(order, words)) throw serverFailure();
    if (isBlocked(order, words)) throw blockedByModeration();
    if (hangs(order, words)) return this.#leave(reply);
    const result = await this.#work(order, words, `img_${uniqueHex(32)}`, () => true);
    return words.has("#timeout-after-accept") ? this.#leave(reply) : result;
  }

  /** Checks a prompt for providers that do so before they accept a job. A refused job is not submitted. @throws Refusal */
  moderate(order: MediaOrder): void {
    if (isBlocked(order, wordsIn(order.prompt))) throw blockedByModeration();
  }

  /**
   * Submits an order of a provider with a queue. @throws Refusal
   * @returns undefined if the answer never arrives, although the job is done and billed: as in `generate`
   */
  submit(order: MediaOrder, reply: FastifyReply): JobView | undefined {
    const words = this.#accept(order);
    const id = order.jobId ?? randomUUID();
    const { inputs, bill, ...kept } = order;
    const job: Job = {
      id,
      order: kept,
      words,
      files: [],
      billed: undefined,
      polls: 0,
      end: undefined,
      createdAt: Date.now(),
      begin: () => undefined,
    };
    job.begin = this.#workOf(job, { ...kept, inputs, bill });
    this.#jobs.set(id, job);
    for (const oldest of this.#jobs.keys()) {
      if (this.#jobs.size <= MOST_JOBS) break;
      this.#jobs.delete(oldest);
    }
    if (!words.has("#slow")) job.begin();
    return words.has("#timeout-after-accept") ? this.#leave(reply) : viewOf(job);
  }

  /** Counts as a poll. Undefined for an unknown job. @throws Refusal for a poll that is to fail */
  poll(id: string): JobView | undefined {
    const job = this.#jobs.get(id);
    if (job === undefined) return undefined;
    if (job.words.has("#5xx-once")) this.#failOnce(id);
    job.polls++;
    if (job.words.has("#slow") && job.polls >= SLOW_POLLS - 1) job.begin();
    return viewOf(job);
  }

  /** Reads a job without counting a poll. */
  look(id: string): JobView | undefined {
    const job = this.#jobs.get(id);
    return job === undefined ? undefined : viewOf(job);
  }

  /** Cancels a job that is not yet billed. Undefined for an unknown job. */
  cancel(id: string): JobView | undefined {
    const job = this.#jobs.get(id);
    if (job === undefined) return undefined;
    if (job.end === undefined) job.end = "cancelled";
    return viewOf(job);
  }

  /** @throws Refusal for words that refuse any order */
  #accept({ prompt }: MediaOrder): ReadonlySet<PromptWord> {
    const words = wordsIn(prompt);
    if (words.has("#429")) {
      const message = "Rate limit reached. Please try again in 1s.";
      throw new Refusal("rate_limited", message, null, "rate_limit_exceeded");
    }
    return words;
  }

  #failOnce(key: string): void {
    if (this.#failedOnce.has(key)) return;
    if (this.#failedOnce.size >= MOST_JOBS) this.#failedOnce.clear();
    this.#failedOnce.add(key);
    throw serverFailure();
  }

  /** Every second job of a request with several single jobs fails. */
  #failsInPart({ requestId, wanted }: MediaOrder, words: ReadonlySet<PromptWord>): boolean {
    const single = wanted.kind === "video" || wanted.count === 1;
    if (!words.has("#partial") || !single) return false;
    if (this.#partial.size >= MOST_JOBS) this.#partial.clear();
    const number = (this.#partial.get(requestId) ?? 0) + 1;
    this.#partial.set(requestId, number);
    return number % 2 === 0;
  }

  #leave(reply: FastifyReply): undefined {
    reply.hijack();
    this.#simulation.hang(reply.raw);
  }

  /** Returns the function that starts the work of a job; later calls have no effect. */
  #workOf(job: Job, order: MediaOrder): () => void {
    const { words } = job;
    if (hangs(order, words)) return () => undefined;
    if (fails(order, words) || this.#failsInPart(order, words)) return () => end(job, "failed");
    if (isBlocked(order, words)) return () => end(job, "blocked");
    let begun = false;
    return () => {
      if (begun || job.end !== undefined) return;
      begun = true;
      this.#work(order, words, job.id, () => job.end === undefined).then(
        (result) => {
          if (result === undefined) return;
          job.files = result.files;
          job.billed = result.billed;
          end(job, "done");
        },
        () => end(job, "failed"),
      );
    };
  }

  /** @param wanted called before the bill; if it returns false, there is no result */
  async #work(
    order: MediaOrder,
    words: ReadonlySet<PromptWord>,
    generationId: string,
    wanted: () => boolean,
  ): Promise<MediaResult | undefined> {
    const { bill, stopping, imageDelayMs } = this.#simulation;
    const { signal } = stopping;
    this.#simulation.beginWork();
    try {
      if (imageDelayMs > 0 && order.wanted.kind === "image") await sleep(imageDelayMs, undefined, { signal });
      const all = await this.#drawing.work(() => this.#draw(order, signal));
      const some = words.has("#partial") && all.length > 1 ? all.slice(0, -1) : all;
      if (!wanted()) return undefined;
      const billed = order.bill(some.length);
      bill.record({
        requestId: order.requestId,
        generationId,
        model: order.model,
        upstream: order.upstream,
        picoUsd: billed.picoUsd,
        inputTokens: billed.inputTokens ?? 0,
        outputTokens: billed.outputTokens ?? 0,
        finishReason: "stop",
        streamed: false,
        cancelled: false,
        createdAt: Date.now(),
      });
      const expired = words.has("#expired-url");
      const type = order.wanted.kind === "video" ? "video/mp4" : `image/${order.wanted.format}`;
      return { files: some.map((bytes) => this.files.keep(type, bytes, expired)), billed };
    } finally {
      this.#simulation.endWork();
    }
  }
}

/** Like the real services, it finishes started work even after the client's disconnection. */
async function draw(order: MediaOrder, signal: AbortSignal): Promise<Buffer[]> {
  const { prompt, wanted, size } = order;
  const { width, height } = size;
  const thumbnails = await drawThumbnails(order.inputs, size);
  const seed = randomUUID();
  const caption = `${order.model} ${width}x${height}`;
  const common = { prompt, seed, width, height, thumbnails };
  if (wanted.kind === "video") {
    return [await drawFilm({ ...common, caption, index: 0, seconds: wanted.seconds }, signal)];
  }
  const { count, format, compression = 100, transparent = false } = wanted;
  const pictures: Buffer[] = [];
  for (let index = 0; index < count; index++) {
    signal.throwIfAborted();
    const which = count > 1 ? ` ${index + 1} of ${count}` : "";
    const picture = { ...common, caption: caption + which, index, format, compression, transparent };
    pictures.push(await drawPicture(picture));
  }
  return pictures;
}

async function drawNothing({ wanted }: MediaOrder): Promise<Buffer[]> {
  const count = wanted.kind === "video" ? 1 : wanted.count;
  return Array.from({ length: count }, () => Buffer.from("not drawn"));
}

function viewOf(job: Job): JobView {
  const { id, order, files, billed, createdAt } = job;
  const view = { id, order, billed, createdAt };
  const state = stateOf(job);
  return { ...view, state, files: state === "done" ? files : [] };
}

function stateOf({ end, polls, words }: Job): JobState {
  if (end === "cancelled") return end;
  const pending = words.has("#slow") ? SLOW_POLLS : PENDING_POLLS;
  if (polls <= pending || end === undefined) return polls <= 1 ? "queued" : "running";
  return end;
}

function end(job: Job, how: NonNullable<Job["end"]>): void {
  job.end ??= how;
}

function fails({ fault }: MediaOrder, words: ReadonlySet<PromptWord>): boolean {
  return fault === "error" || words.has("#fail");
}

function isBlocked({ fault }: MediaOrder, words: ReadonlySet<PromptWord>): boolean {
  return fault === "blocked" || words.has("#nsfw");
}

function hangs({ fault }: MediaOrder, words: ReadonlySet<PromptWord>): boolean {
  return fault === "hang" || words.has("#hang");
}
