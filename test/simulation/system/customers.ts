// Customers own the clients of the router, which send requests, lose patience and repeat them, with an Idempotency-Key or without. They also
// own the payments and the changes of keys: deposits, refunds, adjustments, spend limits, periods, switches, deletions.
import type { LogEntry } from "@gr/media-generation/simulated";
import { ServiceError } from "@gr/proto";
import { type BillingService, DepositStatus, SpendPeriod } from "@gr/proto/billing";
import type { ServiceClient } from "@gr/runtime";
import { checkAnswer, checkEntry } from "../books/end-of-history.ts";
import { violated } from "../books/invariants.ts";
import { idOf } from "../ledger/ids.ts";
import type { Place, SpenderFields } from "../ledger/operation.ts";
import { type Caller, timedCall } from "../world/network.ts";
import { type Life, Process } from "../world/process.ts";
import { CLAIM_LIFETIME_MS } from "../world/timing.ts";
import type { World } from "../world/world.ts";
import { billingClient } from "./billing-process.ts";
import type { Gateway } from "./gateway.ts";
import type { Removed } from "./media-desk.ts";
import type { Answer, Request } from "./request.ts";
import type { Router } from "./router.ts";
import type { Surroundings } from "./surroundings.ts";

export const ACTIVE_MS = 25_000;
const PATIENCE_MS = 40_000;
/** Patience of a client that reads a stream: its whole duration. */
const LONG_PATIENCE_MS = 150_000;
const MOST_TRIES = 4;
/** Number of times that an asynchronous client reads the log. */
const MOST_LOOKS = 12;
/** Most pictures of one request. */
const MOST_PICTURES = 4;
/** Highest cost of a text, as a multiple of its least hold. */
const MOST_GROWTH = 6;
const COME_BACK_MS = 4_000;
const MOST_APART_MS = 10 * ACTIVE_MS;
const PERIODS = {
  lifetime: SpendPeriod.LIFETIME,
  day: SpendPeriod.DAY,
  week: SpendPeriod.WEEK,
  month: SpendPeriod.MONTH,
} as const;

type Wish = Pick<Request, "spender" | "service" | "credits" | "most" | "claim" | "kind" | "n">;

interface Payment {
  readonly id: number;
  readonly account: number;
  readonly credits: bigint;
}

export class Customers {
  readonly #world: World;
  readonly #surroundings: Surroundings;
  readonly #requests: Request[];
  readonly #gateways: readonly Gateway[];
  readonly #routers: readonly Router[];
  readonly #fields: SpenderFields[];
  readonly #owners: readonly number[];
  readonly #life: Life;
  readonly #billing: ServiceClient<typeof BillingService>;
  /** Payments without a refund. */
  readonly #paid: Payment[] = [];
  #nextMoney = 0;
  #revision = 0n;

  /** @param requests to which theirs are added */
  constructor(
    surroundings: Surroundings,
    requests: Request[],
    gateways: readonly Gateway[],
    routers: readonly Router[],
    spenders: readonly { readonly account: number; readonly fields: SpenderFields }[],
  ) {
    const { world, billing } = surroundings;
    this.#world = world;
    this.#surroundings = surroundings;
    this.#requests = requests;
    this.#gateways = gateways;
    this.#routers = routers;
    this.#fields = spenders.map(({ fields }) => fields);
    this.#owners = spenders.map(({ account }) => account);
    const nothing = () => undefined;
    const process = new Process(world, "customers", nothing, nothing);
    process.start();
    if (process.life === undefined) throw new Error("customers never die");
    this.#life = process.life;
    this.#billing = billingClient(this.#life, billing);
  }

