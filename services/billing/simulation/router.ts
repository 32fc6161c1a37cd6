// One router process: it serves text and media, and resolves what was left open, its own and others'.
import { BillingClient } from "./billing-client.ts";
import type { BillingProcess } from "./billing-process.ts";
import type { Covered } from "./coverage.ts";
import type { GenerationRows } from "./generation-rows.ts";
import type { Ledger } from "./ledger.ts";
import { MediaResolver } from "./media-resolver.ts";
import type { Outcome, Place, Refusal } from "./operation.ts";
import type { Answer, Request } from "./request.ts";
import { serveMedia } from "./serve-media.ts";
import { serveText } from "./serve-text.ts";
import { type Caller, Process, type Steps } from "./task.ts";
import { TextResolver } from "./text-resolver.ts";
import { HOLD_GRACE_MS, RESOLVE_INTERVAL_MS, UPSTREAM_TIMEOUT_MS } from "./timing.ts";
import type { Upstream } from "./upstream.ts";
import type { World } from "./world.ts";

type ClaimOutcome = "claim in progress" | "claim finished" | "claim mismatch";
type MoneyRefusal = Exclude<Refusal, ClaimOutcome>;

const CLAIM_OUTCOMES = new Map<string, Covered>([
  ["claim in progress", "claims: in progress"],
  ["claim finished", "claims: finished"],
  ["claim mismatch", "claims: mismatch"],
]);

export interface Surroundings {
  readonly world: World;
  readonly ledger: Ledger;
  readonly rows: GenerationRows;
  readonly upstream: Upstream;
  readonly billing: readonly BillingProcess[];
}

export class Router {
  readonly process: Process;
  readonly world: World;
  readonly ledger: Ledger;
  readonly rows: GenerationRows;
  readonly upstream: Upstream;
  readonly billing: BillingClient;
  readonly text: TextResolver;
  readonly media: MediaResolver;
  /** What this process works on; it stands still and dies with it. */
  readonly running = new Map<Request, Caller<Answer>>();
  /** Generations whose lease it renews. */
  readonly leased = new Set<number>();

  constructor({ world, ledger, rows, upstream, billing }: Surroundings, name: string) {
    this.world = world;
    this.ledger = ledger;
    this.rows = rows;
    this.upstream = upstream;
    const begin = () => this.#begin();
    this.process = new Process(
      world,
      name,
      begin,
      () => this.#crashed(),
      () => this.#paused(),
    );
    this.billing = new BillingClient(world, this.process, billing, ledger);
    this.text = new TextResolver(this);
    this.media = new MediaResolver(this);
  }

  #begin(): void {
    this.billing.reset();
    this.text.reset();
    this.leased.clear();
    this.process.run(this.#resolveForEver());
  }

  #crashed(): void {
    this.world.count("crashes of a router");
    for (const caller of this.running.values()) this.world.after(1, () => caller.answer(undefined));
    this.running.clear();
  }

  *#resolveForEver(): Steps {
    const { world } = this;
    const task = world.current();
    const wake = () => task.resume();
    for (;;) {
      // A round that finds nothing has no effect; it is left out to save time.
      world.afterInBackground(RESOLVE_INTERVAL_MS, wake);
      yield;
      if (this.ledger.anyExpired("text")) yield* this.text.round();
      if (this.rows.anyDue() || this.ledger.anyExpired("media")) yield* this.media.round();
    }
  }

  #paused(): void {
    this.world.count("pauses of a router");
    for (const request of this.running.keys()) request.paused = true;
  }

  /** @param caller answered with undefined when the connection breaks */
  serve(request: Request, caller: Caller<Answer>): void {
    this.running.set(request, caller);
    this.process.run(this.#serve(request, caller));
  }

  *#serve(request: Request, caller: Caller<Answer>): Steps {
    const given = (given: Answer) => {
      if (this.world.tracing) {
        this.world.note(`${this.process.name}: ${request.hold} is answered: ${describe(given)}`);
      }
      request.answer = given;
      this.world.after(this.world.latency(), () => caller.answer(given));
    };
    if (request.service === "text") yield* serveText(this, request, given);
    else yield* serveMedia(this, request, given);
    this.running.delete(request);
  }

  placeOf({ hold, account, spender, credits, service, claim }: Request): Place {
    const madeAt = this.process.clock;
    const deadlineAt = madeAt + UPSTREAM_TIMEOUT_MS + HOLD_GRACE_MS;
    return { kind: "place", hold, account, spender, credits, service, madeAt, deadlineAt, claim };
  }

  /** Frees a hold of which nothing was sent; nobody waits for it, and a resolver repeats what does not work. */
  releaseUnsent(hold: number): void {
    this.process.run(this.#release(hold));
  }

  *#release(hold: number): Steps {
    yield* this.billing.insist({ kind: "release", hold, cost: 0n });
  }

  countRefusal({ code }: Outcome): void {
    if (code === "done" || code === "already resolved" || code === "unknown hold") return;
    this.world.count(CLAIM_OUTCOMES.get(code) ?? `refused: ${code as MoneyRefusal}`);
  }
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
