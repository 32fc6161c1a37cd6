// Media desk owns media in one life of a router: the real generation of media, its record, its look-ups, and the deletion of files, for clients
// that wait and for asynchronous ones.
import type { createBilling } from "@gr/clients";
import {
  createArtifactReader,
  type Generation,
  type GenerationEvents,
  GenerationRecord,
  type ImageFile,
  type LogEntry,
  type MediaKinds,
  type MediaLimits,
  MediaLookUp,
  type MediaOrder,
  type MediaProvider,
  type MediaRoute,
  MediaWork,
  MemoryPlaces,
  type RemovalDeps,
  readEntry,
  removeContent,
} from "@gr/media-generation/simulated";
import { PICO_PER_CREDIT } from "@gr/money";
import { type Answered, type PaidRequestEvents, PaidRequests } from "@gr/paid-request";
import { ServiceError } from "@gr/proto";
import { violated } from "../books/invariants.ts";
import { holdId, idOf, numberOf } from "../ledger/ids.ts";
import { runStatement } from "../ledger/postgres.ts";
import { idleRounds, type Life } from "../world/process.ts";
import {
  HOLD_GRACE_MS,
  HOLD_LEASE_MS,
  MOST_RUNNING,
  RENEW_ROWS_MS,
  RESOLVE_INTERVAL_MS,
  ROW_LEASE_MS,
  SEARCH_PAUSES,
  UPSTREAM_TIMEOUT_MS,
} from "../world/timing.ts";
import { catalogOf, providerOf, storageOf } from "./media-parts.ts";
import { type Answer, orderOf, type Request } from "./request.ts";
import type { Surroundings } from "./surroundings.ts";
import { watchAttempt, watchProducer } from "./watch-attempt.ts";

/** Few, so that requests wait for each other. */
const MOST_IN_MEMORY = 2;
const LIMITS: MediaLimits = {
  timeoutMs: { image: UPSTREAM_TIMEOUT_MS, video: UPSTREAM_TIMEOUT_MS },
  mostVideoBytes: 1_000,
  mostBase64Bytes: 1_000,
};

/** Result of a deletion. */
export type Removed = Awaited<ReturnType<typeof removeContent>>["removed"] | "refused";

/** Parts from the router. */
interface Watch {
  readonly events: PaidRequestEvents<MediaKinds>;
  requestOf(id: string): Request;
  /** @throws for an error that is none of the simulated trouble */
  expected(error: unknown): void;
}

export class MediaDesk {
  readonly #surroundings: Surroundings;
  readonly #life: Life;
  readonly #watch: Watch;
  readonly #providers: ReadonlyMap<string, MediaProvider>;
  readonly #places = new MemoryPlaces(MOST_IN_MEMORY);
  readonly #work: MediaWork;
  readonly #media: PaidRequests<MediaKinds>;
  readonly #removal: RemovalDeps;

