// Renders figures: a table of rows, and the median of some rounds.
import { quantile } from "./load.ts";

export interface Row {
  readonly name: string;
  readonly values: readonly number[];
}

/** Returns the median of each column. */
export function medians(rounds: readonly (readonly number[])[]): number[] {
  const width = rounds[0]?.length ?? 0;
  return Array.from({ length: width }, (_, column) =>
    quantile(
      rounds.map((round) => round[column] ?? 0),
      0.5,
    ),
  );
}

export function table(title: string, columns: readonly string[], rows: readonly Row[]): string {
  const head = `${"".padEnd(36)}${columns.map((column) => column.padStart(12)).join("")}`;
  const lines = rows.map(
    ({ name, values }) => `${name.padEnd(36)}${values.map((value) => format(value).padStart(12)).join("")}`,
  );
  return `${title}\n${[head, ...lines].join("\n")}\n\n`;
}

function format(value: number): string {
  if (!Number.isFinite(value)) return "–";
  return value >= 100 || Number.isInteger(value) ? Math.round(value).toString() : value.toPrecision(3);
}
