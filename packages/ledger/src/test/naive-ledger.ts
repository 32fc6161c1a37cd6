// NaiveLedger owns a second opinion about holds in trees of budgets. It has no totals and no steps: each question adds up all
// holds, and a window is an object that its holds refer to. It shares the calendar alone with the ledger.
import { isDeepStrictEqual } from "node:util";
import type { BudgetDefinition } from "../budget.ts";
import type { ChangeBudget, Extend, Operation, Place } from "../operation.ts";
import { type Period, windowStart } from "../window.ts";
import { present } from "./ledger-under-test.ts";

interface Window {
  readonly start: number;
}

interface NaiveBudget {
  definition: BudgetDefinition;
  window: Window;
}

interface NaiveHold {
  readonly budgetId: string;
  /** From the lowest budget up. */
  readonly windows: readonly (readonly [NaiveBudget, Window])[];
  state: "open" | "captured" | "released";
  credits: bigint;
  charge: bigint;
}

/** Words of an answer, to compare with those of the ledger. */
export interface Answer {
  readonly code: string;
  readonly budget?: string | undefined;
  readonly inFlight?: boolean | undefined;
  readonly held?: bigint | undefined;
}

function replaceDefinition(budget: NaiveBudget, definition: BudgetDefinition): void {
  if (budget.definition.period !== definition.period) budget.window = { start: 0 };
  budget.definition = definition;
}

const startOf = (period: Period, now: number) => windowStart(period, now) ?? 0;

export class NaiveLedger {
  readonly #budgets = new Map<string, NaiveBudget>();
  readonly #holds = new Map<string, NaiveHold>();
  #credited = 0n;
  #suspended = false;

  /** @returns undefined for operations that this opinion is not about */
  take(operation: Operation, now: number): Answer | undefined {
    switch (operation.kind) {
      case "deposit":
      case "refund":
      case "adjustment":
        this.#credited += operation.credits;
        return undefined;
      case "suspend":
        this.#suspended = operation.suspended;
        return undefined;
      case "budget":
        return this.#put(operation.definition);
      case "budget_change":
        return this.#change(operation);
      case "place":
        return this.#place(operation, now);
      case "extend":
        return this.#extend(operation, now);
      case "capture":
        return this.#end(operation.holdId, "captured", operation.charge);
      case "release":
        return this.#end(operation.holdId, "released", 0n);
      default:
        return undefined;
    }
  }

