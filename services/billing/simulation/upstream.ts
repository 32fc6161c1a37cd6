// Whoever does the work and bills us for it: with books of its own that survive everything, a look-up by our id, replies
// that come late, twice or never, and failures that cost money all the same. It does a request once, however often its
// packet arrives.
import { chargeOf, PICO_PER_CREDIT, type PicoUsd } from "@gr/money";
import type { Request } from "./request.ts";
import type { Call } from "./task.ts";
import { HOLD_GRACE_MS, RPC_TIMEOUT_MS, UPSTREAM_TIMEOUT_MS } from "./timing.ts";
import type { World } from "./world.ts";

export type UpstreamReply =
  /** Usable output. The cost is undefined when the usage is missing. */
  | { readonly kind: "answer"; readonly cost: PicoUsd | undefined }
  /** A definite error, not billed. */
  | { readonly kind: "refused" }
  /** A failure that says what it cost all the same. */
  | { readonly kind: "failed"; readonly cost: PicoUsd }
  /** An error or a broken connection that says nothing about the bill. */
  | { readonly kind: "broken" }
  | { readonly kind: "not sent" }
  /** Accepted; it waits for a slot, and is asked for until it has ended. */
  | { readonly kind: "queued" };

export type LookUp = PicoUsd | "unknown" | "silent";

interface Plan {
  readonly reply: UpstreamReply | "hangs";
  /** What it bills. */
  readonly bill: PicoUsd;
  /** It waits for a slot first. */
  readonly queued: boolean;
}

export interface Job {
  readonly request: Request;
  /** Zero until it is billed. */
  bill: PicoUsd;
  /** From when on a look-up finds the bill. */
  visibleAt: number;
  /** Of a queued job that has ended: how. */
  ending: UpstreamReply | undefined;
  cancelled: boolean;
  /** Its packet was under way for longer than anybody waits. */
  readonly delayed: boolean;
}

const MOST_LATE_MS = 12 * HOLD_GRACE_MS;
/** A hold's worth of upstream cost, in a number that a random one can be multiplied with. */
const PARTS = 1_000;

