// One router process: the real library of paid requests serves text and media in it, and resolves what was left open, its own
// and others'. What its callers are told follows from what the library returns and throws.
import { createBilling } from "@gr/clients";
import type { GenerationEvents } from "@gr/media-generation/src/generation/events.ts";
import type { Generation, MediaKinds, MediaOrder } from "@gr/media-generation/src/generation/generation.ts";
import { GenerationRecord } from "@gr/media-generation/src/generation/generation-record.ts";
import { MediaLookUp } from "@gr/media-generation/src/generation/look-up.ts";
import { type MediaLimits, MediaWork } from "@gr/media-generation/src/generation/media-work.ts";
import { MemoryPlaces } from "@gr/media-generation/src/generation/memory-places.ts";
import { createArtifactReader } from "@gr/media-generation/src/providers/artifact.ts";
import type { MediaProvider } from "@gr/media-generation/src/providers/provider.ts";
import type { MediaRoute } from "@gr/media-generation/src/request/choose-routes.ts";
import type { ImageFile } from "@gr/media-generation/src/storage/image-file.ts";
import { PICO_PER_CREDIT } from "@gr/money";
import {
  type Ending,
  HoldRecord,
  type Kinds,
  type LookUp,
  type PaidRequestEvents,
  PaidRequests,
  UNRESOLVED,
} from "@gr/paid-request";
import { ServiceError } from "@gr/proto";
import { violated } from "../books/invariants.ts";
import { digestsOf, holdId, idOf, numberOf } from "../ledger/ids.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Refusal } from "../ledger/operation.ts";
import { runStatement } from "../ledger/postgres.ts";
import type { Covered } from "../world/coverage.ts";
import { type Caller, silence } from "../world/network.ts";
import { idleRounds, type Life, Process } from "../world/process.ts";
import {
  CLAIM_LIFETIME_MS,
  HOLD_FOR_MS,
  HOLD_GRACE_MS,
  HOLD_LEASE_MS,
  RENEW_HOLDS_MS,
  RENEW_ROWS_MS,
  RESOLVE_INTERVAL_MS,
  ROW_LEASE_MS,
  SEARCH_PAUSES,
  UPSTREAM_TIMEOUT_MS,
} from "../world/timing.ts";
import type { World } from "../world/world.ts";
import { type BillingProcess, billingClient } from "./billing-process.ts";
import type { GenerationTable } from "./generation-rows.ts";
import { catalogOf, type Files, providerOf, storageOf } from "./media-parts.ts";
import type { Answer, Request } from "./request.ts";
import { type TextKinds, type TextOrder, TextProducer } from "./text-producer.ts";
import type { Upstream } from "./upstream.ts";
import { isTrouble, watchAttempt, watchProducer } from "./watch-attempt.ts";

/** More than a history sends at once. */
const MOST_RUNNING = 1_000;
/** Few, so that requests that another process has begun wait for each other. */
const MOST_IN_MEMORY = 2;
const LIMITS: MediaLimits = {
  timeoutMs: { image: UPSTREAM_TIMEOUT_MS, video: UPSTREAM_TIMEOUT_MS },
  mostVideoBytes: 1,
  mostBase64Bytes: 1,
};

type Refused = { readonly code: Refusal; readonly counted: Covered };
const REFUSALS: ReadonlyMap<string, Refused> = new Map([
  ["insufficient_credits", { code: "balance", counted: "refused: balance" }],
  ["credits_in_flight", { code: "balance, in flight", counted: "refused: balance, in flight" }],
  ["spend_limit_exceeded", { code: "cap", counted: "refused: cap" }],
  ["spend_limit_in_flight", { code: "cap, in flight", counted: "refused: cap, in flight" }],
  ["invalid_api_key", { code: "disabled or deleted", counted: "refused: disabled or deleted" }],
  ["api_key_expired", { code: "expired", counted: "refused: expired" }],
  ["free_limit_exceeded", { code: "free limit", counted: "refused: free limit" }],
  ["idempotency_in_progress", { code: "claim in progress", counted: "claims: in progress" }],
  ["idempotency_mismatch", { code: "claim mismatch", counted: "claims: mismatch" }],
]);

export interface Surroundings {
  readonly world: World;
  readonly ledger: Ledger;
  /** By name. */
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly billing: readonly BillingProcess[];
  readonly requests: readonly Request[];
  readonly table: GenerationTable;
  readonly files: Files;
}