  /** @param boundary begin of the next window; some clients spend at that moment */
  begin(wishes: number, changes: number, boundary: number | undefined): void {
    const { random, now } = this.#world;
    for (let index = 0; index < wishes; index += 1) {
      const claim = random.chance(0.4) ? { key: index, content: 0 } : undefined;
      const credits = random.chance(0.06) ? 0n : BigInt(random.between(1, 20));
      const service = random.chance(0.6) ? "text" : "media";
      const open = service === "text" && credits > 0n && random.chance(0.5);
      const most = open ? credits * BigInt(random.between(1, MOST_GROWTH)) : undefined;
      const kind = service === "media" && random.chance(0.3) ? "video" : "image";
      const several = service === "media" && kind === "image" && random.chance(0.6);
      const n = several ? random.between(2, MOST_PICTURES) : 1;
      const spender = random.below(this.#owners.length);
      const wish: Wish = { spender, service, credits, most, claim, kind, n };
      const crowd = boundary !== undefined && random.chance(0.3);
      const at = crowd ? boundary - now + random.between(-1_500, 2_000) : random.below(ACTIVE_MS);
      this.#world.after(Math.max(0, at), () => this.#life.run(() => this.#ask(wish)));
    }
    this.#life.run(() => this.#manage(changes));
  }

  /** Some clients repeat a claimed request a day later: shortly before its key is free, or shortly after. */
  comeBack(): void {
    const world = this.#world;
    const { random } = world;
    const claimed = [...this.#surroundings.ledger.audit.claims.values()];
    const first = Math.min(...claimed.map(({ placedAt }) => placedAt));
    if (claimed.length === 0) return;
    world.sleep(Math.max(0, first + CLAIM_LIFETIME_MS - COME_BACK_MS - world.now));
    for (const { place, placedAt } of claimed) {
      // Requests of the day that begins here.
      if (placedAt > first + MOST_APART_MS || random.chance(0.3)) continue;
      world.count("came back a day later");
      const at = placedAt + CLAIM_LIFETIME_MS + random.between(-COME_BACK_MS, COME_BACK_MS);
      world.after(Math.max(0, at - world.now), () => this.#life.run(() => this.#ask(this.#again(place))));
    }
  }

  /** Fields from the hold of a request, and all others from the request. */
  #again(place: Place): Wish {
    const { kind = "image", n = 1 } = this.#requests[place.hold] ?? {};
    return { ...place, kind, n };
  }

  async #ask(wish: Wish): Promise<void> {
    const world = this.#world;
    const { random } = world;
    for (let tries = 1; ; tries += 1) {
      const request = this.#requestOf(wish, tries);
      const hurry = random.chance(0.2);
      const patience = request.streamed ? LONG_PATIENCE_MS : PATIENCE_MS;
      const call = timedCall<Answer>(this.#life, hurry ? random.between(1, 6_000) : patience);
      const gateway = random.pick(this.#gateways);
      world.after(world.latency(), () => gateway.forward(request, call));
      const answer = await call.promise.catch(() => undefined);
      if (answer === undefined) {
        request.left = true;
        world.count("clients that left");
      } else checkAnswer(this.#surroundings, request, answer);
      if (answer?.kind === "ok") world.count("answered, charged");
      if (answer?.kind === "accepted") await this.#follow(request);
      else if (request.service === "media" && random.chance(0.1)) await this.#remove(request);
      const served = answer?.kind === "ok" || answer?.kind === "accepted";
      const wantsMore = !served || wish.claim !== undefined;
      if (!wantsMore || tries === MOST_TRIES || !random.chance(0.6)) return;
      if (answer?.kind === "refused" && answer.code === "balance" && random.chance(0.5)) {
        await this.#pay(this.#owners[wish.spender] ?? 0, BigInt(random.between(5, 40)));
      }
      await this.#life.sleep(random.chance(0.7) ? random.between(1, 700) : random.between(1_000, 15_000));
    }
  }

  /** An asynchronous client reads the log from time to time, and can stop. */
  async #follow(request: Request): Promise<void> {
    const { random } = this.#world;
    const patience = random.chance(0.3) ? random.below(3) : MOST_LOOKS;
    for (let looks = 0; looks < MOST_LOOKS; looks += 1) {
      await this.#life.sleep(random.between(100, 6_000));
      if (looks >= patience) {
        await this.#remove(request);
        if (random.chance(0.5)) return;
      }
      const entry = await this.#askRouter<LogEntry>((router, caller) => router.look(request, caller));
      if (entry === undefined || entry.status === "running") continue;
      checkEntry(this.#surroundings, request, entry);
      if (random.chance(0.8)) return;
    }
  }

  async #remove(request: Request): Promise<void> {
    const world = this.#world;
    if (world.tracing) world.note(`client: removes ${request.hold}`);
    if (request.removed === undefined) request.removalAskedAt = world.now;
    const removed = await this.#askRouter<Removed>((router, caller) => router.remove(request, caller));
    if (removed === undefined) return;
    if (removed === "refused") world.count("media: removals refused");
    else request.removed ??= removed;
    if (removed === "ended") world.count("media: files removed");
    if (removed === "running") world.count("media: given up");
  }

  /** @returns undefined without an answer */
  #askRouter<Reply>(ask: (router: Router, caller: Caller<Reply>) => void): Promise<Reply | undefined> {
    const world = this.#world;
    const call = timedCall<Reply>(this.#life);
    const router = world.random.pick(this.#routers);
    world.after(world.latency(), () => ask(router, call));
    return call.promise.catch(() => undefined);
  }

  #requestOf({ spender, service, credits, most, claim, kind, n }: Wish, tries: number): Request {
    const world = this.#world;
    const { random } = world;
    const other = claim !== undefined && tries > 1 && random.chance(0.08);
    const [first = "", second = ""] = [...this.#surroundings.upstreams.keys()];
    const media = service === "media";
    const ephemeral = media && random.chance(0.2);
    const request: Request = {
      hold: this.#requests.length,
      account: this.#owners[spender] ?? 0,
      spender,
      service,
      credits,
      most,
      claim: other ? { key: claim.key, content: tries } : claim,
      kind,
      n,
      asynchronous: media && !ephemeral && random.chance(0.35),
      ephemeral,
      huge: service === "text" && random.chance(0.03),
      streamed: service === "text" && random.chance(0.4),
      continues: service === "text" && random.chance(0.8),
      providers: random.chance(0.5) ? [first, second] : [second],
      left: false,
      answer: undefined,
      endedAt: Number.POSITIVE_INFINITY,
      delivered: false,
      made: false,
      handed: new Map(),
      wasShownFree: false,
      removed: undefined,
      removalAskedAt: 0,
      silenced: false,
      turnedAway: false,
      carried: 0n,
      partsAt: new Map(),
      paused: false,
      notBookedAt: 0,
      recordLost: false,
      servedBy: undefined,
      searcher: undefined,
      resolvedBy: undefined,
      failedAt: undefined,
      deliveredAt: undefined,
      givenUpAt: undefined,
    };
    this.#requests.push(request);
    world.count("requests sent");
    if (world.tracing) {
      const under = claim === undefined ? "" : ` under idempotency key ${claim.key}`;
      world.note(`client: ${service} request ${request.hold} for ${credits}, key ${spender}${under}`);
    }
    return request;
  }

  /** Changes keys one after the other, each until it succeeds: a change holds the lock of its row. */
  async #manage(changes: number): Promise<void> {
    const { random } = this.#world;
    for (let change = 0; change < changes; change += 1) {
      await this.#life.sleep(random.below((2 * ACTIVE_MS) / (changes + 1)));
      if (random.chance(0.4)) await this.#moveMoney();
      else await this.#changeKey(random.below(this.#fields.length));
    }
  }

  async #moveMoney(): Promise<void> {
    const world = this.#world;
    const { random } = world;
    const dice = random.next();
    if (dice < 0.6) await this.#pay(random.pick(this.#owners), BigInt(random.between(5, 40)));
    else if (dice < 0.8) await this.#refund();
    else {
      world.count("adjustments");
      const credits = BigInt(random.between(-10, 10));
      if (credits !== 0n) await this.#adjust(random.pick(this.#owners), credits);
    }
  }

  /** First deposit of an account. */
  async give(account: number, credits: bigint): Promise<void> {
    if (credits > 0n) await this.#pay(account, credits);
  }

  async #pay(account: number, credits: bigint): Promise<void> {
    const world = this.#world;
    world.count("deposits");
    const payment = { id: this.#newId(), account, credits };
    const slow = world.random.chance(0.3);
    if (slow) {
      await this.#tell(payment, DepositStatus.PENDING);
      await this.#life.sleep(world.random.between(1, 3_000));
    }
    const dice = world.random.next();
    if (slow && dice < 0.2) {
      await this.#tell(payment, DepositStatus.FAILED);
      return;
    }
    if (slow && dice < 0.4) {
      world.count("refunds of what never came");
      await this.#tell(payment, DepositStatus.REFUNDED);
      return;
    }
    await this.#tell(payment, DepositStatus.COMPLETED);
    this.#paid.push(payment);
  }

  async #refund(): Promise<void> {
    const world = this.#world;
    const payment = this.#paid.splice(world.random.below(Math.max(1, this.#paid.length)), 1)[0];
    if (payment === undefined) return;
    world.count("refunds");
    await this.#tell(payment, DepositStatus.REFUNDED);
  }

  async #tell({ id, account, credits }: Payment, status: DepositStatus): Promise<void> {
    const deposit = { depositId: idOf(id), accountId: idOf(account), credits, status, source: "payment" };
    const says = `deposit ${id} of ${credits} for account ${account} has status ${status}`;
    await this.#insist(() => this.#billing.putDeposit(deposit), says);
    // Payment services repeat their reports.
    if (this.#world.random.chance(0.2)) await this.#insist(() => this.#billing.putDeposit(deposit), says);
  }

  async #adjust(account: number, credits: bigint): Promise<void> {
    const adjustment = {
      adjustmentId: idOf(this.#newId()),
      accountId: idOf(account),
      credits,
      reason: "goodwill",
    };
    const says = `${credits} for account ${account}`;
    await this.#insist(() => this.#billing.putAdjustment(adjustment), says);
  }

  #newId(): number {
    this.#nextMoney += 1;
    return this.#nextMoney;
  }

