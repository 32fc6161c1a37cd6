// Plain text tables: columns padded to their widest cell, numbers to the right.
import { printable } from "./printable.ts";

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => string;
  /** Right-aligned: amounts and counts. */
  readonly isRightAligned?: boolean;
}

/** @param nothing text for an empty table. */
export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[], nothing: string): string {
  if (rows.length === 0) return nothing;
  const body = rows.map((row) => columns.map(({ cell }) => printable(cell(row))));
  const lines = [columns.map(({ title }) => title), ...body];
  const widths = columns.map((_, index) =>
    lines.reduce((widest, line) => Math.max(widest, lengthOf(line[index])), 0),
  );
  return lines
    .map((line) =>
      line
        .map((cell, index) => {
          const gap = " ".repeat((widths[index] ?? 0) - lengthOf(cell));
          return columns[index]?.isRightAligned ? gap + cell : cell + gap;
        })
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** Returns code points, which are nearly the characters that people see. */
function lengthOf(text = ""): number {
  return [...text].length;
}
