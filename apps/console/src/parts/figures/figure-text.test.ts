// Money is shown exactly, and times from now in words.
import { expect, test } from "@jest/globals";
import {
  actionText,
  decimalText,
  exactMoneyText,
  fromNow,
  moneyText,
  requestMoneyText,
  secondsText,
  shortDecimal,
  signedMoneyText,
  sumUsd,
  wholeCentsText,
} from "./figure-text.ts";

test.each([
  ["0.0000", "$0.00"],
  ["12.3400", "$12.34"],
  ["12.3401", "$12.3401"],
  ["-0.0012", "−$0.0012"],
  ["1234567.5000", "$1,234,567.50"],
  ["9007199254740993.0001", "$9,007,199,254,740,993.0001"],
])("%s is shown as %s", (usd, text) => {
  expect(moneyText(usd)).toBe(text);
});

test.each([
  ["0.0199", "$0.01"],
  ["1244.3799", "$1,244.37"],
  ["-3.4000", "−$3.40"],
  ["12.0000", "$12.00"],
])("a balance of %s is at least %s", (usd, text) => {
  expect(wholeCentsText(usd)).toBe(text);
});

test.each([
  ["0.000174", "$0.0002"],
  ["0.03", "$0.0300"],
  ["0.0001", "$0.0001"],
  ["0.00010000001", "$0.0002"],
  ["1234", "$1,234.0000"],
  ["0", "$0.0000"],
])("the amount %s of a request is charged as %s", (usd, text) => {
  expect(requestMoneyText(usd)).toBe(text);
});

test.each([
  ["0.000000012000", "$0.000000012"],
  ["-1234.5", "−$1,234.50"],
  ["7", "$7.00"],
])("the exact amount %s is shown as %s", (usd, text) => {
  expect(exactMoneyText(usd)).toBe(text);
});

test("a change of a balance has its sign and four decimals", () => {
  expect([signedMoneyText("12.5000"), signedMoneyText("-0.0003")]).toEqual(["+$12.5000", "−$0.0003"]);
});

test("amounts are rounded up one by one, as charges are, and then summed", () => {
  expect(sumUsd(["0.00011", "0.00011", "12.3"])).toBe("12.3004");
  expect(sumUsd([])).toBe("0.0000");
  expect(decimalText(1.74e-7)).toBe("0.000000174");
});

test.each([
  ["1.5000", "1.5"],
  ["2.0000", "2"],
  ["100", "100"],
  ["0.", "0"],
])("%s without the zeros of its fraction is %s", (decimal, text) => {
  expect(shortDecimal(decimal)).toBe(text);
});

const NOW = Date.UTC(2026, 0, 15, 12);
test.each([
  [NOW + 3 * 3_600_000, "in 3 hours"],
  [NOW - 2 * 86_400_000, "2 days ago"],
  [NOW + 90_000, "in 1 minute"],
])("%d is %s", (at, words) => {
  expect(fromNow(new Date(at).toISOString(), NOW, "en")).toBe(words);
});

test("deeds are shown as words", () => {
  expect(actionText("member.role_changed")).toBe("Member role changed");
});

test("durations have the unit and the digits that people compare", () => {
  const texts = [0, 410.4, 999, 1_000, 6_420, 14_240, 59_900, 60_000, 72_400].map(secondsText);
  expect(texts).toEqual([
    ...["0 ms", "410 ms", "999 ms", "1.00 s", "6.42 s"],
    ...["14.2 s", "59.9 s", "1 m 0 s", "1 m 12 s"],
  ]);
});