  async #changeKey(index: number): Promise<void> {
    const before = this.#fields[index];
    if (before === undefined) return;
    const fields = this.#changed(before);
    this.#fields[index] = fields;
    const { cap, period, active, expiresAt } = fields;
    this.#revision += 1n;
    const spender = {
      spenderId: idOf(index),
      accountId: idOf(this.#owners[index] ?? 0),
      name: "a key",
      period: PERIODS[period],
      active,
      createdAt: 1n,
      revision: this.#revision,
      ...(cap === undefined ? {} : { capCredits: cap }),
      ...(expiresAt === undefined ? {} : { expiresAt: BigInt(expiresAt) }),
    };
    const says = `key ${index}: cap ${cap}, ${period}, ${active ? "on" : "off"}, expires ${expiresAt}`;
    await this.#insist(() => this.#billing.putSpender({ spender }), says);
  }

  #changed(before: SpenderFields): SpenderFields {
    const world = this.#world;
    const { random } = world;
    const dice = random.next();
    if (dice < 0.4) {
      world.count("caps changed");
      return { ...before, cap: random.chance(0.2) ? undefined : BigInt(random.between(0, 50)) };
    }
    if (dice < 0.55) {
      world.count("periods changed");
      return { ...before, period: random.pick(["lifetime", "day", "week", "month"] as const) };
    }
    if (dice < 0.85) {
      world.count("keys disabled or deleted");
      return { ...before, active: !before.active };
    }
    return { ...before, expiresAt: random.chance(0.4) ? undefined : world.now + random.between(0, 10_000) };
  }

  async #insist(change: () => Promise<unknown>, says: string): Promise<void> {
    const world = this.#world;
    for (;;) {
      try {
        await change();
        if (world.tracing) world.note(`operator: ${says}`);
        return;
      } catch (error) {
        const silent = error instanceof ServiceError && error.reason !== "invalid_value";
        if (!silent)
          throw violated("I10", `${says}: refused, ${error instanceof Error ? error.message : error}`);
        if (world.tracing) world.note(`operator: ${says}: no answer`);
      }
      await this.#life.sleep(world.random.between(50, 1_000));
    }
  }
}
