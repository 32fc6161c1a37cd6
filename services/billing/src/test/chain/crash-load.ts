// Crash load owns the accounts of the crash ring and the random calls of its writers. Chains have four budgets, and a day is over
// after 6 s. Calls repeat, claim Idempotency-Keys, and name the holds of other writers.
import { randomUUID } from "node:crypto";
import type { BudgetDefinition, Id } from "@gr/ledger";
import type { Random } from "@gr/testing/random";
import type { ChainOperation } from "../../chain/chain-operation.ts";
import { budget, capture, claimOf, keep, place, release } from "./chain-rig.ts";

/** Ledger time of the ring: 6 s of real time are a day. */
const SPEED = 14_400;
const HOUR_MS = 3_600_000;
const LEVELS = ["account", "member", "key", "job"] as const;
const PERIODS = ["month", "week", "day", "lifetime"] as const;
const LIMITS = [40_000n, 15_000n, 5_000n, null] as const;
/** Budgets below each of the level above. */
const FAN = [1, 2, 2, 2] as const;

export interface CrashAccount {
  readonly accountId: Id;
  readonly budgets: readonly BudgetDefinition[];
  /** Lowest budgets. */
  readonly jobs: readonly Id[];
}

/** @param start real time at which the ring began */
export function crashClock(start: number): { now(): number } {
  return { now: () => Math.floor(start + (Date.now() - start) * SPEED) };
}

export function newCrashAccount(): CrashAccount {
  const accountId = randomUUID();
  const budgets: BudgetDefinition[] = [];
  let parents: (Id | null)[] = [null];
  for (const [index, level] of LEVELS.entries()) {
    const below = parents.flatMap((parentId) =>
      Array.from({ length: FAN[index] ?? 1 }, () => definitionOf(level, index, parentId)),
    );
    budgets.push(...below);
    parents = below.map(({ id }) => id);
  }
  return { accountId, budgets, jobs: parents.filter((id) => id !== null) };
}

function definitionOf(level: (typeof LEVELS)[number], index: number, parentId: Id | null): BudgetDefinition {
  const fields = { id: randomUUID(), parentId, level, limit: LIMITS[index] ?? null };
  const period = PERIODS[index] ?? "lifetime";
  return { ...fields, period, name: level, expiresAt: null, active: true, createdAt: 0, revision: 1n };
}

export function openingOf({ accountId, budgets }: CrashAccount): ChainOperation[] {
  return [
    { kind: "open", accountId },
    { kind: "deposit", accountId, id: randomUUID(), credits: 20_000n },
    ...budgets.map((definition): ChainOperation => ({ kind: "budget", accountId, definition })),
  ];
}

export interface CrashMemory {
  /** Recent holds by account, also of other writers. */
  readonly holds: Map<Id, Id[]>;
  /** Earlier calls, which the writer sends again. */
  readonly calls: ChainOperation[][];
}

export function nextCall(
  random: Random,
  accounts: readonly CrashAccount[],
  memory: CrashMemory,
  now: number,
): ChainOperation[] {
  if (memory.calls.length > 10 && random.chance(0.06)) return random.pick(memory.calls);
  const some = [random.pick(accounts), random.pick(accounts), random.pick(accounts)];
  const call = Array.from({ length: random.between(1, 24) }, () =>
    nextOperation(random, random.pick(some), memory, now),
  );
  memory.calls.push(call);
  if (memory.calls.length > 50) memory.calls.shift();
  return call;
}

function nextOperation(
  random: Random,
  account: CrashAccount,
  memory: CrashMemory,
  now: number,
): ChainOperation {
  const { accountId } = account;
  const wallet = { accountId, budgetId: random.pick(account.jobs) };
  const holds = memory.holds.get(accountId) ?? [];
  if (holds.length === 0 || random.chance(0.42)) return nextPlace(random, wallet, memory, now);
  const holdId = random.chance(0.7) ? (holds.shift() ?? "") : random.pick(holds);
  const cost = BigInt(random.below(50));
  const deadlineAt = now + random.between(1, 9) * HOUR_MS;
  switch (random.below(20)) {
    case 0:
    case 1:
    case 2:
      return release(wallet, holdId, cost);
    case 3:
      return { kind: "release", accountId, holdId, cost, unresolved: true };
    case 4:
    case 5:
      holds.push(holdId);
      return { kind: "extend", accountId, holdId, credits: BigInt(random.between(100, 700)), deadlineAt };
    case 6:
      holds.push(holdId);
      return {
        kind: "next",
        accountId,
        holdId,
        attempt: 2,
        provider: "second",
        upstreamModel: "m",
        cost,
        deadlineAt,
      };
    case 7:
      return { kind: "lease", accountId, holdId, until: deadlineAt };
    case 8:
      holds.push(holdId);
      return keep(wallet, holdId, 90n);
    case 9:
      return { kind: "deposit", accountId, id: randomUUID(), credits: BigInt(random.between(100, 1_500)) };
    case 10:
      return nextBudget(random, account, now);
    case 11:
      return { kind: "adjustment", accountId, id: randomUUID(), credits: BigInt(random.between(-300, 300)) };
    default:
      return capture(wallet, holdId, BigInt(random.between(0, 600)), cost);
  }
}

function nextPlace(
  random: Random,
  wallet: { readonly accountId: Id; readonly budgetId: Id },
  memory: CrashMemory,
  now: number,
): ChainOperation {
  const { accountId } = wallet;
  const deadlineAt = now + random.between(1, 9) * HOUR_MS;
  const key = `${accountId} ${random.below(12)}`;
  const claim = random.chance(0.3) ? { claim: claimOf(key, String(random.below(8) === 0)) } : {};
  const operation = place(wallet, BigInt(random.between(50, 500)), { deadlineAt, ...claim });
  const holds = memory.holds.get(accountId) ?? [];
  holds.push(operation.holdId);
  memory.holds.set(accountId, holds.slice(-30));
  return operation;
}

/** A limit moves; later changes have higher revisions. */
function nextBudget(random: Random, { accountId, budgets }: CrashAccount, now: number): ChainOperation {
  const definition = random.pick(budgets);
  const limit =
    definition.limit === null ? null : (definition.limit * BigInt(random.between(50, 150))) / 100n;
  return budget({ accountId, budgetId: definition.id }, { ...definition, limit, revision: BigInt(now) });
}
