// Guarantees of visible rows: every row on the screen is in the range, and a long list has few rows in the page.
import { expect, test } from "@jest/globals";
import { rangeOf } from "./visible-rows.ts";

test("a short list is complete", () => {
  expect(rangeOf(50, 60, 1_000, 900)).toEqual({ first: 0, end: 50 });
});

test("a long list has the rows on the screen with a margin, wherever it is scrolled to", () => {
  for (let top = -500; top < 500 * 60 + 500; top += 37) {
    const { first, end } = rangeOf(500, 60, top, 900);
    const onScreen = [Math.max(0, Math.floor(top / 60)), Math.min(500, Math.ceil((top + 900) / 60))] as const;
    if (onScreen[0] < onScreen[1]) {
      expect([top, first <= onScreen[0], end >= onScreen[1]]).toEqual([top, true, true]);
    }
    expect(end - first).toBeLessThanOrEqual(60);
    expect([first >= 0, end <= 500, first <= end]).toEqual([true, true, true]);
  }
});
