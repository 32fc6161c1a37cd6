// MediaWork turns a paid request into media: the provider's job within the hold's time, then conversion and storage.
// Pictures are decoded and encoded again; a video is checked by its first bytes.
// It reports the outcome of each attempt and decides nothing about money.
import type { CatalogCopy } from "@gr/clients";
import type { PicoUsd } from "@gr/money";
import type { AttemptContext, AttemptEnd, Failed, Producer, Route, Unknown } from "@gr/paid-request";
import { ServiceError } from "@gr/proto";
import type { Price } from "@gr/proto/catalog";
import type { Timer } from "@gr/runtime";
import type { Previews } from "../previews/previews.ts";
import type { ReadArtifact } from "../providers/artifact.ts";
import {
  type Artifact,
  type JobKind,
  type MediaJob,
  type MediaProvider,
  type ReportedUsage,
  submitJob,
} from "../providers/provider.ts";
import { ProviderError } from "../providers/provider-error.ts";
import type { MediaRoute } from "../request/choose-routes.ts";
import { collect } from "../storage/collect.ts";
import { type ConvertImage, InvalidImageError } from "../storage/image-file.ts";
import { previewNameOf, VIDEO_FORMAT } from "../storage/media-name.ts";
import { type MediaStorage, StorageError } from "../storage/media-storage.ts";
import { InvalidVideoError, mp4Only } from "../storage/video-file.ts";
import { callerError, fallsBack, NOT_SENT, NOT_STORED } from "./caller-error.ts";
import type { GenerationEvents } from "./events.ts";
import type {
  AttemptTrace,
  CountedTokens,
  Generation,
  MediaKinds,
  MediaOrder,
  OutputFile,
} from "./generation.ts";
import type { MemoryPlaces } from "./memory-places.ts";
import { metersOf } from "./meters.ts";
import { MOST_PICTURE_BYTES, type PartialSink, partialImagesOf } from "./partial-images.ts";
import { reportProgress } from "./progress-report.ts";
import type { ProgressStore } from "./progress-store.ts";
import { LeftRunning, type Succeeded } from "./run-job.ts";
import {
  failureOf,
  type PartsEnd,
  type PartsRun,
  partsOf,
  resumeParts,
  runParts,
  type SavedParts,
} from "./run-parts.ts";
import { type GenerationStore, LEFT } from "./store.ts";
import { isTimeout, withinTime } from "./time-limit.ts";
import { chargeByUse, trueCost } from "./true-cost.ts";

type End = AttemptEnd<MediaKinds>;

export interface MediaWorkOptions {
  readonly store: Pick<GenerationStore, "saveOperations">;
  readonly storage: MediaStorage;
  readonly catalog: Pick<CatalogCopy, "find">;
  readonly providers: ReadonlyMap<string, MediaProvider>;
  /** Fetches an artifact. @throws ProviderError */
  readonly read: ReadArtifact;
  readonly convert: ConvertImage;
  /** Undefined: no thumbnails and posters are created. */
  readonly previews?: Previews;
  /** Undefined: progress is not recorded. */
  readonly progress?: ProgressStore;
  readonly memory: MemoryPlaces;
  readonly events: GenerationEvents;
  readonly clock: Timer;
  readonly limits: MediaLimits;
  /** Milliseconds between the end of the work and the hold's deadline: the delay of a late bill. */
  readonly graceMs: number;
}

export interface MediaLimits {
  /** Longest duration of a generation, in milliseconds. */
  readonly timeoutMs: Readonly<Record<JobKind, number>>;
  /** Size limit of a video, in bytes. */
  readonly mostVideoBytes: number;
  /** Size limit of a video in a base64 answer, in bytes. */
  readonly mostBase64Bytes: number;
}

/** Places in memory for a video that is not in the storage: it may be as large as many pictures. */
const PLACES_OF_VIDEO = 16;

/** One attempt at an order. */
interface Attempt {
  readonly order: MediaOrder;
  readonly route: Route;
  readonly provider: MediaProvider;
  /** Cost price of the provider in the catalogue. */
  readonly costPrice: Price | undefined;
}

