// Resolves holds whose outcome this service never learnt: soon after the loss, and again for every hold that is past
// its deadline, also those of processes that died. A hold whose answer was kept is charged: its client gets the answer
// by repeating the request. Any other client got none and is never charged: a cost that is found is our loss, and
// without one the hold is freed only after two separate look-ups.
import { type Billing, ReleaseReason } from "@gr/clients";
import type { BillingService, Hold, Settlement } from "@gr/proto/billing";
import type { Clock, ServiceClient } from "@gr/runtime";
import type { TextEvents } from "./events.ts";
import { canLookUp, lookUp } from "./look-up.ts";
import type { Upstream } from "./upstream.ts";

export const SERVICE = "text-proxy";

const EARLY_MS = [1_000, 5_000] as const;
const MOST_EARLY = 10_000;
const LEASED_AT_ONCE = 100;
/** Look-ups at the same time. */
const PARALLEL = 8;
const LEASE_ROUNDS = 3;
const SHORTEST_LEASE_MS = 2_000;
/** Past its deadline by so much, a hold is freed even though the upstream never said anything about it. */
const GIVE_UP_AFTER_MS = 3_600_000;

export interface ResolverOptions {
  readonly leases: Pick<ServiceClient<typeof BillingService>, "leaseExpiredHolds">;
  readonly billing: Billing;
  readonly upstream: Upstream | undefined;
  readonly events: TextEvents;
  readonly clock: Clock;
  readonly intervalMs: number;
}

export class HoldResolver {
  readonly #options: ResolverOptions;
  readonly #early = new Set<NodeJS.Timeout>();
  /** Holds that the upstream did not know at an earlier look-up. */
  #unknown = new Set<string>();
  #round: NodeJS.Timeout | undefined;
  #working: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(options: ResolverOptions) {
    this.#options = options;
  }

  start(): void {
    this.#plan();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#round);
    for (const timer of this.#early) clearTimeout(timer);
    this.#early.clear();
    await this.#working;
  }

  /** Tries to free a hold before its deadline; never one whose answer may have been kept. @param generationId the upstream's id; empty when not known */
  resolveSoon(holdId: string, generationId: string): void {
    const { upstream } = this.#options;
    if (upstream === undefined || !canLookUp(upstream)) return;
    this.#tryEarly(upstream, holdId, generationId === "" ? holdId : generationId, 0);
  }

  #tryEarly(upstream: Upstream, holdId: string, lookUpId: string, attempt: number): void {
    const ms = EARLY_MS[attempt];
    if (ms === undefined || this.#stopped || this.#early.size >= MOST_EARLY) return;
    const timer = setTimeout(async () => {
      this.#early.delete(timer);
      const found = await lookUp(upstream, lookUpId);
      if (typeof found === "object") await this.#book(holdId, found.cost);
      else this.#tryEarly(upstream, holdId, lookUpId, attempt + 1);
    }, ms);
    this.#early.add(timer);
  }

  #plan(): void {
    if (this.#stopped) return;
    this.#round = setTimeout(() => {
      this.#working = this.#resolveExpired().then(() => this.#plan());
    }, this.#options.intervalMs);
  }

  async #resolveExpired(): Promise<void> {
    const { leases, events, intervalMs } = this.#options;
    const leaseMs = Math.max(LEASE_ROUNDS * intervalMs, SHORTEST_LEASE_MS);
    try {
      for (let leased = LEASED_AT_ONCE; leased === LEASED_AT_ONCE && !this.#stopped; ) {
        const request = { service: SERVICE, limit: LEASED_AT_ONCE, leaseMs: BigInt(leaseMs) };
        const { holds } = await leases.leaseExpiredHolds(request);
        leased = holds.length;
        for (let at = 0; at < holds.length; at += PARALLEL) {
          await Promise.all(holds.slice(at, at + PARALLEL).map((hold) => this.#resolve(hold)));
        }
      }
    } catch (error) {
      events.leaseFailed(error);
    }
  }

  async #resolve({ holdId, deadlineAt, kept }: Hold): Promise<void> {
    const { upstream, clock } = this.#options;
    if (kept !== undefined) {
      await this.#capture(holdId, kept);
      return;
    }
    const result = upstream === undefined ? "silent" : await lookUp(upstream, holdId);
    if (typeof result === "object") {
      await this.#book(holdId, result.cost);
      return;
    }
    const askable = upstream !== undefined && canLookUp(upstream);
    const overdue = clock.now() - Number(deadlineAt) > GIVE_UP_AFTER_MS;
    const unknownTwice = result === "unknown" && this.#unknown.has(holdId);
    if (!askable || overdue || unknownTwice) await this.#release(holdId, ReleaseReason.UNRESOLVED, 0n);
    else if (result === "unknown") this.#remember(holdId);
  }

  async #capture(holdId: string, { credits, costPicoUsd: cost }: Settlement): Promise<void> {
    const { billing, events } = this.#options;
    try {
      await billing.capture({ holdId, credits, cost });
      events.chargedKept(holdId, credits);
    } catch (error) {
      events.notResolved(holdId, error);
    }
  }

  #book(holdId: string, cost: bigint): Promise<void> {
    return this.#release(holdId, ReleaseReason.FAILED, cost);
  }

  async #release(holdId: string, reason: ReleaseReason, cost: bigint): Promise<void> {
    const { billing, events } = this.#options;
    try {
      await billing.release(holdId, reason, cost);
      this.#unknown.delete(holdId);
      events.resolved(holdId, reason, cost);
    } catch (error) {
      // It stays open, so a later round leases it again.
      events.notResolved(holdId, error);
    }
  }

  #remember(holdId: string): void {
    // Forgetting costs only another round.
    if (this.#unknown.size >= MOST_EARLY) this.#unknown = new Set();
    this.#unknown.add(holdId);
  }
}
