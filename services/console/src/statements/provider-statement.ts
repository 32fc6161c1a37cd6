// ProviderStatement is the port of readers: rows of a provider's own statement by UTC day and model.
// Invariant: amounts are exact integers; a reader that cannot read a row throws and returns no partial statement.
import { type PicoUsd, parseDecimal } from "@gr/money";

const PICO_DECIMALS = 12;

/** Days of a statement as YYYY-MM-DD in UTC, both included. */
export interface DayRange {
  readonly from: string;
  readonly to: string;
}

export interface StatementRow {
  /** YYYY-MM-DD in UTC. */
  readonly day: string;
  /** The model's name as the provider writes it. */
  readonly model: string;
  /** Billed amount; negative for a credit note. */
  readonly amount: PicoUsd;
}

export interface ProviderStatement {
  /** @throws UnusableStatement with a reason for the operator */
  read(days: DayRange, signal?: AbortSignal): Promise<readonly StatementRow[]>;
}

/** The reason is one sentence without a period, and never contains the key or text of the provider. */
export class UnusableStatement extends Error {}

/** Reads a USD amount, digits beyond 1e-12 USD rounded away from zero. @throws UnusableStatement */
export function amountOf(usd: string | number, place: string): PicoUsd {
  const amount = parseDecimal(usd, PICO_DECIMALS, "up");
  if (amount === undefined) throw new UnusableStatement(`${place} has an amount that is no decimal number`);
  return amount;
}

/** Days of the range, oldest first. */
export function daysOf({ from, to }: DayRange): string[] {
  const days: string[] = [];
  for (let at = Date.parse(from); at <= Date.parse(to); at += 86_400_000) {
    days.push(new Date(at).toISOString().slice(0, 10));
  }
  return days;
}
