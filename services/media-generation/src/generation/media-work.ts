// How a paid request becomes media: the provider's job within the time that the hold leaves, then pictures decoded,
// encoded anew and stored. Says what became of an attempt, and decides nothing about money.
import type { CatalogCopy } from "@gr/clients";
import type { PicoUsd } from "@gr/money";
import type { AttemptContext, AttemptEnd, Failed, Producer, Route, Unknown } from "@gr/paid-request";
import { ServiceError } from "@gr/proto";
import type { Price } from "@gr/proto/catalog";
import type { Timer } from "@gr/runtime";
import type { ReadArtifact } from "../providers/artifact.ts";
import { type MediaJob, type MediaProvider, type ReportedUsage, submitJob } from "../providers/provider.ts";
import { ProviderError, type ProviderFailure } from "../providers/provider-error.ts";
import type { MediaRoute } from "../request/choose-routes.ts";
import { type ConvertImage, type ImageFile, InvalidImageError } from "../storage/image-file.ts";
import type { MediaStorage } from "../storage/media-storage.ts";
import { callerError } from "./caller-error.ts";
import type { GenerationEvents } from "./events.ts";
import type { Generation, MediaKinds, MediaOrder } from "./generation.ts";
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
import { type GenerationStore, LEFT, NOT_SENT } from "./store.ts";
import { isTimeout, withinTime } from "./time-limit.ts";
import { chargeByUse, trueCost } from "./true-cost.ts";

type End = AttemptEnd<MediaKinds>;

/** Failures after which another provider may do better. */
const ELSEWHERE = new Set<ProviderFailure>(["rate_limited", "unavailable", "failed", "misconfigured"]);

export interface MediaWorkOptions {
  readonly store: Pick<GenerationStore, "saveOperations">;
  readonly storage: MediaStorage;
  readonly catalog: CatalogCopy;
  readonly providers: ReadonlyMap<string, MediaProvider>;
  /** Brings an artifact here. @throws ProviderError */
  readonly read: ReadArtifact;
  readonly convert: ConvertImage;
  readonly events: GenerationEvents;
  readonly clock: Timer;
  /** Longest time that one generation may take, in milliseconds. */
  readonly timeoutMs: number;
  /** How long before the hold's deadline the work must be over: a bill may come so much later. */
  readonly graceMs: number;
}

const RETRY_AFTER_MS = 1_000;

/** One attempt at an order. */
interface Attempt {
  readonly order: MediaOrder;
  readonly route: Route;
  readonly provider: MediaProvider;
  /** What the provider bills us by the catalogue. */
  readonly costPrice: Price | undefined;
}

/** What one job has made. */
interface Made {
  readonly files: readonly ImageFile[];
  readonly usage: ReportedUsage | undefined;
}

export class MediaWork {
  readonly #options: MediaWorkOptions;

  constructor(options: MediaWorkOptions) {
    this.#options = options;
  }

