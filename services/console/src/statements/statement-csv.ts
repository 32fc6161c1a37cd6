// Reads a statement from CSV (RFC 4180) with the columns day, model and usd, in any order; a row that cannot be read is refused
// by its line, and nothing of the file is compared.
import { ServiceError } from "@gr/proto";
import { amountOf, type DayRange, type StatementRow, UnusableStatement } from "./provider-statement.ts";

export const MOST_CSV_CHARACTERS = 4 * 1024 * 1024;
const MOST_MODEL_CHARACTERS = 300;
const COLUMNS = ["day", "model", "usd"] as const;
const DAY = /^\d{4}-\d\d-\d\d$/;

interface CsvRecord {
  readonly cells: readonly string[];
  /** Line of its first character, from 1. */
  readonly line: number;
}

/** Returns the rows of these days. @throws ServiceError invalid_value that names the line */
export function statementFromCsv(text: string, days: DayRange): StatementRow[] {
  if (text.length > MOST_CSV_CHARACTERS) {
    throw refusal(`The file has more than ${MOST_CSV_CHARACTERS} characters`);
  }
  const [head, ...records] = recordsOf(text.startsWith("\uFEFF") ? text.slice(1) : text);
  if (head === undefined) throw refusal("The file is empty");
  const places = COLUMNS.map((column) => {
    const found = head.cells.flatMap((cell, index) => (cell.trim().toLowerCase() === column ? [index] : []));
    if (found.length !== 1) throw refusal(`Line 1 must have the column "${column}" once`);
    return found[0] ?? 0;
  });
  return records.flatMap(({ cells, line }) => {
    if (cells.length !== head.cells.length) {
      throw refusal(`Line ${line} has ${cells.length} cells, and line 1 has ${head.cells.length}`);
    }
    const [day = "", model = "", usd = ""] = places.map((place) => (cells[place] ?? "").trim());
    if (!isDay(day)) throw refusal(`Line ${line} has no day as YYYY-MM-DD`);
    if (model === "") throw refusal(`Line ${line} has no model`);
    if (model.length > MOST_MODEL_CHARACTERS) {
      throw refusal(`Line ${line} has a model of more than ${MOST_MODEL_CHARACTERS} characters`);
    }
    const amount = usdOf(usd, line);
    return day < days.from || day > days.to ? [] : [{ day, model, amount }];
  });
}

function recordsOf(text: string): CsvRecord[] {
  const records: CsvRecord[] = [];
  let cells: string[] = [];
  let line = 1;
  let first = 1;
  let at = 0;
  while (at < text.length) {
    const { cell, end } = text[at] === '"' ? quoted(text, at, line) : plain(text, at, line);
    cells.push(cell);
    line += cell.split("\n").length - 1;
    at = end;
    const isLast = at >= text.length;
    const breaks = /^\r?\n/.exec(text.slice(at, at + 2))?.[0];
    if (!isLast && breaks === undefined) {
      if (text[at] !== ",") throw refusal(`Line ${line} has text behind a closing quote`);
      at += 1;
      if (at < text.length) continue;
      cells.push("");
    }
    // A line without any text is no record.
    if (cells.length > 1 || cells[0] !== "") records.push({ cells, line: first });
    cells = [];
    at += breaks?.length ?? 0;
    line += 1;
    first = line;
  }
  return records;
}

function quoted(text: string, start: number, line: number): { cell: string; end: number } {
  const pattern = /"((?:[^"]|"")*)"/y;
  pattern.lastIndex = start;
  const match = pattern.exec(text);
  if (match === null) throw refusal(`Line ${line} has a quote that does not close`);
  return { cell: (match[1] ?? "").replaceAll('""', '"'), end: pattern.lastIndex };
}

function plain(text: string, start: number, line: number): { cell: string; end: number } {
  const pattern = /[^,\r\n]*/y;
  pattern.lastIndex = start;
  const cell = pattern.exec(text)?.[0] ?? "";
  const end = start + cell.length;
  if (cell.includes('"')) throw refusal(`Line ${line} has a quote within a cell that is not quoted`);
  if (text[end] === "\r" && text[end + 1] !== "\n") throw refusal(`Line ${line} has a carriage return alone`);
  return { cell, end };
}

function usdOf(usd: string, line: number) {
  try {
    return amountOf(usd, `Line ${line}`);
  } catch (error) {
    if (error instanceof UnusableStatement) throw refusal(error.message);
    throw error;
  }
}

function isDay(day: string): boolean {
  const at = DAY.test(day) ? Date.parse(day) : Number.NaN;
  return !Number.isNaN(at) && new Date(at).toISOString().slice(0, 10) === day;
}

function refusal(problem: string): ServiceError {
  return new ServiceError("invalid_value", `${problem} (field "csv").`, { param: "csv" });
}
