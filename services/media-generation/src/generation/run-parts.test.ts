// The failure of a request without a successful part: it decides whether another provider may be called.
import { describe, expect, test } from "@jest/globals";
import { ProviderError, type ProviderFailure } from "../providers/provider-error.ts";
import { failureOf, partsOf } from "./run-parts.ts";

const fail = (kind: ProviderFailure, accepted: boolean) => new ProviderError(kind, kind, { accepted });

test.each([
  [1, 10, [1]],
  [10, 10, [10]],
  [7, 3, [3, 3, 1]],
  [4, 1, [1, 1, 1, 1]],
])("%d pictures, %d at most in one job, are jobs of %j", (count, mostAtOnce, parts) => {
  expect(partsOf(count, mostAtOnce)).toEqual(parts);
});

describe("the failure of several parts", () => {
  test("parts of which one was accepted were accepted, whichever of them failed first", () => {
    const [refused, failed] = [fail("unavailable", false), fail("failed", true)];
    expect(failureOf([refused, failed])).toMatchObject({ kind: "unavailable", accepted: true });
    expect(failureOf([failed, refused])).toMatchObject({ kind: "failed", accepted: true });
  });

  test("is one that was not accepted when none was", () => {
    const [busy, invalid] = [fail("rate_limited", false), fail("rejected", false)];
    expect(failureOf([busy, invalid])).toBe(busy);
  });

  test("is an outcome that nobody knows, if there is one", () => {
    const [failed, lost] = [fail("failed", true), fail("unknown_outcome", true)];
    expect(failureOf([failed, lost])).toBe(lost);
  });
});