/** Output of a job. */
interface PartResult {
  readonly files: readonly OutputFile[];
  readonly usage: ReportedUsage | undefined;
}

export class MediaWork {
  readonly #options: MediaWorkOptions;
  /** Abort controllers of the generations in this process, for cancellation by their clients. */
  readonly #cancelled = new Map<string, AbortController>();

  constructor(options: MediaWorkOptions) {
    this.#options = options;
  }

  /** @param routes best first. @param sink of a client that wants partial images */
  producer(
    order: MediaOrder,
    asked: Pick<MediaJob, "prompt" | "inputs">,
    routes: readonly [MediaRoute, ...MediaRoute[]],
    sink?: PartialSink,
  ): Producer<MediaKinds> {
    return {
      routes,
      attempt: async (_route, { number, signal }) => {
        // This process may have been suspended since the hold: a result could then not be charged any more.
        if (this.#timeLeft(order) <= 0) return tooLate();
        const route = routes[number - 1] ?? routes[0];
        const attempt = { order, route, provider: route.adapter, costPrice: route.cost };
        return this.#run(attempt, signal, (run) => {
          const partials = partialImagesOf(this.#options, order, route.adapter, sink, run.signal);
          const jobs = jobsOf(order, asked, route).map((job) =>
            job.kind === "image" ? { ...job, partials } : job,
          );
          return runParts(
            run,
            jobs.map((job) => () => submitJob(route.adapter, job, run.signal)),
          );
        });
      },
    };
  }

  /**
   * Cancels unfinished jobs where the provider allows it. Finished jobs are unaffected.
   * Does nothing for generations of other processes.
   */
  cancel(id: string): void {
    this.#cancelled.get(id)?.abort();
  }

