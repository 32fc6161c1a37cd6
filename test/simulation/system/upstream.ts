// Upstream owns a provider with durable books of its own and a look-up by our id. Replies are late, repeated or lost, and failures can cost
// money. A job runs once for any number of packets. A text is one job, and media are any number of jobs. There are two providers, and each
// bills its own jobs.
import { chargeOf, PICO_PER_CREDIT, type PicoUsd } from "@gr/money";
import type { LookUpResult } from "@gr/paid-request";
import type { Service } from "../ledger/operation.ts";
import { silence, timedCall } from "../world/network.ts";
import { type Life, Waiting } from "../world/process.ts";
import { HOLD_GRACE_MS, RPC_TIMEOUT_MS, STREAM_TIMEOUT_MS, UPSTREAM_TIMEOUT_MS } from "../world/timing.ts";
import type { World } from "../world/world.ts";
import type { Request } from "./request.ts";

export type UpstreamReply =
  /** Usable output, or the end of it. The cost is undefined when the usage is missing. */
  | { readonly kind: "answer"; readonly cost: PicoUsd | undefined }
  /** Begin of a streamed answer; the end is a later reply. */
  | { readonly kind: "begun" }
  /** A definite error, not billed: another provider may do better, or none may. */
  | { readonly kind: "refused"; readonly elsewhere: boolean }
  /** A failure with its cost. */
  | { readonly kind: "failed"; readonly cost: PicoUsd; readonly elsewhere: boolean }
  /** A definite failure without a cost. */
  | { readonly kind: "failed silently" }
  /** A broken connection. The usage of a stream may have arrived before. */
  | { readonly kind: "broken"; readonly cost: PicoUsd | undefined }
  | { readonly kind: "not sent" }
  /** Accepted; it waits for a slot, and is asked for until it has ended. */
  | { readonly kind: "queued" };

/** Part of a request for one job. */
export interface Piece {
  /** From 1. */
  readonly part: number;
  /** Number of the requested pictures; 1 for a text. */
  readonly count: number;
}

interface Plan {
  readonly reply: UpstreamReply | "hangs";
  /** Bill of the job. */
  readonly bill: PicoUsd;
  /** It waits for a slot first. */
  readonly queued: boolean;
  /** It streams. */
  readonly begins: boolean;
}

export interface Job {
  readonly request: Request;
  readonly piece: Piece;
  readonly plan: Plan;
  /** Zero until it is billed. */
  bill: PicoUsd;
  /** From when on a look-up finds the bill. */
  visibleAt: number;
  /** When it streams. */
  beganAt: number;
  endsAt: number;
  /** Of a queued job that has ended: how. */
  ending: UpstreamReply | undefined;
  cancelled: boolean;
  /** Its packet was under way for longer than anybody waits. */
  readonly delayed: boolean;
}

/** One request on its way, as its sender sees it. */
export interface Exchange {
  /** The first reply. Undefined when there is none in time. */
  readonly first: Waiting<UpstreamReply | undefined>;
  /** Of a stream, the last. */
  readonly last: Waiting<UpstreamReply | undefined>;
}

const MOST_LATE_MS = 12 * HOLD_GRACE_MS;
const WHOLE: Piece = { part: 1, count: 1 };
/** A hold's worth of upstream cost, in a number that a random one can be multiplied with. */
const PARTS = 1_000;
/** Bill of a runaway job, as a multiple of its usual bill. */
const RUNAWAY = 1_000n;

export class Upstream {
  readonly provider: string;
  /** True for a provider with a look-up. */
  readonly askable: boolean;
  /** Number of pictures of one job. */
  readonly mostAtOnce: number;
  /** True if text has bills; otherwise each failure of text is free. */
  readonly billed: boolean;
  /** By hold. */
  readonly jobs = new Map<number, Job[]>();
  /** Requests that were sent, whether they arrived or not. */
  readonly sent = new Set<number>();
  /** Probability that a look-up is not answered. */
  silence = 0;
  readonly #world: World;

