// Compares a provider's statement with the books by UTC day and model; pure. The verdict is by model over the whole range, since
// a request near midnight may be on the neighbour day.
// Invariant: billed - booked over all rows is the difference of the totals, to the last pico.
import { larger, type PicoUsd, smaller } from "@gr/money";
import type { StatementRow } from "./provider-statement.ts";

export interface BookedRow {
  readonly day: string;
  /** Empty where the books have the provider of a cost and not its model. */
  readonly model: string;
  readonly cost: PicoUsd;
}

export interface Tolerance {
  readonly usd: PicoUsd;
  /** Percentage of the billed amount. */
  readonly percent: number;
}

/** Undefined: the side does not have the model on this day, or at all. */
interface Sides {
  readonly billed: PicoUsd | undefined;
  readonly booked: PicoUsd | undefined;
}

export interface DayComparison extends Sides {
  readonly day: string;
  readonly model: string;
  /** Billed - booked. */
  readonly difference: PicoUsd;
}

export interface ModelComparison extends Sides {
  readonly model: string;
  readonly difference: PicoUsd;
  /** The difference less cost that the books have without a model. */
  readonly unexplained: PicoUsd;
  readonly differs: boolean;
}

export interface Comparison {
  /** By day, then model. */
  readonly days: readonly DayComparison[];
  /** Sums of the range, the largest difference first; unassigned cost is the last, without a name. */
  readonly models: readonly ModelComparison[];
  readonly billed: PicoUsd;
  readonly booked: PicoUsd;
  /** Booked cost without a model. */
  readonly unassigned: PicoUsd;
  /** Unexplained differences of the models that differ, as absolute amounts. */
  readonly off: PicoUsd;
}

/** A dated snapshot, as in gpt-4o-2024-08-06. */
const SNAPSHOT = /-\d{4}-\d\d-\d\d$/;

export function compareStatement(
  statement: readonly StatementRow[],
  books: readonly BookedRow[],
  tolerance: Tolerance,
): Comparison {
  const known = new Set(books.map(({ model }) => model));
  const billed = statement.map(({ day, model, amount }) => ({ day, model: matched(model, known), amount }));
  const booked = books.map(({ day, model, cost }) => ({ day, model, amount: cost }));
  const unassigned = sumOf(booked.filter(({ model }) => model === ""));
  const byDay = paired(billed, booked, ({ day, model }) => `${day} ${model}`);
  const byModel = paired(billed, booked, ({ model }) => model);
  const models = judged(byModel, unassigned, tolerance);
  return {
    days: byDay
      .map(({ row, ...sides }) => ({ day: row.day, model: row.model, ...sides }))
      .toSorted((one, other) => order(one.day, other.day) || order(one.model, other.model)),
    models,
    billed: sumOf(billed),
    booked: sumOf(booked),
    unassigned,
    off: models.reduce((sum, { differs, unexplained }) => (differs ? sum + size(unexplained) : sum), 0n),
  };
}

/** The name in the books: the same, or the name of a dated snapshot without its date. */
function matched(model: string, known: ReadonlySet<string>): string {
  if (known.has(model)) return model;
  const undated = model.replace(SNAPSHOT, "");
  return known.has(undated) ? undated : model;
}

interface StatementAmount {
  readonly day: string;
  readonly model: string;
  readonly amount: PicoUsd;
}

interface Pair extends Sides {
  readonly row: StatementAmount;
  readonly difference: PicoUsd;
}

function paired(
  billed: readonly StatementAmount[],
  booked: readonly StatementAmount[],
  keyOf: (row: StatementAmount) => string,
): Pair[] {
  const [ours, theirs] = [Map.groupBy(booked, keyOf), Map.groupBy(billed, keyOf)];
  return [...new Set([...theirs.keys(), ...ours.keys()])].flatMap((key) => {
    const [mine, other] = [ours.get(key), theirs.get(key)];
    const row = other?.[0] ?? mine?.[0];
    if (row === undefined) return [];
    const sides = { billed: other && sumOf(other), booked: mine && sumOf(mine) };
    return [{ row, ...sides, difference: (sides.billed ?? 0n) - (sides.booked ?? 0n) }];
  });
}

/** Booked cost without a model explains billed amounts that are too high, the largest first. The rest of it is a row of its own. */
function judged(pairs: readonly Pair[], unassigned: PicoUsd, tolerance: Tolerance): ModelComparison[] {
  let left = unassigned;
  const sorted = pairs.toSorted(
    (one, other) =>
      order(one.row.model === "" ? 1n : 0n, other.row.model === "" ? 1n : 0n) ||
      order(size(other.difference), size(one.difference)) ||
      order(one.row.model, other.row.model),
  );
  return sorted.map(({ row: { model }, billed, booked, difference }) => {
    const explained = model === "" ? left - unassigned : smaller(larger(difference, 0n), left);
    if (model !== "") left -= explained;
    const unexplained = difference - explained;
    const share = (size(billed ?? 0n) * BigInt(tolerance.percent)) / 100n;
    const differs = size(unexplained) > larger(tolerance.usd, share);
    return { model, billed, booked, difference, unexplained, differs };
  });
}

function sumOf(rows: readonly StatementAmount[]): PicoUsd {
  return rows.reduce((sum, { amount }) => sum + amount, 0n);
}

function size(amount: PicoUsd): PicoUsd {
  return amount < 0n ? -amount : amount;
}

function order<T extends string | bigint>(one: T, other: T): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
