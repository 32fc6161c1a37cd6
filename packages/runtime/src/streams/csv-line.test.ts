// Guarantee of CSV: a spreadsheet reads the written text, and never a formula.
import { expect, test } from "@jest/globals";
import { csvLine } from "./csv-line.ts";

test.each([
  [["a", 1, null], "a,1,\r\n"],
  [["-0.0400"], "-0.0400\r\n"],
  [["=1+1", "+x", "-x", "@x", "\tx"], "'=1+1,'+x,'-x,'@x,'\tx\r\n"],
  [['a,"b"', "c\nd"], '"a,""b""","c\nd"\r\n'],
] as const)("%j", (cells, line) => {
  expect(csvLine([...cells])).toBe(line);
});
