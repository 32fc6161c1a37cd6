// A base URL loses the slashes at its end, and no others.
import { expect, test } from "@jest/globals";
import { trimSlashes } from "./trim-slashes.ts";

test.each([
  ["https://a.example", "https://a.example"],
  ["https://a.example/", "https://a.example"],
  ["https://a.example/v1///", "https://a.example/v1"],
  ["///", ""],
  ["", ""],
])("%p becomes %p", (url, trimmed) => {
  expect(trimSlashes(url)).toBe(trimmed);
});
