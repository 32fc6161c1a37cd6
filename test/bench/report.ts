// Plain-text tables for the bench.

export interface Row {
  readonly name: string;
  readonly values: readonly number[];
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