  #put(sent: BudgetDefinition): Answer {
    const known = this.#budgets.get(sent.id);
    const before = known?.definition;
    if (before !== undefined && before.revision > sent.revision) return { code: "stale_revision" };
    const above = before?.parentId ?? null;
    if (above !== null && sent.parentId !== null && above !== sent.parentId)
      return { code: "invalid_parent" };
    const definition = { ...sent, parentId: above ?? sent.parentId };
    if (definition.parentId !== null && !this.#isBelow(definition, definition.parentId)) {
      return { code: "invalid_parent" };
    }
    if (known === undefined) this.#budgets.set(sent.id, { definition, window: { start: 0 } });
    else replaceDefinition(known, definition);
    return { code: "done" };
  }

  #change({ budgetId, change }: ChangeBudget): Answer {
    const known = this.#budgets.get(budgetId);
    if (known === undefined) return { code: "unknown_budget" };
    const changed = { ...known.definition, ...change };
    if (isDeepStrictEqual(changed, known.definition)) return { code: "done" };
    const { parentId } = known.definition;
    const isMoved = parentId !== changed.parentId;
    if (isMoved && (parentId !== null || !this.#isBelow(changed, changed.parentId ?? ""))) {
      return { code: "invalid_parent" };
    }
    replaceDefinition(known, { ...changed, revision: changed.revision + 1n });
    return { code: "done" };
  }

  #isBelow({ level }: BudgetDefinition, parentId: string): boolean {
    const parent = this.#budgets.get(parentId);
    const order = ["account", "member", "key", "job"];
    return parent !== undefined && order.indexOf(parent.definition.level) < order.indexOf(level);
  }

  #chain(id: string): NaiveBudget[] {
    const budget = this.#budgets.get(id);
    if (budget === undefined) return [];
    const { parentId } = budget.definition;
    return [budget, ...(parentId === null ? [] : this.#chain(parentId))];
  }

  /** Used and held credits of a window, from all holds. */
  #sum(window?: Window): { used: bigint; held: bigint } {
    let [used, held] = [0n, 0n];
    for (const hold of this.#holds.values()) {
      if (window !== undefined && !hold.windows.some(([, one]) => one === window)) continue;
      if (hold.state === "open") held += hold.credits;
      else used += hold.charge;
    }
    return { used, held };
  }

  /** A member without a budget, or with one of another level, counts nowhere. */
  #chainWith(id: string, memberId: string | undefined): NaiveBudget[] {
    const own = this.#chain(id);
    const [lowest] = own;
    const members = memberId === undefined ? [] : this.#chain(memberId);
    const { level, parentId } = lowest?.definition ?? { level: "job", parentId: null };
    const counts = level === "key" && parentId === null && members[0]?.definition.level === "member";
    return counts ? own.concat(members) : own;
  }

  #place({ holdId, budgetId, memberId, credits, most }: Place, now: number): Answer {
    const known = this.#holds.get(holdId);
    if (known !== undefined) {
      if (known.state !== "open" || known.budgetId !== budgetId) return { code: "already_resolved" };
      return { code: "done", held: most === undefined ? undefined : known.credits };
    }
    const chain = this.#chainWith(budgetId, memberId);
    const bad = this.#closed(chain, now);
    if (bad !== undefined) return bad;
    const windows = chain.map((budget) => {
      const start = startOf(budget.definition.period, now);
      return [budget, start > budget.window.start ? { start } : budget.window] as const;
    });
    const refusal = this.#refusal(windows, credits, credits, true);
    if (refusal !== undefined) return refusal;
    const size = this.#share(windows, credits, most);
    for (const [budget, window] of windows) budget.window = window;
    this.#holds.set(holdId, { budgetId, windows, state: "open", credits: size, charge: 0n });
    return { code: "done", held: most === undefined ? undefined : size };
  }

  #extend({ holdId, credits, most }: Extend, now: number): Answer {
    const hold = this.#holds.get(holdId);
    if (hold === undefined) return { code: "unknown_hold" };
    if (hold.state !== "open") return { code: "already_resolved" };
    const more = credits - hold.credits;
    if (more > 0n) {
      const bad =
        this.#closed(
          hold.windows.map(([budget]) => budget),
          now,
        ) ?? this.#refusal(hold.windows, credits, more, false);
      if (bad !== undefined) return bad;
      hold.credits += this.#share(hold.windows, more, most === undefined ? undefined : most - hold.credits);
    }
    return { code: "done", held: most === undefined ? undefined : hold.credits };
  }

  #end(holdId: string, state: "captured" | "released", charge: bigint): Answer | undefined {
    const hold = this.#holds.get(holdId);
    if (hold === undefined) return { code: "unknown_hold" };
    // The answers to repeats depend on costs, which are not of this opinion.
    if (hold.state !== "open") return undefined;
    hold.state = state;
    hold.charge = charge < hold.credits ? charge : hold.credits;
    return { code: "done" };
  }

  #closed(chain: readonly NaiveBudget[], now: number): Answer | undefined {
    const isOver = ({ definition: { expiresAt } }: NaiveBudget) => expiresAt !== null && expiresAt <= now;
    const [lowest] = chain;
    if (lowest === undefined || !lowest.definition.active || this.#suspended)
      return { code: "spender_inactive", inFlight: false };
    if (isOver(lowest)) return { code: "spender_expired", inFlight: false };
    const closed = chain.find((budget) => !budget.definition.active || isOver(budget));
    return closed && { code: "budget_closed", budget: closed.definition.id, inFlight: false };
  }

  #refusal(windows: NaiveHold["windows"], total: bigint, more: bigint, isPlace: boolean): Answer | undefined {
    if (more === 0n) return undefined;
    const all = this.#sum();
    const left = this.#credited - all.used;
    for (const inFlight of [false, true]) {
      for (const [{ definition, window: current }, window] of windows) {
        const { limit } = definition;
        const { used, held } = this.#sum(window);
        const isFull = inFlight ? used + held + more > (limit ?? 0n) : used + total > (limit ?? 0n);
        // A place can begin a window, and an extension cannot.
        const hasEnded = !isPlace && window !== current;
        if (limit !== null && (isFull || hasEnded)) {
          return { code: "spend_limit_exceeded", budget: definition.id, inFlight };
        }
      }
      if (inFlight ? more > left - all.held : total > left) return { code: "insufficient_credits", inFlight };
    }
    return undefined;
  }

  #share(windows: NaiveHold["windows"], least: bigint, most: bigint | undefined): bigint {
    if (most === undefined || least === 0n) return least;
    const all = this.#sum();
    const rooms = [this.#credited - all.used - all.held];
    for (const [{ definition }, window] of windows) {
      const { used, held } = this.#sum(window);
      if (definition.limit !== null) rooms.push(definition.limit - used - held);
    }
    const free = present(rooms.toSorted((one, other) => (one < other ? -1 : 1))[0]);
    const share = most * 4n > free ? (free - (((free % 4n) + 4n) % 4n)) / 4n : most;
    return share > least ? share : least;
  }
}
