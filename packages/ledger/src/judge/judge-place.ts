// Judge of a place: state of the budgets, then the Idempotency-Key, then the money. Dry runs ask the same questions and change
// nothing.
import type { Credits } from "@gr/money";
import {
  type Account,
  findHold,
  freeUsedAt,
  HOLDS_PER_FREE_PLACE,
  type Hold,
  MOST_OPEN_HOLDS,
} from "../account.ts";
import type { Claim, Place } from "../operation.ts";
import { DONE, type Outcome } from "../outcome.ts";
import type { BudgetAfter } from "../step.ts";
import { DAY_MS, windowStart } from "../window.ts";
import {
  chainOf,
  currentLevels,
  grantOf,
  type Level,
  moneyRefusal,
  refused,
  spenderRefusal,
} from "./admission.ts";
import { type ClaimCode, claimOutcome } from "./claims.ts";
import type { Facts, Judged, Missing, Terms } from "./facts.ts";
import { accountStep, changes } from "./new-step.ts";

/** Size for a dry run without a stated size. */
const SMALLEST: Credits = 1n;

export function judgePlace(account: Account, place: Place, facts: Facts, terms: Terms): Judged {
  const known = findHold(account, place.holdId);
  if (known !== undefined) return { outcome: repeatOutcome(account, place, known) };
  const { credits, most, claim } = place;
  const { now, freeLimit } = terms;
  const chain = chainOf(account, place.budgetId, place.memberId);
  const bad = spenderRefusal(account, chain, now);
  if (bad !== undefined) return { outcome: bad };
  const levels = currentLevels(chain, now);
  const money = moneyRefusal(account, levels, { total: credits, more: credits }, now);
  if (claim !== undefined) {
    const claimed = claimedBy(account, claim, facts, now);
    if ("missing" in claimed) return claimed;
    if (claimed.owner !== undefined) return { outcome: replayOutcome(claimed.owner, levels, money) };
  }
  if (money !== undefined) return { outcome: money };
  const free = MOST_OPEN_HOLDS - account.open.size;
  if (free <= 0) return { outcome: { code: "too_many_holds" } };
  if (openHolds(levels[0]) >= HOLDS_PER_FREE_PLACE * free)
    return { outcome: { code: "share_of_holds_used" } };
  if (credits === 0n && freeLimit !== null && freeUsedAt(account, now) >= freeLimit) {
    const day = Math.max(windowStart("day", now) ?? 0, account.freeDay);
    return { outcome: refused("free_limit_exceeded", account, { resetsAt: day + DAY_MS }) };
  }
  const held = grantOf(account, levels, { least: credits, most });
  const step = {
    ...accountStep(account, "place", now),
    id: place.holdId,
    credits: held,
    attempt: 1,
    deadlineAt: place.deadlineAt,
    held: account.held + held,
    budgets: levels.map((level) => afterHold(level, held)),
    tag: place.tag,
    claim: claim ?? null,
  };
  return changes(step, most === undefined ? DONE : { code: "done", held });
}

/**
 * Returns the outcome of a place with this claim and the size of the earlier hold.
 * @returns `done` if the key is free; a missing fact
 */
export function judgeClaim(
  account: Account,
  { budgetId, memberId, claim }: Pick<Place, "budgetId" | "memberId"> & { readonly claim: Claim },
  facts: Facts,
  at: number,
): { readonly outcome: Outcome } | { readonly missing: Missing } {
  const now = Math.max(at, account.at);
  const claimed = claimedBy(account, claim, facts, now);
  if ("missing" in claimed) return claimed;
  if (claimed.owner === undefined) return { outcome: DONE };
  const chain = chainOf(account, budgetId, memberId);
  const bad = spenderRefusal(account, chain, now);
  if (bad !== undefined) return { outcome: bad };
  const levels = currentLevels(chain, now);
  const size = claimed.owner.holder.credits;
  const money = moneyRefusal(account, levels, { total: size, more: size }, now);
  return { outcome: replayOutcome(claimed.owner, levels, money) };
}

/**
 * Answers whether a budget could pay for a hold of this size without other open holds. A claimed key passes: the place
 * decides about it.
 * @param credits 0 = the smallest hold
 */
export function checkSpender(
  account: Account,
  asked: Pick<Place, "budgetId" | "memberId" | "credits"> & { readonly claimKey?: string | undefined },
  facts: Facts,
  at: number,
): { readonly outcome: Outcome } | { readonly missing: Missing } {
  const now = Math.max(at, account.at);
  const { budgetId, memberId, claimKey, credits } = asked;
  const chain = chainOf(account, budgetId, memberId);
  const bad = spenderRefusal(account, chain, now);
  if (bad !== undefined) return { outcome: bad };
  const size = credits === 0n ? SMALLEST : credits;
  const money = moneyRefusal(account, currentLevels(chain, now), { total: size, more: size }, now);
  if (money === undefined || money.refusal?.inFlight === true) return { outcome: DONE };
  if (claimKey === undefined) return { outcome: money };
  const claimed = claimedBy(account, { key: claimKey, fingerprint: "" }, facts, now);
  if ("missing" in claimed) return claimed;
  return { outcome: claimed.owner === undefined ? money : DONE };
}

/** Holds of a budget in all its windows. */
function openHolds(lowest: Level | undefined): number {
  let count = 0;
  for (const { holds } of lowest?.of.totals.values() ?? []) count += holds;
  return count;
}

function repeatOutcome(account: Account, { budgetId, most }: Place, hold: Hold): Outcome {
  const isSame = account.budgetNumbers.get(budgetId) === hold.chain[0]?.budget;
  if (hold.state !== "open" || !isSame) return { code: "already_resolved" };
  return most === undefined ? DONE : { code: "done", held: hold.credits };
}

/** Hold that owns an Idempotency-Key, and the outcome of a place with the same key. */
interface Owner {
  readonly met: ClaimCode;
  readonly holder: Hold;
}

/** `owner` is undefined if the key is free. */
type Claimed = { readonly owner: Owner | undefined } | { readonly missing: Missing };

function claimedBy(account: Account, claim: Claim, facts: Facts, now: number): Claimed {
  const record = facts.claims.get(claim.key);
  if (record === undefined) return { missing: { claim: claim.key } };
  if (record === null) return FREE;
  const { holdId } = record;
  const holder = findHold(account, holdId);
  if (holder === undefined) return facts.absentHolds.has(holdId) ? FREE : { missing: { hold: holdId } };
  const met = claimOutcome(record, holder, claim, now);
  return met === undefined ? FREE : { owner: { met, holder } };
}

const FREE: Claimed = { owner: undefined };

/** A budget receives the answer of another budget only if its own limits have room for the hold. */
function replayOutcome(
  { met, holder }: Owner,
  levels: readonly Level[],
  money: Outcome | undefined,
): Outcome {
  if (met !== "claim_finished") return { code: met };
  const isOwn = holder.chain[0]?.budget === levels[0]?.budget;
  const isOverLimit = money?.code === "spend_limit_exceeded" && money.refusal?.inFlight === false;
  if (!isOwn && isOverLimit) return money;
  return { code: met, earlierHoldId: holder.id };
}

function afterHold({ budget, window, totals }: Level, held: Credits): BudgetAfter {
  return { budget, window, used: totals.used, held: totals.held + held };
}
