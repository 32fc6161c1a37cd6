// The check of regular expressions finds those that the review of the program found too late, and no others.
import { expect, test } from "@jest/globals";
import { faultsIn } from "./regular-expressions.ts";

test.each([
  ["a run at the end, searched from every start", 'digits.replace(/=+$/, "")', "=+$"],
  ["spaces around a comma", "header.split(/\\s*,\\s*/)", "\\s*,\\s*"],
  ["a run within a run", "const name = /^(a+)+$/;", "^(a+)+$"],
  ["a constructor", 'new RegExp("=+$", "u")', "=+$"],
  ["a template, an inserted text as one letter", `new RegExp(\`=+\${end}$\`)`, "=+x$"],
  ["an expression within a tag", "const page = <p>{text.replace(/=+$/, '')}</p>;", "=+$"],
])("refuses %s", (_what, program, source) => {
  expect(faultsIn(program, true)).toEqual([{ source, fault: expect.stringContaining("can need") }]);
});

test("refuses an expression that is built while the program runs", () => {
  expect(faultsIn("const found = new RegExp(pattern);")).toEqual([
    { source: undefined, fault: "an expression is built while the program runs" },
  ]);
});

test.each([
  'text.replace(/^=+/, "")',
  "text.split(/,/)",
  "/^[a-z]+$/.test(text)",
  "/^\\s*(\\d+)\\s*$/.exec(text)",
  "const share = left / right / 2;",
  'new RegExp("^a", "u")',
])("allows %s", (program) => {
  expect(faultsIn(program)).toEqual([]);
});
