// How a paid request becomes media: the provider's job within the time that the hold leaves, then pictures decoded,
// encoded anew and stored. Says what became of an attempt, and decides nothing about money.
import type { CatalogCopy } from "@gr/clients";
import type { AttemptContext, AttemptEnd, Failed, Producer, Route } from "@gr/paid-request";
import { ServiceError } from "@gr/proto";
import type { Timer } from "@gr/runtime";
import type { ImageJob, MediaProvider, Operation } from "../providers/provider.ts";
import { ProviderError, type ProviderFailure } from "../providers/provider-error.ts";
import type { MediaRoute } from "../request/choose-routes.ts";
import { type ConvertImage, type ImageFile, InvalidImageError } from "../storage/image-file.ts";
import type { MediaStorage } from "../storage/media-storage.ts";
import { callerError } from "./caller-error.ts";
import type { GenerationEvents } from "./events.ts";
import type { Generation, MediaKinds, MediaOrder } from "./generation.ts";
import { type JobRun, resumeJob, runJob, type Succeeded } from "./run-job.ts";
import { type GenerationStore, NOT_SENT } from "./store.ts";
import { withinTime } from "./time-limit.ts";
import { type Costing, trueCost } from "./true-cost.ts";

type End = AttemptEnd<MediaKinds>;

/** Failures after which another provider may do better. */
const ELSEWHERE = new Set<ProviderFailure>(["rate_limited", "unavailable", "failed", "misconfigured"]);

export interface MediaWorkOptions {
  readonly store: Pick<GenerationStore, "saveOperation">;
  readonly storage: MediaStorage;
  readonly catalog: CatalogCopy;
  readonly providers: ReadonlyMap<string, MediaProvider>;
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
  readonly costing: Costing;
}

export class MediaWork {
  readonly #options: MediaWorkOptions;

  constructor(options: MediaWorkOptions) {
    this.#options = options;
  }

  /** @param routes best first */
  producer(
    order: MediaOrder,
    job: Omit<ImageJob, "model">,
    routes: readonly [MediaRoute, ...MediaRoute[]],
  ): Producer<MediaKinds> {
    return {
      routes,
      attempt: async (_route, { number, signal }) => {
        // This process may have stood still since the hold: what came could not be charged for any more.
        if (this.#timeLeft(order) <= 0) return tooLate();
        const route = routes[number - 1] ?? routes[0];
        const { adapter: provider, upstreamModel: model } = route;
        const attempt = { order, route, provider, costing: costingOf(order, route.cost) };
        const end = await this.#run(attempt, signal, (run) =>
          runJob(run, () => provider.submit({ ...job, model }, run.signal)),
        );
        return end instanceof ProviderError ? this.#failed(attempt, end) : this.#deliver(attempt, end);
      },
    };
  }