export class Upstream {
  readonly jobs = new Map<number, Job>();
  /** Probability that a look-up is not answered. */
  silence = 0;
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  /** Sends a request; the reply comes as long as somebody waits. To be followed by a `yield`. */
  send(request: Request): Call<UpstreamReply> {
    const world = this.#world;
    const { random } = world;
    const call = world.call<UpstreamReply>(UPSTREAM_TIMEOUT_MS);
    if (random.chance(0.03)) {
      world.after(world.latency(), () => call.answer({ kind: "not sent" }));
      return call;
    }
    const delayed = random.chance(0.02);
    if (delayed) world.count("upstream: packets later than the grace");
    const delay = delayed ? random.between(1_000, MOST_LATE_MS) : random.between(1, 50);
    const plan = planOf(world, request);
    world.after(delay, () => this.#begin(request, plan, delayed, call));
    if (random.chance(0.02)) {
      world.count("upstream: packets twice");
      world.after(random.between(1, MOST_LATE_MS), () => this.#begin(request, plan, delayed, call));
    }
    return call;
  }

  #begin(request: Request, plan: Plan, delayed: boolean, call: Call<UpstreamReply>): void {
    if (this.jobs.has(request.hold)) return;
    const world = this.#world;
    const { random } = world;
    const job: Job = {
      request,
      bill: 0n,
      visibleAt: Number.POSITIVE_INFINITY,
      ending: undefined,
      cancelled: false,
      delayed,
    };
    this.jobs.set(request.hold, job);
    if (plan.queued) {
      world.count("upstream: jobs queued");
      if (!world.lost()) world.after(world.latency(), () => call.answer({ kind: "queued" }));
    }
    const slow = random.chance(plan.queued ? 0.25 : 0.05);
    world.after(random.between(20, slow ? UPSTREAM_TIMEOUT_MS + 5_000 : 5_000), () => {
      if (job.cancelled) return;
      job.bill = plan.bill;
      job.visibleAt = world.now + random.between(0, 800);
      if (world.tracing) world.note(`upstream: ${request.hold} ends, bills ${plan.bill}`);
      if (plan.reply === "hangs") return;
      const { reply } = plan;
      if (plan.queued) {
        // What went wrong without a word is never heard of.
        if (reply.kind !== "broken") job.ending = reply;
        return;
      }
      if (world.lost()) return;
      world.after(world.latency(), () => call.answer(reply));
      if (!random.chance(0.05)) return;
      world.count("upstream: replies twice");
      world.after(world.latency(), () => call.answer(reply));
    });
  }

  /** How a queued job stands. To be followed by a `yield`. */
  poll(hold: number): Call<UpstreamReply | "pending"> {
    const world = this.#world;
    const call = world.call<UpstreamReply | "pending">();
    if (world.lost()) return call;
    world.after(world.latency(), () => {
      const reply = this.jobs.get(hold)?.ending ?? "pending";
      world.after(1, () => call.answer(reply));
    });
    return call;
  }

  /** No promise that it helps. */
  cancel(hold: number): void {
    const world = this.#world;
    world.after(world.latency(), () => {
      const job = this.jobs.get(hold);
      if (job === undefined || job.bill > 0n || job.ending !== undefined || world.random.chance(0.5)) return;
      world.count("upstream: jobs cancelled");
      job.cancelled = true;
    });
  }

  /** To be followed by a `yield`. */
  lookUp(hold: number): Call<LookUp> {
    const world = this.#world;
    const call = world.call<LookUp>();
    const latency = world.latency();
    if (latency + 1 >= RPC_TIMEOUT_MS) this.#silence(hold);
    world.after(latency, () => {
      if (world.random.chance(this.silence)) {
        world.count("upstream: look-ups silent");
        this.#silence(hold);
        call.answer("silent");
        return;
      }
      const job = this.jobs.get(hold);
      const found = job !== undefined && job.bill > 0n && job.visibleAt <= world.now;
      if (world.tracing) world.note(`upstream: look-up of ${hold}: ${found ? job.bill : "unknown"}`);
      const result = found ? job.bill : "unknown";
      world.after(1, () => call.answer(result));
    });
    return call;
  }

  #silence(hold: number): void {
    const job = this.jobs.get(hold);
    if (job !== undefined) job.request.silenced = true;
  }
}

function planOf(world: World, request: Request): Plan {
  const queued = request.service === "media" && world.random.chance(0.4);
  return { ...endingOf(world, request), queued };
}

function endingOf(world: World, { service, credits }: Request): Omit<Plan, "queued"> {
  const { random } = world;
  const dice = random.next();
  // Text may cost more than its hold; media has a price, and its true cost is another matter.
  const most = service === "text" && random.chance(0.15) ? 3 * PARTS : PARTS;
  const part = BigInt(random.between(1, most));
  const bill = ((credits === 0n ? 1n : credits) * PICO_PER_CREDIT * part) / BigInt(PARTS);
  if (dice < 0.62) return { reply: { kind: "answer", cost: bill }, bill };
  if (dice < 0.68) {
    if (service === "media") return { reply: { kind: "answer", cost: bill }, bill };
    world.count("upstream: usage missing");
    return { reply: { kind: "answer", cost: undefined }, bill };
  }
  if (dice < 0.72) return { reply: { kind: "answer", cost: 0n }, bill: 0n };
  if (dice < 0.77) return { reply: { kind: "refused" }, bill: 0n };
  if (dice < 0.84) {
    world.count("upstream: failed and billed");
    return { reply: { kind: "failed", cost: bill }, bill };
  }
  const reply = random.chance(0.5) ? "hangs" : { kind: "broken" as const };
  if (dice < 0.94) {
    world.count("upstream: failed and billed");
    return { reply, bill };
  }
  world.count("upstream: failed and not billed");
  return { reply, bill: 0n };
}

/** What a request is charged when its usage cannot be found out: within its hold. */
export function metered({ credits }: Request): PicoUsd {
  return (credits * PICO_PER_CREDIT) / 2n;
}

/** What the customer pays for a bill. */
export function chargeFor({ service, credits }: Request, cost: PicoUsd): bigint {
  return service === "media" ? credits : chargeOf(cost);
}