  /** Continues jobs that another process started. Undefined if there are none, or no time for them. */
  resumeOf({
    order,
    route,
    operations,
    deleted,
  }: Generation): ((context: AttemptContext) => Promise<End>) | undefined {
    const provider = this.#options.providers.get(route.provider);
    if (operations === null || provider === undefined || this.#timeLeft(order) <= 0) return undefined;
    const attempt = { order, route, provider, costPrice: this.#costPriceOf(order, route) };
    return ({ signal }) => {
      this.#options.events.resumed(order, route);
      // No client is connected to receive a file that must not be stored.
      const unwanted = order.request.response_format === "b64_ephemeral";
      const resume = (run: PartsRun<PartResult>) => resumeParts(run, operations);
      return this.#options.memory.during(order.accountId, () =>
        this.#run(attempt, signal, resume, { unwanted, cancelled: deleted }),
      );
    };
  }

  async #run(
    attempt: Attempt,
    cancel: AbortSignal,
    work: (run: PartsRun<PartResult>) => Promise<PartsEnd<PartResult>>,
    { unwanted, cancelled }: { unwanted: boolean; cancelled: boolean } = {
      unwanted: false,
      cancelled: false,
    },
  ): Promise<End> {
    const { clock, store, progress, events } = this.#options;
    const { order, provider } = attempt;
    const caller = new AbortController();
    const begunAt = clock.now();
    const askedAt = performance.now();
    let providerMs = 0;
    const traced = (end: End) => {
      order.attempts.push(traceOf(attempt, end, { begunAt, endedAt: clock.now(), providerMs }));
      return end;
    };
    this.#cancelled.set(order.id, caller);
    if (cancelled) caller.abort();
    const { delivered, failures } = await withinTime(
      clock,
      Math.max(1, this.#timeLeft(order)),
      (signal) => {
        const save = (parts: SavedParts) => store.saveOperations(order.id, parts);
        const storePart = (part: Succeeded) => {
          providerMs = performance.now() - askedAt;
          return this.#storePart(order, part, signal);
        };
        const progressed = progress && reportProgress(order.id, progress, events.roundFailed);
        return work({
          provider,
          clock,
          signal,
          cancelled: caller.signal,
          save,
          collect: storePart,
          progressed,
        });
      },
      cancel,
    ).finally(() => this.#cancelled.delete(order.id));
    const [failure, ...others] = failures;
    const left = failures.find((each) => each instanceof LeftRunning);
    if (left !== undefined) return leftRunning(left);
    if (failure !== undefined && delivered.length === 0) {
      return traced(this.#failed(attempt, [failure, ...others]));
    }
    const cost = costOf(attempt, delivered, failures);
    if (!unwanted) return traced(await this.#deliver(attempt, delivered, failures, { cost, providerMs }));
    const message = "made after its caller had gone, and not to be kept";
    const wasted = new ProviderError("failed", message, {
      accepted: true,
      ...(cost === undefined ? {} : { usage: { billed: cost } }),
    });
    return traced(this.#failed(attempt, [wasted]));
  }

  /** Fetches the output of a job and converts it to files. */
  async #storePart(
    order: MediaOrder,
    { artifacts, usage }: Succeeded,
    signal: AbortSignal,
  ): Promise<PartResult> {
    try {
      const files = artifacts.map((artifact) =>
        order.kind === "video"
          ? this.#storeVideo(order, artifact, signal)
          : this.#storePicture(order, artifact, signal),
      );
      return { files: await Promise.all(files), usage };
    } catch (cause) {
      // The provider has finished its job and will bill it.
      const delivered = artifacts.length;
      const reported = {
        accepted: true,
        cause,
        ...(usage === undefined ? {} : { usage: { ...usage, delivered } }),
      };
      if (cause instanceof InvalidImageError || cause instanceof InvalidVideoError)
        throw new ProviderError("failed", cause.message, reported);
      if (cause instanceof StorageError)
        throw new NotStored("failed", cause.message, { usage: { delivered }, ...reported });
      // Cancelled while it waited for its place in memory.
      const waited = signal.aborted && cause === signal.reason;
      const resolved = { kind: "unknown_outcome" as const, message: `given up while it waited: ${cause}` };
      const failure = waited ? resolved : cause instanceof ProviderError ? cause : undefined;
      if (failure === undefined) throw cause;
      const { kind, message } = failure;
      if (signal.aborted && !isTimeout(signal)) throw new LeftRunning("unknown_outcome", message, reported);
      throw new ProviderError(kind, message, reported);
    }
  }

  async #storePicture(
    { accountId: owner, request, outputs }: MediaOrder,
    artifact: Artifact,
    signal: AbortSignal,
  ): Promise<OutputFile> {
    const { convert, previews, read, memory } = this.#options;
    const { output_format: format } = request;
    if (format === VIDEO_FORMAT) throw new Error("a picture is never to be a video");
    const bytes = await read(artifact, MOST_PICTURE_BYTES, signal, async (chunks) => {
      await memory.acquire(signal);
      return collect(chunks);
    });
    const picture = (await convert(bytes, format, owner)).bytes;
    if (outputs.length === 0) return { bytes: picture };
    return { bytes: picture, preview: await previews?.thumbnailOf(picture, owner) };
  }

  /** Streams the video into the storage, unless it must not be stored. A request has one video. */
  async #storeVideo(
    { accountId: owner, request, outputs }: MediaOrder,
    artifact: Artifact,
    signal: AbortSignal,
  ): Promise<OutputFile> {
    const { read, storage, previews, memory, limits } = this.#options;
    const { mostVideoBytes, mostBase64Bytes } = limits;
    const most =
      request.response_format === "url" ? mostVideoBytes : Math.min(mostVideoBytes, mostBase64Bytes);
    const [name] = outputs;
    const delivered = await read(artifact, most, signal, async (chunks) => {
      if (name === undefined) {
        await memory.acquire(signal, PLACES_OF_VIDEO);
        return { bytes: await collect(mp4Only(chunks)) };
      }
      await storage.put(name, mp4Only(chunks));
      return { storedAs: name };
    });
    return name === undefined ? delivered : { ...delivered, preview: await previews?.posterOf(name, owner) };
  }

  /** Time for the work, in milliseconds: up to the kind's limit, or to the hold's deadline without the grace. */
  #timeLeft({ deadlineAt, kind }: MediaOrder): number {
    const { clock, graceMs, limits } = this.#options;
    return Math.min(deadlineAt - graceMs - clock.now(), limits.timeoutMs[kind]);
  }

  /** @param cost undefined if the provider's bill is to be queried */
  async #deliver(
    { order, route }: Attempt,
    delivered: readonly PartResult[],
    failures: readonly ProviderError[],
    { cost, providerMs }: { readonly cost: PicoUsd | undefined; readonly providerMs: number },
  ): Promise<End> {
    const { storage, events, clock } = this.#options;
    for (const failure of failures) events.partFailed(order, route, failure);
    this.#reportRefusal(order, route, failures);
    const files = delivered.flatMap((part) => part.files);
    const outputs = order.outputs.slice(0, files.length);
    const puts = outputs.map(async (name, index) => {
      const file = files[index];
      if (file !== undefined && "bytes" in file) await storage.put(name, file.bytes);
    });
    // All writes have ended before a file is deleted, so that none is written afterwards.
    const failed = (await Promise.allSettled(puts)).find((put) => put.status === "rejected");
    if (failed !== undefined) return this.#notStored({ order, route }, cost, failed.reason);
    const previews = await this.#putPreviews(outputs, files);
    const parts = delivered.map((part) => ({ most: shareOf(order, part.files.length), usage: part.usage }));
    const tokens = tokensOf(delivered);
    const price = order.rule ?? this.#options.catalog.find(order.model)?.price;
    const charge = chargeByUse(price, order, shareOf(order, files.length), parts);
    return {
      kind: "delivered",
      bill: cost === undefined ? undefined : { charge, cost },
      billId: "",
      billOf: (found) => ({ charge, cost: found?.cost ?? shareOf(order, files.length) }),
      productOf: () => ({ route, files, outputs, previews, tokens, finishedAt: clock.now(), providerMs }),
    };
  }