  /** Goes on with a job that another process left running; undefined when there is none, or no time for it. */
  resumeOf({ order, route, operation }: Generation): ((context: AttemptContext) => Promise<End>) | undefined {
    const provider = this.#options.providers.get(route.provider);
    if (operation === null || provider === undefined || this.#timeLeft(order) <= 0) return undefined;
    const attempt = { order, route, provider, costing: costingOf(order, this.#costPriceOf(order, route)) };
    return async ({ signal }) => {
      this.#options.events.resumed(order, route);
      const end = await this.#run(attempt, signal, (run) => resumeJob(run, operation));
      if (end instanceof ProviderError) return this.#failed(attempt, end);
      if (order.request.response_format !== "b64_ephemeral") return this.#deliver(attempt, end);
      // Nobody is there to take it, and it must not be kept.
      const message = "made after its caller had gone, and not to be kept";
      const usage = { billed: trueCost(end.usage, attempt.costing) };
      return this.#failed(attempt, new ProviderError("failed", message, { accepted: true, usage }));
    };
  }

  async #run(
    { order, provider }: Attempt,
    giveUp: AbortSignal,
    job: (run: JobRun) => Promise<Succeeded>,
  ): Promise<Succeeded | ProviderError> {
    const { clock, store } = this.#options;
    const saveOperation = (operation: Operation) => store.saveOperation(order.id, operation);
    const work = (signal: AbortSignal) => job({ provider, clock, signal, saveOperation });
    try {
      return await withinTime(clock, Math.max(1, this.#timeLeft(order)), work, giveUp);
    } catch (error) {
      if (error instanceof ProviderError) return error;
      throw error;
    }
  }

  /** Milliseconds. */
  #timeLeft({ deadlineAt }: MediaOrder): number {
    const { clock, graceMs, timeoutMs } = this.#options;
    return Math.min(deadlineAt - graceMs - clock.now(), timeoutMs);
  }

  async #deliver(attempt: Attempt, { outputs, usage }: Succeeded): Promise<End> {
    const { convert, storage, events, clock } = this.#options;
    const { order, route, costing } = attempt;
    const cost = trueCost(usage, costing);
    let files: ImageFile[];
    try {
      files = await all(outputs.map(({ bytes }) => convert(bytes, order.request.output_format)));
      await all(
        order.outputs.map((name, index) => storage.put(name, files[index]?.bytes ?? Buffer.alloc(0))),
      );
    } catch (cause) {
      // The provider has done its part and will bill it.
      if (cause instanceof InvalidImageError) {
        const reported = { accepted: true, usage: { billed: cost }, cause };
        return this.#failed(attempt, new ProviderError("failed", cause.message, reported));
      }
      events.notStored(order, route, cause);
      const told = "What was made could not be stored. You are not charged.";
      const error = new ServiceError("internal_error", told, { cause });
      return { ...FAILED, error, cost, why: "not_stored", message: "the media could not be stored" };
    }
    const bill = { charge: order.credits, cost };
    const productOf = () => ({ route, files, finishedAt: clock.now() });
    return { kind: "delivered", bill, billId: "", billOf: () => bill, productOf };
  }

  #failed({ order, route, provider, costing }: Attempt, failure: ProviderError): End {
    const { kind, accepted, usage, message } = failure;
    const error = callerError(failure);
    const lost = kind === "timeout" || kind === "unknown_outcome";
    const unreported = accepted && usage === undefined;
    if (lost || (kind === "failed" && unreported && provider.lookUp !== undefined)) {
      this.#options.events.outcomeUnknown(order, route, failure);
      return { kind: "unknown", error, billId: "", why: kind, message };
    }
    this.#options.events.failed(order, route, failure);
    const cost = usage === undefined ? 0n : trueCost(usage, costing);
    const fallBack = !accepted && ELSEWHERE.has(kind);
    // Only what the provider may have begun can be billed later.
    return { ...FAILED, error, cost: unreported ? undefined : cost, fallBack, why: kind, message };
  }

  /** By today's catalogue: the cost price of a model that has left it is not known any more. */
  #costPriceOf({ model }: MediaOrder, { provider, upstreamModel }: Route) {
    return this.#options.catalog
      .find(model)
      ?.routes.find((route) => route.provider === provider && route.upstreamModel === upstreamModel)?.cost;
  }
}

const FAILED = { kind: "failed", billId: "", notSent: false, fallBack: false } as const;

function tooLate(): Failed {
  const told = "The time for this request was over before it was sent; try again. You are not charged.";
  const error = new ServiceError("provider_unavailable", told, { retryAfterMs: RETRY_AFTER_MS });
  const message = "the time for this job was over before it was sent";
  return { ...FAILED, error, cost: 0n, notSent: true, why: NOT_SENT, message };
}

function costingOf({ price: listPrice, request }: MediaOrder, costPrice: MediaRoute["cost"]): Costing {
  const { n: count, size, quality } = request;
  return { costPrice, listPrice, count, size, quality };
}

/** As Promise.all, but ends only when all have: a file is never written after it was removed. */
async function all<T>(tasks: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(tasks);
  return Promise.all(tasks);
}