  constructor(
    world: World,
    {
      provider,
      askable,
      mostAtOnce,
      billed,
    }: Pick<Upstream, "provider" | "askable" | "mostAtOnce" | "billed">,
  ) {
    this.#world = world;
    this.provider = provider;
    this.askable = askable;
    this.mostAtOnce = mostAtOnce;
    this.billed = billed;
  }

  /** True if the look-up works. */
  tells(service: Service): boolean {
    return this.askable && (service === "media" || this.billed);
  }

  /** Sends a job. The reply arrives while its sender waits. @param limit highest cost of the work */
  send(life: Life, request: Request, limit?: PicoUsd, piece = WHOLE): Exchange {
    const world = this.#world;
    const { random } = world;
    const first = timedCall<UpstreamReply | undefined>(life, UPSTREAM_TIMEOUT_MS);
    const exchange: Exchange = { first, last: new Waiting(life) };
    if (!life.acts()) return exchange;
    this.sent.add(request.hold);
    if (random.chance(0.03)) {
      world.after(world.latency(), () => first.settle({ kind: "not sent" }));
      return exchange;
    }
    const delayed = random.chance(0.02);
    if (delayed) world.count("upstream: packets later than the grace");
    const delay = delayed ? random.between(1_000, MOST_LATE_MS) : random.between(1, 50);
    const plan = limited(world, planOf(world, request, piece), limit);
    const begin = () => this.#begin({ request, piece, plan, delayed }, exchange);
    world.after(delay, begin);
    if (random.chance(0.02)) {
      world.count("upstream: packets twice");
      world.after(random.between(1, MOST_LATE_MS), begin);
    }
    return exchange;
  }

  #begin(sent: Pick<Job, "request" | "piece" | "plan" | "delayed">, exchange: Exchange): void {
    const { request, piece, plan } = sent;
    if (this.#job(request.hold, piece.part) !== undefined) return;
    const world = this.#world;
    const { random } = world;
    const job: Job = {
      ...sent,
      bill: 0n,
      visibleAt: Number.POSITIVE_INFINITY,
      beganAt: world.now,
      endsAt: Number.POSITIVE_INFINITY,
      ending: undefined,
      cancelled: false,
    };
    this.jobs.set(request.hold, [...(this.jobs.get(request.hold) ?? []), job]);
    const { first, last } = exchange;
    if (plan.queued) {
      world.count("upstream: jobs queued");
      this.#tell(first, { kind: "queued" });
    }
    if (!plan.begins) {
      const slow = random.chance(plan.queued ? 0.25 : 0.05);
      const ms = random.between(20, slow ? UPSTREAM_TIMEOUT_MS + 5_000 : 5_000);
      world.after(ms, () => this.#finish(job, plan.queued ? undefined : first));
      return;
    }
    world.after(random.between(20, 2_000), () => this.#tell(first, { kind: "begun" }));
    const long = random.chance(0.25);
    if (long) world.count("upstream: long streams");
    const ms = random.between(2_100, long ? STREAM_TIMEOUT_MS + 20_000 : 8_000);
    job.endsAt = world.now + ms;
    world.after(ms, () => this.#finish(job, last));
  }

  #job(hold: number, part: number): Job | undefined {
    return this.jobs.get(hold)?.find(({ piece }) => piece.part === part);
  }

  /** @param waiting the sender to notify; undefined for a queued job, which is polled */
  #finish(job: Job, waiting: Waiting<UpstreamReply | undefined> | undefined): void {
    if (job.cancelled) return;
    const world = this.#world;
    this.#bill(job, job.plan.bill);
    const { reply } = job.plan;
    if (reply === "hangs") return;
    if (waiting === undefined) {
      // A silent fault sends no reply.
      if (reply.kind !== "broken") job.ending = reply;
      return;
    }
    this.#tell(waiting, reply);
    if (!world.random.chance(0.05)) return;
    world.count("upstream: replies twice");
    this.#tell(waiting, reply);
  }

  #bill(job: Job, bill: PicoUsd): void {
    const world = this.#world;
    const { hold } = job.request;
    const { part } = job.piece;
    job.bill = bill;
    job.visibleAt = world.now + this.#billingMs(job);
    if (world.tracing) world.note(`${this.provider}: part ${part} of ${hold} ends, bills ${bill}`);
  }

