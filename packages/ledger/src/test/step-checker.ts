// StepChecker owns the invariants of a chain of steps. It reads the steps alone and shares no code with `apply`, so it proves
// the sums of the rows without the state that decided them.
import type { BudgetDefinition } from "../budget.ts";
import type { Step } from "../step.ts";

interface CheckedHold {
  credits: bigint;
  /** "budget/window" from the lowest budget up. */
  readonly links: readonly string[];
}

interface Sums {
  used: bigint;
  held: bigint;
}

const ENDS = ["capture", "release", "abandon"];
const ON_HOLD = ["extend", "next", "late", "lease", "keep", ...ENDS];

export class StepChecker {
  #seq = 0;
  #at = 0;
  #credited = 0n;
  #debited = 0n;
  #held = 0n;
  readonly #definitions: BudgetDefinition[] = [];
  readonly #open = new Map<string, CheckedHold>();
  readonly #ended = new Set<string>();
  readonly #sums = new Map<string, Sums>();
  readonly #windows = new Map<number, number>();

  /** @throws Error if the step breaks an invariant */
  take(step: Step): void {
    const { kind, seq, at, credits, charge, cost } = step;
    const check = (isRight: boolean, rule: string) => {
      if (!isRight) throw new Error(`Step ${seq} (${kind} ${step.id}): ${rule}.`);
    };
    check(seq === this.#seq + 1, "numbers have no gap");
    check(at >= this.#at, "time never falls");
    check(cost >= 0n && charge >= 0n, "costs and charges are not negative");
    check(cost === 0n || step.billedBy !== null, "a cost has a provider");
    const isMoney = ["deposit", "refund", "adjustment"].includes(kind);
    check(step.credited === this.#credited + (isMoney ? credits : 0n), "credited follows");
    check(step.debited === this.#debited + charge, "debited follows");
    check(step.held === this.#held + (isMoney ? 0n : credits), "held follows");
    check(charge === 0n || kind === "capture", "captures alone charge");
    const free = step.credited - step.debited - step.held;
    const freeBefore = this.#credited - this.#debited - this.#held;
    if (credits > 0n && !isMoney) check(free >= 0n, "credits are reserved from free credits");
    if (ENDS.includes(kind)) check(free >= freeBefore, "the end of a hold frees its credits but the charge");
    this.#seq = seq;
    this.#at = at;
    this.#credited = step.credited;
    this.#debited = step.debited;
    this.#held = step.held;
    this.#takeHold(step, check);
    this.#takeBudgets(step, check);
    let sum = 0n;
    for (const { credits: size } of this.#open.values()) sum += size;
    check(step.held === sum, "held is the sum of the open holds");
    if (kind === "budget" && step.detail !== null && "definition" in step.detail) {
      const { definition } = step.detail;
      const index = this.#definitions.findIndex(({ id }) => id === definition.id);
      const parentId = this.#definitions[index]?.parentId ?? null;
      check(parentId === null || parentId === definition.parentId, "a parent never changes");
      if (index === -1) this.#definitions.push(definition);
      else this.#definitions[index] = definition;
    }
  }

  #takeHold(step: Step, check: (isRight: boolean, rule: string) => void): void {
    const { kind, id, credits, charge, budgets } = step;
    const links = budgets.map(({ budget, window }) => `${budget}/${window}`);
    if (kind === "place") {
      check(!this.#open.has(id) && !this.#ended.has(id), "a hold is placed once");
      check(credits >= 0n, "a hold is not negative");
      check(this.#isChain(budgets.map(({ budget }) => budget)), "the chain leads to the root");
      this.#open.set(id, { credits, links });
      return;
    }
    if (!ON_HOLD.includes(kind)) return;
    const hold = this.#open.get(id);
    if (kind === "late") {
      check(credits === 0n && (hold !== undefined || this.#ended.has(id)), "a late cost has a hold");
      return;
    }
    if (hold === undefined) {
      check(false, "the hold is open");
      return;
    }
    if (links.length > 0) check(links.join() === hold.links.join(), "a hold stays in its windows");
    if (ENDS.includes(kind)) {
      check(credits === -hold.credits, "an end frees the whole hold");
      check(charge <= hold.credits, "no charge is above its hold");
      check(links.length > 0, "an end has its budgets");
      this.#open.delete(id);
      this.#ended.add(id);
      return;
    }
    check(credits >= 0n && (kind === "extend" || credits === 0n), "a hold never shrinks");
    hold.credits += credits;
  }

  #takeBudgets(
    { kind, credits, charge, budgets }: Step,
    check: (isRight: boolean, rule: string) => void,
  ): void {
    for (const { budget, window, used, held } of budgets) {
      const key = `${budget}/${window}`;
      const before = this.#sums.get(key) ?? { used: 0n, held: 0n };
      check(held === before.held + credits && used === before.used + charge, `totals of ${key} follow`);
      check(held >= 0n, `held of ${key} is not negative`);
      const limit = this.#definitions[budget - 1]?.limit ?? null;
      if (credits > 0n && limit !== null)
        check(used + held <= limit, `the limit of ${key} covers used and held`);
      const latest = this.#windows.get(budget) ?? 0;
      if (kind === "place") {
        check(window >= latest, `the number of the window ${key} only rises`);
        this.#windows.set(budget, window);
      } else if (credits > 0n && limit !== null) check(window === latest, `${key} is the current window`);
      this.#sums.set(key, { used, held });
    }
  }

  /** Above a key without a parent, the chain of a member may follow. */
  #isChain([lowest = 0, ...above]: readonly number[]): boolean {
    const [, ...own] = this.#chainOf(lowest);
    if (own.join() === above.join()) return true;
    const [member = 0] = above;
    const levels = [lowest, member].map((no) => this.#definitions[no - 1]?.level);
    return (
      own.length === 0 && levels.join() === "key,member" && this.#chainOf(member).join() === above.join()
    );
  }

  #chainOf(budget: number): number[] {
    const chain: number[] = [];
    for (let no = budget; no > 0; ) {
      chain.push(no);
      const parentId = this.#definitions[no - 1]?.parentId;
      no = this.#definitions.findIndex(({ id }) => id === parentId) + 1;
    }
    return chain;
  }
}
