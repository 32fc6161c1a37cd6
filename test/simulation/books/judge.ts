// Judge owns the right answer to each operation by the books of the audit, before it is carried out. It shares no code with `@gr/ledger`.
import { smaller } from "@gr/money";
import type {
  Credit,
  Extend,
  Next,
  Operation,
  Outcome,
  Place,
  PutKey,
  Resolution,
} from "../ledger/operation.ts";
import { CLAIM_LIFETIME_MS } from "../world/timing.ts";
import { type Audit, type AuditedAttempt, type AuditedHold, type AuditedSpender, present } from "./audit.ts";
import { windowStartOf } from "./window.ts";

export interface Verdict {
  readonly code: Outcome["code"];
  /** Kind of the step that the ledger has to store; undefined = none. */
  readonly step?: Operation["kind"] | "late" | undefined;
  /** Size of the hold, for an operation with a most. */
  readonly held?: bigint | undefined;
  /** The hold of an earlier request with the same key. */
  readonly earlier?: number | undefined;
}

/** @param at time of the decision, Unix milliseconds */
export function judge(audit: Audit, operation: Operation, at: number): Verdict {
  switch (operation.kind) {
    case "place":
      return judgePlace(audit, operation, at);
    case "extend":
      return judgeExtend(audit, operation, at);
    case "next":
      return judgeNext(audit, operation);
    case "lease":
    case "keep":
      return judgeMark(audit, operation, at);
    case "deposit":
    case "refund":
    case "adjustment":
      return judgeCredit(audit, operation);
    case "budget":
      return judgeKey(audit, operation);
    default:
      return judgeResolution(audit, operation);
  }
}

function judgePlace(audit: Audit, place: Place, at: number): Verdict {
  const { hold, spender, most } = place;
  const known = audit.holds.get(hold);
  if (known === undefined) {
    const code = placeCode(audit, place, at);
    if (code === "done") return { code, step: "place" };
    return code === "claim finished" ? { code, earlier: ownerOf(audit, place)?.id } : { code };
  }
  if (known.state !== "open" || known.place.spender !== spender) return { code: "already resolved" };
  return { code: "done", held: most === undefined ? undefined : known.amount };
}

function placeCode(audit: Audit, place: Place, at: number): Outcome["code"] {
  const spender = audit.spender(place.spender);
  const { fields } = spender;
  if (!fields.active || spender.account !== place.account) return "disabled or deleted";
  if (fields.expiresAt !== undefined && fields.expiresAt <= at) return "expired";
  const claimed = claimCode(audit, place, at);
  if (claimed === undefined) return moneyCode(audit, place, spender, at);
  if (claimed !== "claim finished" || ownerOf(audit, place)?.place.spender === place.spender) return claimed;
  // Another spender's request: a cap without room for this one comes first.
  return moneyCode(audit, place, spender, at) === "cap" ? "cap" : claimed;
}

function ownerOf(audit: Audit, { claim }: Place): AuditedHold | undefined {
  return claim && audit.claims.get(claim.key);
}

function claimCode(audit: Audit, place: Place, at: number): Outcome["code"] | undefined {
  const owner = ownerOf(audit, place);
  if (owner === undefined || isOver(owner, at)) return undefined;
  // A kept answer may have been seen: its key is not free again.
  if (owner.state === "released" && !audit.kept.has(owner.id)) return undefined;
  if (owner.place.claim?.content !== place.claim?.content) return "claim mismatch";
  return owner.state === "open" ? "claim in progress" : "claim finished";
}

/** Whether the claim of this hold has ended. While the hold is open, it never has. */
function isOver({ state, placedAt }: AuditedHold, at: number): boolean {
  return state !== "open" && at - placedAt >= CLAIM_LIFETIME_MS;
}

function moneyCode(
  audit: Audit,
  { credits, account: index }: Place,
  spender: AuditedSpender,
  at: number,
): Outcome["code"] {
  if (credits === 0n) return audit.freeUsed(index, at) < audit.freeLimit ? "done" : "free limit";
  const { fields, window } = spender;
  const begins = windowStartOf(fields.period, at) > window.start;
  const used = begins ? 0n : window.used;
  const held = begins ? 0n : window.held;
  const { deposited, charged, held: heldOfAccount } = audit.account(index);
  const { cap } = fields;
  if (cap !== undefined && used + credits > cap) return "cap";
  if (charged + credits > deposited) return "balance";
  if (cap !== undefined && used + held + credits > cap) return "cap, in flight";
  return charged + heldOfAccount + credits > deposited ? "balance, in flight" : "done";
}