  /** Bills within the grace. The bill of a broken part can arrive after another upstream has continued. */
  #billingMs({ request, plan: { begins, reply } }: Job): number {
    const { random } = this.#world;
    const brokeOff = begins && request.continues && reply !== "hangs" && reply.kind === "broken";
    if (!brokeOff || !random.chance(0.3)) return random.between(0, 800);
    this.#world.count("upstream: bills of parts that came late");
    return random.between(2_500, 9_000);
  }

  #tell(waiting: Waiting<UpstreamReply | undefined>, reply: UpstreamReply): void {
    const world = this.#world;
    if (world.lost()) return;
    world.after(world.latency(), () => waiting.settle(reply));
  }

  /** Returns the present cost of a stream. */
  used(hold: number): PicoUsd {
    const job = this.#job(hold, WHOLE.part);
    if (job === undefined || job.endsAt === Number.POSITIVE_INFINITY) return 0n;
    const { bill } = job.plan;
    const ms = Math.min(this.#world.now, job.endsAt) - job.beganAt;
    return (bill * BigInt(ms)) / BigInt(job.endsAt - job.beganAt);
  }

  /** The sender stops reading a stream. The provider stops and bills the finished part, or works to the end. */
  cut(hold: number): void {
    const world = this.#world;
    world.after(world.latency(), () => {
      const job = this.#job(hold, WHOLE.part);
      if (job === undefined || job.visibleAt !== Number.POSITIVE_INFINITY || world.random.chance(0.5)) return;
      world.count("upstream: streams stopped where they were cut");
      job.cancelled = true;
      this.#bill(job, this.used(hold));
    });
  }

  /** Returns the state of a queued job. */
  poll(life: Life, hold: number, part: number): Promise<UpstreamReply | "pending"> {
    const world = this.#world;
    const call = timedCall<UpstreamReply | "pending">(life);
    if (!life.acts() || world.lost()) return call.promise;
    world.after(world.latency(), () => {
      const reply = this.#job(hold, part)?.ending ?? "pending";
      world.after(1, () => call.settle(reply));
    });
    return call.promise;
  }

  /** No promise that it helps. */
  cancel(life: Life, hold: number, part: number): void {
    const world = this.#world;
    if (!life.acts()) return;
    world.after(world.latency(), () => {
      const job = this.#job(hold, part);
      if (job === undefined || job.bill > 0n || job.ending !== undefined || world.random.chance(0.5)) return;
      world.count("upstream: jobs cancelled");
      job.cancelled = true;
      job.ending = { kind: "failed silently" };
    });
  }

  /** Never rejects. */
  lookUp(life: Life, hold: number): Promise<LookUpResult<{ readonly cost: PicoUsd }>> {
    const world = this.#world;
    const call = timedCall<LookUpResult<{ readonly cost: PicoUsd }>>(life);
    const answer = call.promise.catch(() => "silent" as const);
    if (!life.acts()) return answer;
    const latency = world.latency();
    if (latency + 1 >= RPC_TIMEOUT_MS) this.#silence(hold);
    world.after(latency, () => {
      if (world.random.chance(this.silence)) {
        world.count("upstream: look-ups silent");
        this.#silence(hold);
        call.fail(silence());
        return;
      }
      const billed = this.jobs
        .get(hold)
        ?.filter(({ bill, visibleAt }) => bill > 0n && visibleAt <= world.now);
      const cost = sumOf(billed ?? []);
      if (world.tracing) {
        world.note(`${this.provider}: look-up of ${hold}: ${cost > 0n ? cost : "unknown"}`);
      }
      const result = cost > 0n ? { cost } : "unknown";
      world.after(1, () => call.settle(result));
    });
    return answer;
  }

  #silence(hold: number): void {
    for (const { request } of this.jobs.get(hold) ?? []) request.silenced = true;
  }
}

/** Returns the bills of this number of jobs. */
export function sumOf(jobs: readonly Pick<Job, "bill">[]): PicoUsd {
  return jobs.reduce((total, { bill }) => total + bill, 0n);
}

