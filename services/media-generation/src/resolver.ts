// Finishes what was left open: generations whose process died, outcomes that nobody knows, settlements that billing
// did not take, holds whose request never got as far as a row. Never frees a hold on a guess.
import { type Billing, ReleaseReason } from "@gr/clients";
import type { BillingService } from "@gr/proto/billing";
import type { ServiceClient } from "@gr/runtime";
import { discardOutputs } from "./end-generation.ts";
import { SERVICE } from "./generate-images.ts";
import { type Ending, type Generation, UNRESOLVED } from "./generation/generation.ts";
import type { GenerationDeps } from "./generation-deps.ts";
import { resumeGeneration } from "./resume-generation.ts";
import { settle } from "./settle.ts";

const MAX_ROWS = 20;
const MAX_HOLDS = 100;
const LOOK_UP_TIMEOUT_MS = 10_000;
/** One "not billed" may come before the bill: it takes two, and the last one after the deadline. */
const UNBILLED_LOOK_UPS = 2;

export interface ResolverDeps extends GenerationDeps {
  readonly billingService: ServiceClient<typeof BillingService>;
}

/** One round. Rejects when Postgres, the storage or billing cannot be reached; the next round goes on. */
export async function resolveRound(deps: ResolverDeps): Promise<void> {
  const { store, storage, leases, config, events } = deps;
  const due = await store.takeDue(MAX_ROWS, config.MEDIA_LEASE_MS, leases.ids());
  await Promise.all(
    due.map((generation) =>
      resolveGeneration(deps, generation).catch((error) => events.notResolved(generation.id, error)),
    ),
  );
  await releaseHoldsWithoutRow(deps);
  await storage.sweep();
}

async function resolveGeneration(deps: ResolverDeps, generation: Generation): Promise<void> {
  const { id, ending, state, operation } = generation;
  if (ending !== null) {
    await deps.leases.during(id, () => settleAgain(deps, generation, ending));
    return;
  }
  const provider = deps.providers.get(generation.provider);
  const timeLeft = generation.deadlineAt - deps.config.HOLD_GRACE_MS - deps.clock.now();
  if (operation !== null && provider !== undefined && timeLeft > 0) {
    // Takes as long as the provider does; the round does not wait for it.
    void resumeGeneration(deps, generation, operation, provider).catch((error) => {
      deps.events.notResolved(id, error);
    });
    return;
  }
  if (state === "running") {
    await deps.store.markUnknown(id, "interrupted", "the process ended while the provider worked");
  }
  await deps.leases.during(id, () => lookUp(deps, generation));
}

async function settleAgain(deps: GenerationDeps, generation: Generation, ending: Ending): Promise<void> {
  await settle(deps, generation.id, ending);
  if (ending.state !== "succeeded") await discardOutputs(deps, generation);
  deps.events.resolved(generation.id, ending);
}

/** Asks the provider for its bill. Whatever it was, the caller got nothing, so the caller pays nothing. */
async function lookUp(deps: GenerationDeps, generation: Generation): Promise<void> {
  const { store, clock, config, events } = deps;
  const { id, unbilledLookups, deadlineAt } = generation;
  const ask = deps.providers.get(generation.provider)?.lookUp;
  const overdue = clock.now() >= deadlineAt;
  if (ask === undefined) {
    if (overdue) await conclude(deps, generation, 0n, UNRESOLVED);
    else await store.postpone(id, deadlineAt - clock.now(), false);
    return;
  }
  let billed: bigint | undefined;
  try {
    billed = await ask(id, AbortSignal.timeout(LOOK_UP_TIMEOUT_MS));
  } catch (error) {
    events.notResolved(id, error);
    await store.postpone(id, config.HOLD_GRACE_MS, false);
    return;
  }
  if (billed !== undefined) await conclude(deps, generation, billed, "billed_without_answer");
  else if (overdue && unbilledLookups + 1 >= UNBILLED_LOOK_UPS)
    await conclude(deps, generation, 0n, UNRESOLVED);
  else await store.postpone(id, config.HOLD_GRACE_MS, true);
}

async function conclude(
  deps: GenerationDeps,
  generation: Generation,
  cost: bigint,
  errorKind: string,
): Promise<void> {
  const errorMessage = "the outcome was not known to the process that started it";
  const ending: Ending = { state: "failed", charge: 0n, cost, errorKind, errorMessage };
  if ((await deps.store.finish(generation.id, ending)) === undefined) return;
  await settleAgain(deps, generation, ending);
}

/** The row comes after the hold and before the call: a hold past its deadline without a row was never sent. */
async function releaseHoldsWithoutRow(deps: ResolverDeps): Promise<void> {
  const { holds } = await deps.billingService.leaseExpiredHolds({
    service: SERVICE,
    limit: MAX_HOLDS,
    leaseMs: BigInt(deps.config.MEDIA_LEASE_MS),
  });
  await Promise.all(
    holds.map(async ({ holdId }) => {
      try {
        await closeHold(deps, deps.billing, holdId);
      } catch (error) {
        deps.events.notResolved(holdId, error);
      }
    }),
  );
}

async function closeHold(deps: ResolverDeps, billing: Billing, holdId: string): Promise<void> {
  const generation = await deps.store.find(holdId);
  if (generation === undefined) {
    await billing.release(holdId, ReleaseReason.NOT_SENT);
    deps.events.holdReleased(holdId);
    return;
  }
  // Billing lost what it had confirmed, or never got it: the row knows. An open row is resolved in its own time.
  if (generation.ending !== null) await settle(deps, holdId, generation.ending);
}