/** What a process has in memory. */
interface Memory {
  readonly life: Life;
  readonly billing: ReturnType<typeof createBilling>;
  readonly text: PaidRequests<TextKinds>;
  readonly media: PaidRequests<MediaKinds>;
  readonly work: MediaWork;
  readonly providers: ReadonlyMap<string, MediaProvider>;
}

export class Router {
  readonly process: Process;
  readonly #surroundings: Surroundings;
  /** Who waits for this process; they learn that it has died. */
  readonly #waiting = new Map<Request, Caller<Answer>>();
  #memory: Memory | undefined;

  constructor(surroundings: Surroundings, name: string) {
    this.#surroundings = surroundings;
    this.process = new Process(
      surroundings.world,
      name,
      (life) => this.#begin(life),
      () => this.#crashed(),
      () => this.#paused(),
    );
  }

  #begin(life: Life): void {
    const { ledger, billing: processes } = this.#surroundings;
    const billing = createBilling(billingClient(life, processes), life);
    const text: PaidRequests<TextKinds> = new PaidRequests({
      service: "text",
      billing,
      record: new HoldRecord(
        billing,
        ({ huge }) => (huge ? undefined : KEPT),
        () => this.#surroundings.world.count("answers too large to be kept"),
      ),
      lookUp: this.#lookUp(life),
      events: this.#events(life),
      clock: idleRounds(
        life,
        new Map([
          [RESOLVE_INTERVAL_MS, () => ledger.anyExpired("text")],
          [RENEW_HOLDS_MS, () => text.running.served > 0],
        ]),
      ),
      settings: {
        mostRunning: MOST_RUNNING,
        graceMs: HOLD_GRACE_MS,
        resolveEveryMs: RESOLVE_INTERVAL_MS,
        leaseMs: HOLD_LEASE_MS,
        renewEveryMs: RENEW_HOLDS_MS,
        holdForMs: HOLD_FOR_MS,
        searchPauses: SEARCH_PAUSES,
      },
    });
    this.#memory = { life, billing, text, ...this.#beginMedia(life, billing) };
    text.start();
    this.#memory.media.start();
  }

  #beginMedia(life: Life, billing: Memory["billing"]): Pick<Memory, "media" | "work" | "providers"> {
    const { world, ledger, upstreams, requests, table, files } = this.#surroundings;
    const events: GenerationEvents = {
      ...this.#events<MediaKinds>(life),
      succeeded: () => undefined,
      failed: () => undefined,
      partFailed: () => undefined,
      outcomeUnknown: () => undefined,
      noProvider: () => undefined,
      notStored: () => undefined,
      notDiscarded: (_id, error) => this.#expected(error),
      notLookedUp: () => undefined,
      replayed: () => undefined,
      resumed: () => world.count("resolver: jobs resumed"),
      endedUnanswered: () => undefined,
      contentRemoved: () => undefined,
    };
    const clock = idleRounds(
      life,
      new Map([
        [RESOLVE_INTERVAL_MS, () => table.anyDue() || ledger.anyExpired("media")],
        [RENEW_ROWS_MS, () => media.running.ids().length > 0],
      ]),
    );
    const providers = new Map(
      [...upstreams].map(([name, upstream]) => [name, providerOf(life, ledger, upstream, requests)]),
    );
    const parts = {
      store: table.storeOf(life, () => world.count("rows that had passed to another")),
      storage: storageOf(life, files),
      catalog: catalogOf(),
      providers,
      convert: async (bytes: Buffer, format: ImageFile["format"]) => ({ bytes, format, width: 1, height: 1 }),
      read: createArtifactReader({ stream: noLinks }, clock),
      memory: new MemoryPlaces(MOST_IN_MEMORY),
      events,
      clock,
    };
    const work = new MediaWork({ ...parts, limits: LIMITS, graceMs: HOLD_GRACE_MS });
    const media: PaidRequests<MediaKinds> = new PaidRequests({
      service: "media",
      billing,
      record: new GenerationRecord({
        ...parts,
        leaseMs: ROW_LEASE_MS,
        resumeOf: (generation) => this.#resumeOf(life, work, generation),
        passed: (id) => media.running.giveUp(id, "another process has taken it"),
        givenUp: (id) => work.giveUp(id),
      }),
      lookUp: new MediaLookUp(providers, events, clock),
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
    return { media, work, providers };
  }

  #resumeOf(life: Life, work: MediaWork, generation: Generation): ReturnType<MediaWork["resumeOf"]> {
    const resume = work.resumeOf(generation);
    const request = this.#request(generation.order.id);
    return (
      resume &&
      (async (context) => {
        const end = await watchAttempt(life, request, () => resume(context));
        // What is not kept can be handed over by nobody any more.
        if (end.kind === "delivered" && !request.ephemeral) request.made = true;
        return end;
      })
    );
  }

  #lookUp<K extends Kinds>(life: Life): LookUp<K> {
    const { upstreams } = this.#surroundings;
    return {
      canAsk: (provider) => upstreams.get(provider)?.askable === true,
      ask: async (provider, id) => upstreams.get(provider)?.lookUp(life, numberOf(id)) ?? "silent",
    };
  }

  #events<K extends Kinds>(life: Life): PaidRequestEvents<K> {
    const { world } = this.#surroundings;
    return {
      chargedAboveHold: () => world.count("charges above the hold, told"),
      billLookedUp: () => world.count("bills looked up"),
      billMetered: () => world.count("bills metered"),
      fellBack: () => world.count("attempts of a second provider"),
      notCaptured: (order, error) => this.#notBooked(order.id, error),
      notBooked: (id, error) => this.#notBooked(id, error),
      resolved: (id, ending) => this.#resolved(life, id, ending),
      lateBill: () => world.count("late bills booked"),
      roundFailed: (error) => this.#expected(error),
    };
  }

  #notBooked(id: string, error: unknown): void {
    const request = this.#request(id);
    if (error instanceof ServiceError) request.notBookedAt = this.#surroundings.world.now;
    else request.recordLost = true;
    this.#expected(error);
  }

  #expected(error: unknown): void {
    if (!isTrouble(error)) this.#surroundings.world.fail(error);
  }

  #resolved(life: Life, id: string, ending: Ending): void {
    const { world } = this.#surroundings;
    const request = this.#request(id);
    if (ending.kind === "captured") {
      const kept = request.service === "text";
      world.count(kept ? "resolver: kept answers captured" : "resolver: made media captured");
      return;
    }
    if (ending.why === "not_sent") {
      world.count("resolver: holds without a row");
      return;
    }
    if (ending.why !== UNRESOLVED) {
      world.count("resolver: costs found");
      return;
    }
    world.count("resolver: given up");
    request.resolvedBy = life;
    request.givenUpAt = world.now;
  }

  #request(id: string): Request {
    const request = this.#surroundings.requests[numberOf(id)];
    if (request === undefined) throw new Error(`there is no request ${id}`);
    return request;
  }

  #crashed(): void {
    const { world } = this.#surroundings;
    world.count("crashes of a router");
    for (const caller of this.#waiting.values()) world.after(1, () => caller.fail(silence()));
    this.#waiting.clear();
  }

  #paused(): void {
    this.#surroundings.world.count("pauses of a router");
    for (const request of this.#waiting.keys()) request.paused = true;
  }

  /** @param caller fails when the connection breaks */
  take(request: Request, madeAt: number, caller: Caller<Answer>): void {
    const memory = this.#memory;
    if (memory === undefined || !memory.life.alive) {
      caller.fail(silence());
      return;
    }
    const { life } = memory;
    const { world } = this.#surroundings;
    this.#waiting.set(request, caller);
    request.servedBy = life;
    life.reach(() =>
      life.run(async () => {
        const answer = await this.#answer(memory, request, madeAt);
        if (answer !== undefined) {
          if (world.tracing)
            world.note(`${this.process.name}: ${request.hold} is answered: ${describe(answer)}`);
          request.answer = answer;
          world.after(world.latency(), () => caller.settle(answer));
        }
        request.endedAt = world.now;
        this.#waiting.delete(request);
      }),
    );
  }

  /** @returns undefined when nobody waits for one */
  async #answer(memory: Memory, request: Request, madeAt: number): Promise<Answer | undefined> {
    try {
      const text = request.service === "text";
      return await (text ? this.#answerText : this.#answerMedia).call(this, memory, request, madeAt);
    } catch (error) {
      this.#expected(error);
      return this.#answerOf(error);
    }
  }

  async #answerText(
    { life, text, billing }: Memory,
    request: Request,
    madeAt: number,
  ): Promise<Answer | undefined> {
    const { ledger, upstreams } = this.#surroundings;
    const order: TextOrder = { ...orderOf(life, request, madeAt), request };
    const made = new TextProducer({ life, ledger, upstreams, order });
    const producer = watchProducer(life, request, made);
    const served = await text.serve(order, producer, () => request.left);
    switch (served.kind) {
      case "answered":
        return { kind: "ok", charge: served.bill.charge };
      case "earlier":
        return this.#replay(
          numberOf(served.id),
          request,
          await billing.readAnswer(order.accountId, served.id),
        );
      case "left":
        return undefined;
    }
  }

  async #answerMedia(
    { life, media, work, providers }: Memory,
    request: Request,
    madeAt: number,
  ): Promise<Answer | undefined> {
    const { world, table } = this.#surroundings;
    const order = mediaOrderOf(life, request, madeAt);
    const [first, ...others] = request.providers.flatMap((provider): MediaRoute[] => {
      const adapter = providers.get(provider);
      return adapter === undefined
        ? []
        : [{ provider, upstreamModel: "model", cost: undefined, adapter, fields: {} }];
    });
    if (first === undefined) throw new Error("there is no provider");
    const job = { prompt: "", inputs: [] };
    const producer = watchProducer(life, request, work.producer(order, job, [first, ...others]));
    const served = await media.serve(order, producer, () => request.left);
    if (served.kind === "answered") return { kind: "ok", charge: served.bill.charge };
    if (served.kind === "left") return undefined;
    const earlier = numberOf(served.id);
    world.count("claims: finished");
    const state = await runStatement(life, () => table.rows.get(earlier)?.state);
    if (state !== "succeeded") {
      throw world.fail(violated("I8", `${request.hold} repeats ${earlier}, which has no answer`));
    }
    world.count("answered from an earlier request");
    return { kind: "replayed", hold: earlier };
  }

  #replay(earlier: number, { hold }: Request, answer: object | undefined): Answer {
    const { world, ledger, requests } = this.#surroundings;
    world.count("claims: finished");
    if (answer !== undefined) {
      world.count("answered from an earlier request");
      return { kind: "replayed", hold: earlier };
    }
    const age = ledger.time - (ledger.audit.holds.get(earlier)?.placedAt ?? 0);
    if (age >= CLAIM_LIFETIME_MS) world.count("kept answers that were over");
    else if (requests[earlier]?.huge !== true) {
      throw world.fail(violated("I8", `${hold} repeats ${earlier}, whose answer was not kept`));
    }
    return { kind: "not kept" };
  }

  #answerOf(error: unknown): Answer {
    const { world } = this.#surroundings;
    if (!(error instanceof ServiceError)) return { kind: "failed" };
    const refused = REFUSALS.get(error.reason);
    if (refused !== undefined) {
      world.count(refused.counted);
      return { kind: "refused", code: refused.code };
    }
    if (error.reason === "outcome_unknown") {
      world.count("outcomes unknown to the client");
      return { kind: "unknown" };
    }
    if (error.reason === "provider_timeout") {
      world.count("answers that came too late");
      return { kind: "late" };
    }
    return { kind: "failed" };
  }
}