function planOf(world: World, request: Request, piece: Piece): Plan {
  const { random } = world;
  const queued = request.service === "media" && random.chance(0.4);
  const plan = endingOf(world, request, piece);
  const { reply } = plan;
  const answers = reply !== "hangs" && (reply.kind === "answer" || reply.kind === "broken");
  const begins = request.streamed && (reply === "hangs" || answers) && random.chance(0.85);
  if (!begins || reply === "hangs" || reply.kind !== "broken" || !random.chance(0.4)) {
    return { ...plan, queued, begins };
  }
  world.count("upstream: streams broken after their usage");
  return { ...plan, reply: { kind: "broken", cost: plan.bill }, queued, begins };
}

/** It ends where its limit is, as a model does at its limit on output. */
function limited(world: World, plan: Plan, limit: PicoUsd | undefined): Plan {
  if (limit === undefined || plan.bill <= limit) return plan;
  world.count("answers ended by their limit");
  const { reply } = plan;
  const says = reply !== "hangs" && "cost" in reply && reply.cost !== undefined;
  return { ...plan, bill: limit, reply: says ? { ...reply, cost: limit } : reply };
}

function endingOf(
  world: World,
  { service, credits, most = credits, n, streamed }: Request,
  { count }: Piece,
): Pick<Plan, "reply" | "bill"> {
  const { random } = world;
  const dice = random.next();
  // Text may cost more than its hold; media has a price, and its true cost is another matter.
  const parts = service === "text" && random.chance(0.15) ? 3 * PARTS : PARTS;
  const part = BigInt(random.between(1, parts));
  const whole = ((most === 0n ? 1n : most) * PICO_PER_CREDIT * BigInt(count)) / BigInt(n);
  const runaway = random.chance(0.005) ? RUNAWAY : 1n;
  if (runaway > 1n) world.count("upstream: bills far above their holds");
  const bill = ((whole * part) / BigInt(PARTS)) * runaway;
  if (dice < 0.58) return { reply: { kind: "answer", cost: bill }, bill };
  if (dice < 0.64) {
    if (service === "media") return { reply: { kind: "answer", cost: bill }, bill };
    world.count("upstream: usage missing");
    return { reply: { kind: "answer", cost: undefined }, bill };
  }
  if (dice < 0.68) return { reply: { kind: "answer", cost: 0n }, bill: 0n };
  if (dice < 0.75) return { reply: { kind: "refused", elsewhere: random.chance(0.6) }, bill: 0n };
  if (dice < 0.82) {
    world.count("upstream: failed and billed");
    return { reply: { kind: "failed", cost: bill, elsewhere: random.chance(0.5) }, bill };
  }
  if (dice < 0.86) {
    const billed = random.chance(0.7);
    world.count(billed ? "upstream: failed and billed" : "upstream: failed and not billed");
    return { reply: { kind: "failed silently" }, bill: billed ? bill : 0n };
  }
  const reply = random.chance(streamed ? 0.2 : 0.5) ? "hangs" : { kind: "broken" as const, cost: undefined };
  if (dice < 0.95) {
    world.count("upstream: failed and billed");
    return { reply, bill };
  }
  world.count("upstream: failed and not billed");
  return { reply, bill: 0n };
}

/** Returns the assumed cost of a delivered request whose bill was not found. Never above the hold. @param made number of pictures */
export function metered(request: Request, made: number): PicoUsd {
  const { service, credits } = request;
  return service === "media" ? shareOf(request, made) : (credits * PICO_PER_CREDIT) / 2n;
}

/** Returns the charge for a bill, and for this number of pictures. */
export function chargeFor(request: Request, cost: PicoUsd, made: number): bigint {
  return chargeOf(request.service === "media" ? shareOf(request, made) : cost);
}

/** The price of some of the pictures that were asked for, rounded up. */
function shareOf({ credits, n }: Request, made: number): PicoUsd {
  const [all, whole] = [BigInt(n), credits * PICO_PER_CREDIT * BigInt(made)];
  return (whole + all - 1n) / all;
}