  /** @returns the names of the stored previews: the output is valid without them */
  async #putPreviews(outputs: readonly string[], files: readonly OutputFile[]): Promise<string[]> {
    const puts = outputs.map(async (output, index) => {
      const preview = files[index]?.preview;
      if (preview === undefined) return [];
      const name = previewNameOf(output);
      return this.#options.storage.put(name, preview).then(
        () => [name],
        () => [],
      );
    });
    return (await Promise.all(puts)).flat();
  }

  #failed(attempt: Attempt, failures: readonly [ProviderError, ...ProviderError[]]): End {
    const { order, route, provider } = attempt;
    const failure = failureOf(failures);
    if (failure.kind !== "misconfigured") this.#reportRefusal(order, route, failures);
    if (failure instanceof NotStored) {
      return this.#notStored(attempt, costOf(attempt, [], failures), failure.cause);
    }
    const { kind, message, retryAfterMs } = failure;
    const error = callerError(kind, message, { retryAfterMs, cause: failure });
    const lost = kind === "timeout" || kind === "unknown_outcome";
    const cost = costOf(attempt, [], failures);
    const over = kind === "failed" || kind === "cancelled";
    if (lost || (over && cost === undefined && provider.lookUp !== undefined)) {
      this.#options.events.outcomeUnknown(order, route, failure);
      return { kind: "unknown", error, billId: "", why: kind, message };
    }
    this.#options.events.failed(order, route, failure);
    return { ...FAILED, error, cost, mayFallBack: fallsBack(failure), why: kind, message };
  }

  /** Reports a refused account of the operator also for a request that ends in another way. */
  #reportRefusal(order: MediaOrder, route: Route, failures: readonly ProviderError[]): void {
    const refusal = failures.find(({ kind }) => kind === "misconfigured");
    if (refusal !== undefined) this.#options.events.accountRefused(order, route, refusal);
  }

  #notStored(
    { order, route }: Pick<Attempt, "order" | "route">,
    cost: PicoUsd | undefined,
    cause: unknown,
  ): Failed {
    this.#options.events.notStored(order, route, cause);
    const message = "the media could not be stored";
    const error = callerError(NOT_STORED, message, { cause });
    return { ...FAILED, error, cost, why: NOT_STORED, message };
  }

  /** Uses today's catalogue: a removed model has no cost price. */
  #costPriceOf({ model }: MediaOrder, { provider, upstreamModel }: Route) {
    return this.#options.catalog
      .find(model)
      ?.routes.find((route) => route.provider === provider && route.upstreamModel === upstreamModel)?.cost;
  }
}