const noLinks = () => {
  throw new Error("no provider has links here");
};
const KEPT = { contentType: "text/plain", body: new Uint8Array(1) };

function orderOf(
  life: Life,
  { hold, account, spender, credits, most: mostCredits, claim }: Request,
  madeAt: number,
) {
  return {
    id: holdId(hold, madeAt),
    accountId: idOf(account),
    keyId: idOf(spender),
    model: "model",
    priceVersion: "v1",
    credits,
    mostCredits,
    deadlineAt: life.now() + HOLD_FOR_MS,
    claim: claim && digestsOf(claim),
  };
}

function mediaOrderOf(life: Life, request: Request, madeAt: number): MediaOrder {
  const { hold, credits, ephemeral } = request;
  return {
    ...orderOf(life, request, madeAt),
    kind: "image",
    request: { n: 1, output_format: "png", response_format: ephemeral ? "b64_ephemeral" : "url" },
    price: credits * PICO_PER_CREDIT,
    outputs: ephemeral ? [] : [fileOf(hold)],
    asynchronous: false,
    createdAt: life.now(),
  };
}

/** Under which the media of a request is hosted. */
export function fileOf(hold: number): string {
  return `media-${hold}`;
}

function describe(answer: Answer): string {
  switch (answer.kind) {
    case "ok":
      return `ok, charge ${answer.charge}`;
    case "replayed":
      return `as ${answer.hold} was`;
    case "refused":
      return `refused, ${answer.code}`;
    default:
      return answer.kind;
  }
}
