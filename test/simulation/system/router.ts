// Router owns one router process: the real library of paid requests serves text and media in it, and resolves open holds, also those of other
// processes. The answers to callers follow from the results and errors of the library.
import { createBilling } from "@gr/clients";
import type { LogEntry } from "@gr/media-generation/simulated";
import {
  type Ending,
  HoldRecord,
  type Kinds,
  type LookUp,
  type PaidRequestEvents,
  PaidRequests,
  type Route,
  UNRESOLVED,
} from "@gr/paid-request";
import { ServiceError } from "@gr/proto";
import { CircuitBreaker, chooseRoutes } from "@gr/text-proxy/simulated";
import { violated } from "../books/invariants.ts";
import { numberOf } from "../ledger/ids.ts";
import type { Refusal } from "../ledger/operation.ts";
import type { Covered } from "../world/coverage.ts";
import { type Caller, silence } from "../world/network.ts";
import { idleRounds, type Life, Process } from "../world/process.ts";
import {
  BREAKER,
  CLAIM_LIFETIME_MS,
  HOLD_FOR_MS,
  HOLD_GRACE_MS,
  HOLD_LEASE_MS,
  MOST_RUNNING,
  MOST_SKEW_MS,
  RENEW_HOLDS_MS,
  RESOLVE_INTERVAL_MS,
  SEARCH_PAUSES,
} from "../world/timing.ts";
import { billingClient } from "./billing-process.ts";
import { MediaDesk, type Removed } from "./media-desk.ts";
import { type Answer, orderOf, type Request } from "./request.ts";
import type { Surroundings } from "./surroundings.ts";
import {
  breakersByUpstream,
  routeOf,
  type TextKinds,
  type TextOrder,
  TextProducer,
} from "./text-producer.ts";
import { isTrouble, watchProducer } from "./watch-attempt.ts";

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

/** Memory of a process. */
interface Memory {
  readonly life: Life;
  readonly billing: ReturnType<typeof createBilling>;
  readonly text: PaidRequests<TextKinds>;
  /** Of each upstream, for its one model. */
  readonly breakers: ReadonlyMap<string, CircuitBreaker>;
  readonly media: MediaDesk;
}

export class Router {
  readonly process: Process;
  readonly #surroundings: Surroundings;
  /** Callers that wait for this process. Each is notified of its death. */
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
    const media = new MediaDesk(this.#surroundings, life, billing, {
      events: this.#events(life),
      requestOf: (id) => this.#request(id),
      expected: (error) => this.#expected(error),
    });
    this.#memory = { life, billing, text, breakers: this.#breakers(life), media };
    text.start();
    media.start();
  }

  #breakers(life: Life): ReadonlyMap<string, CircuitBreaker> {
    const { world, upstreams } = this.#surroundings;
    const events = {
      opened: () => world.count("breakers opened"),
      closed: () => world.count("breakers closed"),
    };
    const breaker = () => new CircuitBreaker(BREAKER, () => life.now(), events);
    return new Map([...upstreams.keys()].map((provider) => [provider, breaker()]));
  }

  #lookUp<K extends Kinds>(life: Life): LookUp<K> {
    const { upstreams } = this.#surroundings;
    return {
      canAsk: (provider) => upstreams.get(provider)?.tells("text") === true,
      ask: async (provider, id) => upstreams.get(provider)?.lookUp(life, numberOf(id)) ?? "silent",
    };
  }

  #events<K extends Kinds>(life: Life): PaidRequestEvents<K> {
    const { world } = this.#surroundings;
    return {
      notCovered: () => world.count("charges cut to their hold"),
      routeReopened: () => undefined,
      routeClosed: () => world.count("routes closed by losses"),
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
    world.count(ending.why === UNRESOLVED ? "resolver: given up" : "resolver: costs found");
    // A search among several bills can miss some.
    if (ending.why !== UNRESOLVED && request.n === 1) return;
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
        let accepted = false;
        const accept = () => {
          accepted = true;
          world.after(world.latency(), () => caller.settle({ kind: "accepted" }));
        };
        const answer = await this.#answer(memory, request, madeAt, accept);
        if (answer !== undefined) {
          if (world.tracing)
            world.note(`${this.process.name}: ${request.hold} is answered: ${describe(answer)}`);
          request.answer = answer;
          if (!accepted) world.after(world.latency(), () => caller.settle(answer));
        }
        request.endedAt = world.now;
        this.#waiting.delete(request);
      }),
    );
  }

  /** @returns undefined without a waiting caller */
  async #answer(
    memory: Memory,
    request: Request,
    madeAt: number,
    accept: () => void,
  ): Promise<Answer | undefined> {
    try {
      if (request.service === "text") return await this.#answerText(memory, request, madeAt);
      return await memory.media.serve(request, madeAt, accept);
    } catch (error) {
      this.#expected(error);
      return this.#answerOf(error);
    }
  }

  async #answerText(
    { life, text, billing, breakers }: Memory,
    request: Request,
    madeAt: number,
  ): Promise<Answer | undefined> {
    const { world, ledger, upstreams } = this.#surroundings;
    const order: TextOrder = { ...orderOf(life, request, madeAt), request };
    const model = { id: "model", routes: request.providers.map(routeOf) };
    const isClosed = (route: Route) => text.losses.isClosed(route, order.accountId);
    const [first, ...others] = chooseRoutes(model, breakersByUpstream(breakers), isClosed);
    if (first === undefined) {
      world.count("refused: all routes lose money");
      throw new ServiceError("provider_unavailable", "No provider serves the model now.");
    }
    const routes: readonly [Route, ...Route[]] = [first, ...others];
    const made = new TextProducer({ life, ledger, upstreams, breakers, routes, order, isClosed });
    const producer = watchProducer(life, request, made);
    const served = await text.serve(order, producer, () => request.left);
    switch (served.kind) {
      case "answered":
        return { kind: "ok", charge: served.bill.charge, made: 1 };
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

  /** Returns the entry of a request in the log. */
  look(request: Request, caller: Caller<LogEntry>): void {
    this.#tell(caller, (media) => media.look(request));
  }

  /** Deletes the files of a request, or releases it as unresolved. */
  remove(request: Request, caller: Caller<Removed>): void {
    this.#tell(caller, (media) => media.remove(request));
  }

  /** @param caller gets no answer if this process dies first */
  #tell<Reply>(caller: Caller<Reply>, ask: (media: MediaDesk) => Promise<Reply>): void {
    const memory = this.#memory;
    const { world } = this.#surroundings;
    if (memory === undefined || !memory.life.alive) {
      caller.fail(silence());
      return;
    }
    const { life, media } = memory;
    life.reach(() =>
      life.run(async () => {
        const reply = await ask(media).catch((error) => {
          this.#expected(error);
          return undefined;
        });
        world.after(world.latency(), () =>
          reply === undefined ? caller.fail(silence()) : caller.settle(reply),
        );
      }),
    );
  }

  #replay(earlier: number, { hold }: Request, answer: object | undefined): Answer {
    const { world, ledger, requests } = this.#surroundings;
    world.count("claims: finished");
    if (answer !== undefined) {
      world.count("answered from an earlier request");
      return { kind: "replayed", hold: earlier };
    }
    const age = world.now - (ledger.audit.holds.get(earlier)?.placedAt ?? 0);
    if (age + MOST_SKEW_MS >= CLAIM_LIFETIME_MS) world.count("kept answers that were over");
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

const KEPT = { contentType: "text/plain", body: new Uint8Array(1) };

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
