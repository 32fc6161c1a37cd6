// State texts own the JSON of the ledger's text columns: details of steps, and the states that a cold start reads. A 64-bit
// integer is an object with its digits, so no amount becomes a floating-point number and no text is read as an amount.
import { type Account, type Budget, type Hold, newAccount, type StepDetail } from "@gr/ledger";

/** An object with this member alone is an integer. */
const INTEGER = "$int";

export function detailText(detail: StepDetail): string {
  return textOf(detail);
}

export function readDetail(text: string): StepDetail {
  return parsed(text) as StepDetail;
}

export function budgetText(budget: Budget): string {
  return textOf({ ...budget, totals: [...budget.totals] });
}

export function readBudget(text: string): Budget {
  const { totals, ...budget } = parsed(text) as Flat<Budget, "totals">;
  return { ...budget, totals: new Map(totals) };
}

/** Text of an account without its holds. The list of its budgets may have gaps. */
export function totalsText({
  budgets,
  budgetNumbers: _,
  open: _open,
  ended: _ended,
  ...totals
}: Account): string {
  return textOf({
    ...totals,
    budgets: budgets.flatMap((budget) => ({ ...budget, totals: [...budget.totals] })),
  });
}

export function readTotals(text: string): Account {
  const { budgets, ...totals } = parsed(text) as Account & {
    readonly budgets: readonly Flat<Budget, "totals">[];
  };
  const account = Object.assign(newAccount(totals.id), totals);
  for (const budget of budgets) addBudget(account, { ...budget, totals: new Map(budget.totals) });
  return account;
}

export function addBudget({ budgets, budgetNumbers }: Account, budget: Budget): void {
  budgets[budget.no - 1] = budget;
  budgetNumbers.set(budget.definition.id, budget.no);
}

export function holdsText(holds: Iterable<Hold>): string {
  return textOf(Array.from(holds, (hold) => ({ ...hold, booked: [...hold.booked] })));
}

export function readHolds(text: string): Hold[] {
  const holds = parsed(text) as Flat<Hold, "booked">[];
  return holds.map(({ claim, kept, booked, ...hold }) => ({ ...hold, claim, kept, booked: new Map(booked) }));
}

/** A value with a map as its entries. */
type Flat<Of, Name extends keyof Of> = Omit<Of, Name> & {
  readonly [Each in Name]: Of[Each] extends ReadonlyMap<infer Key, infer Value>
    ? (readonly [Key, Value])[]
    : never;
};

/** A replacer of JSON.stringify would need several times as long. */
function textOf(value: unknown): string {
  return JSON.stringify(withoutIntegers(value));
}

function withoutIntegers(part: unknown): unknown {
  if (typeof part === "bigint") return { [INTEGER]: part.toString() };
  if (typeof part !== "object" || part === null) return part;
  if (Array.isArray(part)) return part.map(withoutIntegers);
  const from = part as Record<string, unknown>;
  const members: Record<string, unknown> = {};
  for (const name of Object.keys(from)) members[name] = withoutIntegers(from[name]);
  return members;
}

/** A reviver of JSON.parse would need twice as long. */
function parsed(text: string): unknown {
  return restored(JSON.parse(text));
}

function restored(part: unknown): unknown {
  if (typeof part !== "object" || part === null) return part;
  const members = part as Record<string, unknown>;
  const digits = members[INTEGER];
  if (typeof digits === "string") return BigInt(digits);
  for (const name of Object.keys(members)) members[name] = restored(members[name]);
  return members;
}
