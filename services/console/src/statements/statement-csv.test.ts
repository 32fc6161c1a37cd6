// A statement as CSV is read whole and exactly, or refused by the line that is wrong.
import { expect, test } from "@jest/globals";
import { statementFromCsv } from "./statement-csv.ts";

const days = { from: "2026-01-12", to: "2026-01-13" };

test("columns come in any order beside others; quotes, line breaks and a byte order mark are read as RFC 4180 has them", () => {
  const text =
    '\uFEFFusd,note,Model,day\r\n0.25,"a ""word"",\r\nand more","vendor/m,x",2026-01-12\r\n1e-7,,m,2026-01-13\r\n-3,,m,2026-01-13';
  expect(statementFromCsv(text, days)).toEqual([
    { day: "2026-01-12", model: "vendor/m,x", amount: 250_000_000_000n },
    { day: "2026-01-13", model: "m", amount: 100_000n },
    { day: "2026-01-13", model: "m", amount: -3_000_000_000_000n },
  ]);
});

test("rows of other days are left out, and empty lines are no rows", () => {
  expect(statementFromCsv("day,model,usd\n2026-01-11,m,1\n\n2026-01-14,m,1\n", days)).toEqual([]);
});

test.each([
  ["", "The file is empty"],
  ["day,model\n", 'Line 1 must have the column "usd" once'],
  ["day,model,usd,usd\n", 'Line 1 must have the column "usd" once'],
  ["day,model,usd\n2026-01-12,m\n", "Line 2 has 2 cells"],
  ["day,model,usd\n2026-01-12,m,1,\n", "Line 2 has 4 cells"],
  ["day,model,usd\n2026-02-30,m,1\n", "Line 2 has no day"],
  ["day,model,usd\n2026-01-12,m,1\n2026-01-12,,1\n", "Line 3 has no model"],
  ['day,model,usd\n"2026-01-12","m\nm",1\n2026-01-12,m,$1\n', "Line 4 has an amount"],
  ["day,model,usd\n2026-01-12,m,\n", "Line 2 has an amount"],
  ['day,model,usd\n2026-01-12,"m,1\n', "Line 2 has a quote that does not close"],
  ['day,model,usd\n2026-01-12,m"m",1\n', "Line 2 has a quote within"],
  ['day,model,usd\n2026-01-12,"m"m,1\n', "Line 2 has text behind a closing quote"],
  ["day,model,usd\r2026-01-12,m,1", "Line 1 has a carriage return alone"],
])("%j is refused: %s", (text, message) => {
  expect(() => statementFromCsv(text, days)).toThrow(
    expect.objectContaining({
      reason: "invalid_value",
      param: "csv",
      message: expect.stringContaining(message),
    }),
  );
});