function judgeExtend(audit: Audit, { hold: id, credits, most, deadlineAt }: Extend, at: number): Verdict {
  const hold = audit.holds.get(id);
  if (hold === undefined) return { code: "unknown hold" };
  if (hold.state !== "open") return { code: "already resolved" };
  const more = credits - hold.amount;
  const code = more > 0n ? growthCode(audit, hold, credits, at) : "done";
  if (code !== "done") return { code };
  if (more > 0n || deadlineAt > hold.deadlineAt) return { code, step: "extend" };
  return { code, held: most === undefined ? undefined : hold.amount };
}

/** As a place of the difference, in the window of the hold. */
function growthCode(audit: Audit, hold: AuditedHold, credits: bigint, at: number): Outcome["code"] {
  const more = credits - hold.amount;
  const { fields, window } = audit.spender(hold.place.spender);
  const { deposited, charged, held } = audit.account(hold.place.account);
  const { cap, active, expiresAt } = fields;
  if (!active) return "disabled or deleted";
  if (expiresAt !== undefined && expiresAt <= at) return "expired";
  if (cap !== undefined && (hold.window !== window || window.used + credits > cap)) return "cap";
  if (charged + credits > deposited) return "balance";
  if (cap !== undefined && window.used + window.held + more > cap) return "cap, in flight";
  return charged + held + more > deposited ? "balance, in flight" : "done";
}

function judgeNext(audit: Audit, { hold: id, attempt, cost, billedBy }: Next): Verdict {
  const hold = audit.holds.get(id);
  if (hold === undefined) return { code: "unknown hold" };
  const { length } = hold.attempts;
  const isOpen = hold.state === "open";
  if (isOpen && attempt === length + 1 && !hold.leased) return { code: "done", step: "next" };
  const code = isOpen && attempt === length ? "done" : "already resolved";
  const failed = hold.attempts[attempt - 2];
  const isLate = attempt === length + 1 ? !isOpen : attempt <= length && billedBy !== undefined;
  return { code, step: isLate && failed !== undefined ? lateStep(failed, cost) : undefined };
}

function judgeResolution(audit: Audit, asked: Resolution): Verdict {
  const hold = audit.holds.get(asked.hold);
  if (hold === undefined) return { code: "unknown hold" };
  if (hold.state === "open") return { code: "done", step: asked.kind };
  const { charge, cost } = endOf(hold, asked);
  const again =
    asked.kind === "capture"
      ? hold.state === "captured" && hold.charge === charge && hold.cost === cost
      : hold.state === "released";
  return { code: again ? "done" : "already resolved", step: lateStep(present(hold.attempts.at(-1)), cost) };
}

/** Charge and cost with which a hold is resolved. */
export function endOf(hold: AuditedHold, asked: Resolution): { charge: bigint; cost: bigint } {
  if (asked.kind === "capture") {
    return { charge: smaller(asked.credits, hold.amount), cost: asked.cost };
  }
  const current = present(hold.attempts.at(-1)).provider;
  // The cost of an earlier attempt was booked when it ended.
  const isForeign = asked.provider !== undefined && asked.provider !== current;
  return { charge: 0n, cost: isForeign ? 0n : asked.cost };
}

/** @param cost of the attempt in all */
function lateStep({ booked }: AuditedAttempt, cost: bigint): "late" | undefined {
  return cost > booked ? "late" : undefined;
}

function judgeMark(
  audit: Audit,
  operation: Extract<Operation, { kind: "lease" | "keep" }>,
  at: number,
): Verdict {
  const { kind, hold: id } = operation;
  const hold = audit.holds.get(id);
  if (hold === undefined) return { code: "unknown hold" };
  if (kind === "keep" && hold.place.claim === undefined) return { code: "unknown hold" };
  if (kind === "keep" && audit.kept.has(id)) return { code: "done" };
  if (hold.state !== "open") return { code: "already resolved" };
  const isFree = kind === "keep" ? !hold.leased : hold.deadlineAt <= at && hold.leasedUntil <= at;
  return isFree ? { code: "done", step: kind } : { code: "leased" };
}

function judgeCredit(audit: Audit, { kind, id, account, credits }: Credit): Verdict {
  const known = audit.credit(kind, id);
  if (known === undefined) return { code: "done", step: kind };
  return { code: known.account === account && known.credits === credits ? "done" : "already resolved" };
}

function judgeKey(audit: Audit, { spender, revision }: PutKey): Verdict {
  if (audit.spender(spender).revision > revision) return { code: "stale revision" };
  return { code: "done", step: "budget" };
}
