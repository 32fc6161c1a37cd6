// Guarantees of parseRequest for strict schemas: an unknown field is refused by its name, unless its value is null.
import { ServiceError } from "@gr/proto";
import { describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { parseRequest } from "./parse-request.ts";

const schema = z.strictObject({
  name: z.string(),
  spend_limit: z.number().nullable().default(null),
  inner: z.strictObject({ a: z.number() }).optional(),
});

function refusalOf(value: unknown): ServiceError {
  try {
    parseRequest(schema, value);
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  throw new Error("the value was accepted");
}

describe("a strict schema", () => {
  test.each([
    [{ name: "k", spend_limt: 5 }, "spend_limt", 'The nearest known field is "spend_limit".'],
    [{ name: "k", spendLimit: 5 }, "spendLimit", 'The nearest known field is "spend_limit".'],
    [{ nam: "k" }, "nam", 'The nearest known field is "name".'],
    [{ name: "k", max_budget: 0 }, "max_budget", 'The known fields are "name", "spend_limit", "inner".'],
    [{ name: "k", inner: { a: 1, b: 2 } }, "inner.b", 'The field "inner.b" is unknown.'],
  ])("refuses %j and names the field", (value, param, words) => {
    const { reason, param: named, message } = refusalOf(value);
    expect({ reason, named }).toEqual({ reason: "invalid_value", named: param });
    expect(message).toContain(`"${param}"`);
    expect(message).toContain(words);
  });

  test("ignores an unknown field with null, beside others that it refuses", () => {
    expect(parseRequest(schema, { name: "k", budget: null, tags: null })).toEqual({
      name: "k",
      spend_limit: null,
    });
    expect(refusalOf({ name: "k", budget: null, max_budget: 1 }).param).toBe("max_budget");
    expect(refusalOf({ budget: null }).param).toBe("name");
  });

  test("shows only the beginning of a long name", () => {
    expect(refusalOf({ name: "k", ["x".repeat(100_000)]: 1 }).message.length).toBeLessThan(300);
  });
});
