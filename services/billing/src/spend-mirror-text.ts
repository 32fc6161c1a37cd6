// Numbers as Redis keeps them: one line of text, the time of their death first, so that amounts of 64 bits pass
// through Lua untouched. What is not such a line is nothing.
import type { SpendNumbers } from "./spend-mirror.ts";
import type { Period } from "./spender.ts";

const LINE = /^\d+ (-?\d+) (\d+) (-|\d+) (\d+) (lifetime|day|week|month) (\d+) (\d+) (\d+)$/;

/** @param diesAt milliseconds of Redis's clock. */
export function textOf(diesAt: number, numbers: SpendNumbers): string {
  const { balance, available, cap, used, period, resetsAt, confirmedAt, endsAt } = numbers;
  return [diesAt, balance, available, cap ?? "-", used, period, resetsAt, confirmedAt, endsAt].join(" ");
}

export function numbersOf(text: unknown): SpendNumbers | undefined {
  const fields = typeof text === "string" ? LINE.exec(text) : null;
  if (fields === null) return undefined;
  const [
    ,
    balance = "",
    available = "",
    cap = "",
    used = "",
    period,
    resetsAt = "",
    confirmedAt = "",
    endsAt = "",
  ] = fields;
  return {
    balance: BigInt(balance),
    available: BigInt(available),
    cap: cap === "-" ? null : BigInt(cap),
    used: BigInt(used),
    period: period as Period,
    resetsAt: BigInt(resetsAt),
    confirmedAt: BigInt(confirmedAt),
    endsAt: BigInt(endsAt),
  };
}