  constructor(
    surroundings: Surroundings,
    life: Life,
    billing: ReturnType<typeof createBilling>,
    watch: Watch,
  ) {
    this.#surroundings = surroundings;
    this.#life = life;
    this.#watch = watch;
    const { world, ledger, upstreams, table, files } = surroundings;
    const events = this.#events();
    const clock = idleRounds(
      life,
      new Map([
        [RESOLVE_INTERVAL_MS, () => table.anyDue() || ledger.anyExpired("media")],
        [RENEW_ROWS_MS, () => this.#media.running.ids().length > 0],
      ]),
    );
    this.#providers = new Map(
      [...upstreams].map(([name, upstream]) => [name, providerOf(life, surroundings, upstream)]),
    );
    const parts = {
      store: table.storeOf(life, () => world.count("rows that had passed to another")),
      storage: storageOf(life, files),
      catalog: catalogOf(),
      providers: this.#providers,
      convert: async (bytes: Buffer, format: ImageFile["format"]) => ({ bytes, format, width: 1, height: 1 }),
      read: createArtifactReader({ stream: noLinks }, clock),
      memory: this.#places,
      events,
      clock,
    };
    this.#work = new MediaWork({ ...parts, limits: LIMITS, graceMs: HOLD_GRACE_MS });
    this.#removal = { ...parts, generationLog: table.logOf(life), work: this.#work };
    this.#media = new PaidRequests({
      service: "media",
      billing,
      record: new GenerationRecord({
        ...parts,
        leaseMs: ROW_LEASE_MS,
        resumeOf: (generation) => this.#resumeOf(generation),
        passed: (id) => this.#media.running.cancel(id, "another process has taken it"),
        cancelled: (id) => {
          world.count("media: given up at another process");
          this.#work.cancel(id);
        },
      }),
      lookUp: new MediaLookUp(this.#providers, events, clock),
      events,
      clock,
      settings: {
        mostRunning: MOST_RUNNING,
        graceMs: HOLD_GRACE_MS,
        resolveEveryMs: RESOLVE_INTERVAL_MS,
        leaseMs: HOLD_LEASE_MS,
        renewEveryMs: RENEW_ROWS_MS,
        searchPauses: SEARCH_PAUSES,
      },
    });
  }

  start(): void {
    this.#media.start();
  }

  /** @param accept called for an asynchronous client once a process certainly does the work */
  serve(request: Request, madeAt: number, accept: () => void): Promise<Answer | undefined> {
    return this.#places.during(String(request.account), () => this.#serve(request, madeAt, accept));
  }

  async #serve(request: Request, madeAt: number, accept: () => void): Promise<Answer | undefined> {
    const { world, table } = this.#surroundings;
    const life = this.#life;
    const order = mediaOrderOf(life, request, madeAt);
    const job = { prompt: "", inputs: [] };
    const producer = watchProducer(life, request, this.#work.producer(order, job, this.#routesOf(request)));
    const { asynchronous } = request;
    const begun = await this.#media.begin(order, producer, () => !asynchronous && request.left);
    if (begun.kind === "begun") {
      if (asynchronous) {
        world.count("media: accepted");
        accept();
      }
      return this.#answered(request, await begun.served);
    }
    if (begun.kind === "left") return undefined;
    const earlier = numberOf(begun.id);
    world.count("claims: finished");
    const state = await runStatement(life, () => table.rows.get(earlier)?.state);
    if (state !== "succeeded") {
      throw world.fail(violated("I8", `${request.hold} repeats ${earlier}, which has no answer`));
    }
    world.count("answered from an earlier request");
    return { kind: "replayed", hold: earlier };
  }

  #answered({ n, kind }: Request, { product, bill }: Answered<MediaKinds>): Answer {
    const { world } = this.#surroundings;
    const made = product.files.length;
    if (kind === "video") world.count("media: videos");
    if (made < n) world.count("media: made in part");
    return { kind: "ok", charge: bill.charge, made };
  }

  /** @throws ServiceError if the request is not in the log, and the error of a lost connection */
  look({ hold, account, spender }: Request): Promise<LogEntry> {
    const owner = { accountId: idOf(account), keyId: idOf(spender) };
    return readEntry(this.#removal.generationLog, owner, holdId(hold, 0));
  }

  /** @throws as `look` does */
  async remove({ hold, account, spender }: Request): Promise<Removed> {
    const owner = { accountId: idOf(account), keyId: idOf(spender) };
    try {
      return (await removeContent(this.#removal, owner, holdId(hold, 0))).removed;
    } catch (error) {
      if (error instanceof ServiceError && error.reason === "generation_running") return "refused";
      throw error;
    }
  }

  #routesOf({ providers }: Request): readonly [MediaRoute, ...MediaRoute[]] {
    const [first, ...others] = providers.flatMap((provider): MediaRoute[] => {
      const adapter = this.#providers.get(provider);
      return adapter === undefined
        ? []
        : [{ provider, upstreamModel: "model", cost: undefined, adapter, fields: {} }];
    });
    if (first === undefined) throw new Error("there is no provider");
    return [first, ...others];
  }

  #resumeOf(generation: Generation): ReturnType<MediaWork["resumeOf"]> {
    const resume = this.#work.resumeOf(generation);
    const request = this.#watch.requestOf(generation.order.id);
    // No process can deliver an answer without stored files any more.
    const { ephemeral } = request;
    return (
      resume &&
      (async (context) => {
        const end = await watchAttempt(this.#life, request, () => resume(context), ephemeral);
        if (end.kind === "delivered" && !ephemeral) request.made = true;
        return end;
      })
    );
  }

  #events(): GenerationEvents {
    const { world } = this.#surroundings;
    return {
      ...this.#watch.events,
      succeeded: () => undefined,
      failed: () => undefined,
      partFailed: (_order, _route, { accepted, usage }) => {
        if (accepted && usage === undefined) world.count("media: made in part, the bill not known");
      },
      accountRefused: () => undefined,
      outcomeUnknown: (_order, _route, { kind }) => {
        if (kind === "cancelled") world.count("media: given up in time");
      },
      noProvider: () => undefined,
      notStored: () => undefined,
      notDiscarded: (_id, error) => this.#watch.expected(error),
      notLookedUp: () => undefined,
      replayed: () => undefined,
      resumed: () => world.count("resolver: jobs resumed"),
      endedUnanswered: () => undefined,
      contentRemoved: () => undefined,
      partialNotSent: () => undefined,
    };
  }
}

const noLinks = () => {
  throw new Error("no provider has links here");
};

function mediaOrderOf(life: Life, request: Request, madeAt: number): MediaOrder {
  const { hold, kind, n, credits, ephemeral, asynchronous } = request;
  const format = kind === "video" ? "mp4" : "png";
  return {
    ...orderOf(life, request, madeAt),
    kind,
    request: { n, output_format: format, response_format: ephemeral ? "b64_ephemeral" : "url" },
    price: credits * PICO_PER_CREDIT,
    outputs: ephemeral ? [] : Array.from({ length: n }, (_, index) => `media-${hold}-${index + 1}`),
    asynchronous,
    hasSeveralBills: n > 1,
    attempts: [],
    createdAt: life.now(),
  };
}
