// Where every simulated provider has its images and videos made: at once or as a job that is polled, with the faults that
// prompts and models ask for, billed once at the end of the work. Wire formats read and render; all else happens here.
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

/** A job as its provider would tell of it. */
export interface JobView {
  readonly id: string;
  readonly state: JobState;
  /** Without the files that came along. */
  readonly order: Omit<MediaOrder, "inputs" | "bill">;
  /** What was made, once the state is "done"; fewer than wanted when some failed. */
  readonly files: readonly ResultFile[];
  /** Undefined until it is billed. */
  readonly billed: Billed | undefined;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

export interface Made {
  readonly files: readonly ResultFile[];
  readonly billed: Billed;
}

interface Job extends Omit<JobView, "state" | "files" | "billed"> {
  readonly words: ReadonlySet<PromptWord>;
  files: readonly ResultFile[];
  billed: Billed | undefined;
  polls: number;
  /** How it ended, when it has. */
  end: "done" | "failed" | "blocked" | "cancelled" | undefined;
  /** Begins the work, once. */
  begin: () => void;
}

/** Polls that are told that the job waits or runs, before one may hear that it is done. */
const PENDING_POLLS = 2;
const SLOW_POLLS = 8;
/** The oldest are forgotten beyond it. */
const MOST_JOBS = 20_000;

export class MediaRoom {
  readonly files = new ResultFiles();
  readonly #simulation: Simulation;
  readonly #drawing = new DrawingRoom();
  readonly #draw: typeof draw;
  readonly #jobs = new Map<string, Job>();
  /** What has had its one failure already. */
  readonly #failedOnce = new Set<string>();
  /** Jobs of a request of which some are to fail, so far. */
  readonly #partial = new Map<string, number>();

  /** @param drawing whether results are pictures; they are billed alike */
  constructor(simulation: Simulation, drawing = true) {
    this.#simulation = simulation;
    this.#draw = drawing ? draw : drawNothing;
  }

  /**
   * For providers that answer at once. @throws Refusal
   * @returns undefined when the answer never comes: `reply` is taken care of, and the route returns it
   */
  async make(order: MediaOrder, reply: FastifyReply): Promise<Made | undefined> {
    const words = this.#accept(order);
    if (words.has("#5xx-once")) this.#failOnce(`${order.model}\n${order.prompt}`);
    if (fails(order, words) || this.#failsInPart(order, words)) throw serverFailure();
    if (isBlocked(order, words)) throw blockedByModeration();
    if (hangs(order, words)) return this.#leave(reply);
    const made = await this.#work(order, words, `img_${uniqueHex(32)}`, () => true);
    return words.has("#timeout-after-accept") ? this.#leave(reply) : made;
  }

  /** For providers that look at the prompt before they accept a job: the job is not submitted then. @throws Refusal */
  moderate(order: MediaOrder): void {
    if (isBlocked(order, wordsIn(order.prompt))) throw blockedByModeration();
  }

  /**
   * For providers with a queue. @throws Refusal
   * @returns undefined when the answer never comes, although the job is done and billed: as `make`
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

  /** Counts as a poll. Undefined when there is no such job. @throws Refusal for a poll that is to fail */
  poll(id: string): JobView | undefined {
    const job = this.#jobs.get(id);
    if (job === undefined) return undefined;
    if (job.words.has("#5xx-once")) this.#failOnce(id);
    job.polls++;
    if (job.words.has("#slow") && job.polls >= SLOW_POLLS - 1) job.begin();
    return viewOf(job);
  }

  /** Looks at a job without being counted as a poll. */
  look(id: string): JobView | undefined {
    const job = this.#jobs.get(id);
    return job === undefined ? undefined : viewOf(job);
  }

  /** A job that is not billed yet is not made any more. Undefined when there is no such job. */
  cancel(id: string): JobView | undefined {
    const job = this.#jobs.get(id);
    if (job === undefined) return undefined;
    if (job.end === undefined) job.end = "cancelled";
    return viewOf(job);
  }

  /** @throws Refusal for those that are turned down whatever they ask for */
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

  /** Of a request that is several jobs of one, every second fails. */
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

  /** What begins the work of a job; from the second call on it does nothing. */
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
        (made) => {
          if (made === undefined) return;
          job.files = made.files;
          job.billed = made.billed;
          end(job, "done");
        },
        () => end(job, "failed"),
      );
    };
  }

  /** @param wanted asked before it is billed; when it says no, nothing was made */
  async #work(
    order: MediaOrder,
    words: ReadonlySet<PromptWord>,
    generationId: string,
    wanted: () => boolean,
  ): Promise<Made | undefined> {
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

/** Like the real services, it finishes what it has begun, also when the caller has gone. */
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