  /** @param routes best first */
  producer(
    order: MediaOrder,
    asked: Pick<MediaJob, "prompt" | "inputs">,
    routes: readonly [MediaRoute, ...MediaRoute[]],
  ): Producer<MediaKinds> {
    return {
      routes,
      attempt: async (_route, { number, signal }) => {
        // This process may have stood still since the hold: what came could not be charged for any more.
        if (this.#timeLeft(order) <= 0) return tooLate();
        const route = routes[number - 1] ?? routes[0];
        const attempt = { order, route, provider: route.adapter, costPrice: route.cost };
        return this.#run(attempt, signal, (run) => {
          const jobs = jobsOf(order, asked, route);
          return runParts(
            run,
            jobs.map((job) => () => submitJob(route.adapter, job, run.signal)),
          );
        });
      },
    };
  }

  /** Goes on with jobs that another process left running; undefined when there are none, or no time for them. */
  resumeOf({
    order,
    route,
    operations,
  }: Generation): ((context: AttemptContext) => Promise<End>) | undefined {
    const provider = this.#options.providers.get(route.provider);
    if (operations === null || provider === undefined || this.#timeLeft(order) <= 0) return undefined;
    const attempt = { order, route, provider, costPrice: this.#costPriceOf(order, route) };
    return ({ signal }) => {
      this.#options.events.resumed(order, route);
      // Nobody is there to take what must not be kept.
      const unwanted = order.request.response_format === "b64_ephemeral";
      return this.#run(attempt, signal, (run) => resumeParts(run, operations), unwanted);
    };
  }

  async #run(
    attempt: Attempt,
    giveUp: AbortSignal,
    work: (run: PartsRun<Made>) => Promise<PartsEnd<Made>>,
    unwanted = false,
  ): Promise<End> {
    const { clock, store } = this.#options;
    const { order, provider } = attempt;
    const { made, failures } = await withinTime(
      clock,
      Math.max(1, this.#timeLeft(order)),
      (signal) => {
        const save = (parts: SavedParts) => store.saveOperations(order.id, parts);
        return work({ provider, clock, signal, save, take: (part) => this.#take(order, part, signal) });
      },
      giveUp,
    );
    const [failure, ...others] = failures;
    const left = failures.find((each) => each instanceof LeftRunning);
    if (left !== undefined) return leftRunning(left);
    if (failure !== undefined && made.length === 0) return this.#failed(attempt, [failure, ...others]);
    const cost = costOf(attempt, made, failures);
    if (!unwanted) return this.#deliver(attempt, made, failures, cost);
    const message = "made after its caller had gone, and not to be kept";
    const wasted = new ProviderError("failed", message, {
      accepted: true,
      ...(cost === undefined ? {} : { usage: { billed: cost } }),
    });
    return this.#failed(attempt, [wasted]);
  }

  /** Brings what a job made, and makes files of it. */
  async #take({ request }: MediaOrder, { artifacts, usage }: Succeeded, signal: AbortSignal): Promise<Made> {
    const { convert, read } = this.#options;
    try {
      const files = await Promise.all(
        artifacts.map(async (artifact) => convert(await read(artifact, signal), request.output_format)),
      );
      return { files, usage };
    } catch (cause) {
      // The provider has done its part and will bill it.
      const reported = { accepted: true, cause, ...(usage === undefined ? {} : { usage }) };
      if (cause instanceof InvalidImageError) throw new ProviderError("failed", cause.message, reported);
      if (cause instanceof ProviderError && signal.aborted && !isTimeout(signal)) {
        throw new LeftRunning("unknown_outcome", cause.message, reported);
      }
      if (cause instanceof ProviderError) throw new ProviderError(cause.kind, cause.message, reported);
      throw cause;
    }
  }

  /** Milliseconds. */
  #timeLeft({ deadlineAt }: MediaOrder): number {
    const { clock, graceMs, timeoutMs } = this.#options;
    return Math.min(deadlineAt - graceMs - clock.now(), timeoutMs);
  }

  /** @param cost undefined when the provider has to be asked for it */
  async #deliver(
    { order, route }: Attempt,
    made: readonly Made[],
    failures: readonly ProviderError[],
    cost: PicoUsd | undefined,
  ): Promise<End> {
    const { storage, events, clock } = this.#options;
    for (const failure of failures) events.partFailed(order, route, failure);
    const files = made.flatMap((part) => part.files);
    const outputs = order.outputs.slice(0, files.length);
    const puts = outputs.map((name, index) => storage.put(name, files[index]?.bytes ?? Buffer.alloc(0)));
    // All have ended before a file is removed, so that none is written afterwards.
    const failed = (await Promise.allSettled(puts)).find((put) => put.status === "rejected");
    if (failed !== undefined) {
      events.notStored(order, route, failed.reason);
      const told = "What was made could not be stored. You are not charged.";
      const error = new ServiceError("internal_error", told, { cause: failed.reason });
      return { ...FAILED, error, cost, why: "not_stored", message: "the media could not be stored" };
    }
    const parts = made.map((part) => ({ most: shareOf(order, part.files.length), usage: part.usage }));
    const price = this.#options.catalog.find(order.model)?.price;
    const charge = chargeByUse(price, order, shareOf(order, files.length), parts);
    return {
      kind: "delivered",
      bill: cost === undefined ? undefined : { charge, cost },
      billId: "",
      billOf: (found) => ({ charge, cost: found?.cost ?? shareOf(order, files.length) }),
      productOf: () => ({ route, files, outputs, finishedAt: clock.now() }),
    };
  }

  #failed(attempt: Attempt, failures: readonly [ProviderError, ...ProviderError[]]): End {
    const { order, route, provider } = attempt;
    const failure = failureOf(failures);
    const { kind, accepted, message } = failure;
    const error = callerError(failure);
    const lost = kind === "timeout" || kind === "unknown_outcome";
    const cost = costOf(attempt, [], failures);
    if (lost || (kind === "failed" && cost === undefined && provider.lookUp !== undefined)) {
      this.#options.events.outcomeUnknown(order, route, failure);
      return { kind: "unknown", error, billId: "", why: kind, message };
    }
    this.#options.events.failed(order, route, failure);
    return { ...FAILED, error, cost, fallBack: !accepted && ELSEWHERE.has(kind), why: kind, message };
  }

  /** By today's catalogue: the cost price of a model that has left it is not known any more. */
  #costPriceOf({ model }: MediaOrder, { provider, upstreamModel }: Route) {
    return this.#options.catalog
      .find(model)
      ?.routes.find((route) => route.provider === provider && route.upstreamModel === upstreamModel)?.cost;
  }
}