/** The provider delivered a valid output, and we could not store it. */
class NotStored extends ProviderError {}

const FAILED = { kind: "failed", billId: "", isUnsent: false, mayFallBack: false } as const;

function traceOf(
  { order, route }: Attempt,
  end: End,
  { begunAt, endedAt, providerMs }: { begunAt: number; endedAt: number; providerMs: number },
): AttemptTrace {
  const { provider, upstreamModel } = route;
  return {
    ...{ provider, upstreamModel, outcome: end.kind === "delivered" ? "delivered" : end.why },
    beganMs: Math.max(0, Math.round(begunAt - order.createdAt)),
    tookMs: Math.max(0, Math.round(endedAt - begunAt)),
    ...(providerMs === 0 ? {} : { madeMs: Math.round(providerMs) }),
  };
}

/** Another process continues the request and charges for it. */
function leftRunning({ message }: LeftRunning): Unknown {
  const text =
    "This process ended before the request did; another process continues the request. It may still be charged; " +
    "do not send it again before you have looked at your credits.";
  return {
    kind: "unknown",
    error: new ServiceError("outcome_unknown", text),
    billId: "",
    why: LEFT,
    message,
  };
}

function tooLate(): Failed {
  const message = "the time for this job was over before it was sent";
  const error = callerError(NOT_SENT, message);
  return { ...FAILED, error, cost: 0n, isUnsent: true, why: NOT_SENT, message };
}

/** Returns the jobs of an order at a provider. */
function jobsOf(
  { id: requestId, kind, request }: MediaOrder,
  asked: Pick<MediaJob, "prompt" | "inputs">,
  { adapter, upstreamModel: model, fields }: MediaRoute,
): MediaJob[] {
  const mostAtOnce = adapter.kinds[kind]?.mostAtOnce ?? 1;
  return partsOf(request.n, mostAtOnce).map((count, index) => {
    return { ...asked, kind, requestId, part: index + 1, model, count, fields };
  });
}

/** Returns the sum of the tokens that the provider counted; undefined if it counted none. */
function tokensOf(made: readonly PartResult[]): CountedTokens | undefined {
  const counted = made.flatMap(({ usage }) => (usage?.tokens === undefined ? [] : [usage.tokens]));
  if (counted.length === 0) return undefined;
  return {
    input: counted.reduce((sum, { inputTokens }) => sum + inputTokens, 0),
    output: counted.reduce((sum, { outputTokens }) => sum + outputTokens, 0),
    image_input: counted.reduce((sum, { imageInputTokens = 0 }) => sum + imageInputTokens, 0),
  };
}

/** Returns the customer's price for a number of the order's outputs, rounded up. */
function shareOf({ price, request }: MediaOrder, count: number): PicoUsd {
  const [part, all] = [BigInt(count), BigInt(request.n)];
  return (price * part + all - 1n) / all;
}

/** Returns our cost of all parts; undefined if a part may be billed at an unreported price. */
function costOf(
  { order, provider, costPrice }: Attempt,
  delivered: readonly PartResult[],
  failures: readonly ProviderError[],
): PicoUsd | undefined {
  const { kind, request } = order;
  const costing = (count: number) => {
    const meters = metersOf(kind, count, request);
    return { costPrice, listPrice: shareOf(order, count), meters };
  };
  let cost = 0n;
  for (const { usage, files } of delivered) cost += trueCost(usage, costing(files.length));
  const most = Math.min(request.n, provider.kinds[kind]?.mostAtOnce ?? 1);
  for (const { usage, accepted } of failures) {
    if (usage !== undefined) cost += trueCost(usage, costing(usage.delivered ?? most));
    else if (accepted) return undefined;
  }
  return cost;
}