const FAILED = { kind: "failed", billId: "", notSent: false, fallBack: false } as const;

/** Another process goes on with it, and charges for it. */
function leftRunning({ message }: LeftRunning): Unknown {
  const told =
    "This process ended before the request did; another one goes on with it. It may still be charged; " +
    "do not send it again before you have looked at your credits.";
  return {
    kind: "unknown",
    error: new ServiceError("outcome_unknown", told),
    billId: "",
    why: LEFT,
    message,
  };
}

function tooLate(): Failed {
  const told = "The time for this request was over before it was sent; try again. You are not charged.";
  const error = new ServiceError("provider_unavailable", told, { retryAfterMs: RETRY_AFTER_MS });
  const message = "the time for this job was over before it was sent";
  return { ...FAILED, error, cost: 0n, notSent: true, why: NOT_SENT, message };
}

/** The jobs that make up an order at a provider. */
function jobsOf(
  { id: requestId, kind, request }: MediaOrder,
  asked: Pick<MediaJob, "prompt" | "inputs">,
  { adapter, upstreamModel: model, fields }: MediaRoute,
): MediaJob[] {
  const mostAtOnce = adapter.makes[kind]?.mostAtOnce ?? 1;
  return partsOf(request.n, mostAtOnce).map((count, index) => {
    return { ...asked, kind, requestId, part: index + 1, model, count, fields };
  });
}

/** What so many of an order cost the customer, rounded up. */
function shareOf({ price, request }: MediaOrder, count: number): PicoUsd {
  const [part, all] = [BigInt(count), BigInt(request.n)];
  return (price * part + all - 1n) / all;
}

/** What all parts cost us; undefined when one of them may have been billed and the provider has not said how much. */
function costOf(
  { order, costPrice }: Attempt,
  made: readonly Made[],
  failures: readonly ProviderError[],
): PicoUsd | undefined {
  const { n, size, quality } = order.request;
  const costing = (count: number) => ({ costPrice, listPrice: shareOf(order, count), count, size, quality });
  let cost = 0n;
  for (const { usage, files } of made) cost += trueCost(usage, costing(files.length));
  for (const { usage, accepted } of failures) {
    if (usage !== undefined) cost += trueCost(usage, costing(n));
    else if (accepted) return undefined;
  }
  return cost;
}
