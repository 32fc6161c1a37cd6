// Guarantees of the body of POST /v1/api-keys: a malformed body is refused with the field's name. A valid body is read
// exactly.
import { creditsOf, formatCredits } from "@gr/money";
import { ServiceError } from "@gr/proto";
import { parseJsonBytes, parseRequest } from "@gr/runtime";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { newKeyBody } from "./api/rest.ts";

const NOW = Date.UTC(2026, 5, 15, 12);
const schema = newKeyBody({ clock: { now: () => NOW } });

/** Parses as the route does: bytes, JSON, schema. */
const read = (json: string) => parseRequest(schema, parseJsonBytes(Buffer.from(json)));
const readWith = (field: string, json: string) => read(`{"name":"a key","${field}":${json}}`);

function refusal(attempt: () => unknown): { reason: string; param: string | undefined; message: string } {
  try {
    attempt();
  } catch (error) {
    if (error instanceof ServiceError)
      return { reason: error.reason, param: error.param, message: error.message };
    throw error;
  }
  throw new Error("it was accepted");
}

/** Expects a 400 for the right field, also named in its message. */
function expectRefused(field: string, attempt: () => unknown): string {
  const { reason, param, message } = refusal(attempt);
  expect({ reason, param }).toEqual({ reason: "invalid_value", param: field });
  expect(message).toContain(`"${field}"`);
  return message;
}

/** A body with a __proto__ anywhere is refused as a whole, before any field is looked at. */
const anyJson = fc.jsonValue().filter((value) => !JSON.stringify(value).includes("__proto__"));
const otherThan = (...kinds: string[]) =>
  anyJson.filter((value) => value !== null && !kinds.includes(typeof value));

describe("name", () => {
  test("one to 200 code points are kept as they are", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary", minLength: 1, maxLength: 200 }).filter((name) => name.trim() !== ""),
        (name) => {
          fc.pre(!name.includes("\0"));
          expect(read(JSON.stringify({ name })).name).toBe(name);
        },
      ),
    );
  });

  test("a character outside the basic plane counts as one", () => {
    expect(read(JSON.stringify({ name: "😀".repeat(200) })).name).toHaveLength(400);
    expectRefused("name", () => read(JSON.stringify({ name: "😀".repeat(201) })));
    expectRefused("name", () => read(JSON.stringify({ name: "x".repeat(201) })));
    expectRefused("name", () => read(JSON.stringify({ name: "x".repeat(900_000) })));
  });

  test.each([
    "{}",
    '{"name":null}',
    '{"name":""}',
    '{"name":" \\t\\n\\u00a0\\u2003"}',
    '{"name":"a\\u0000b"}',
    '{"name":"a\\ud800b"}',
    '{"name":"\\udc00"}',
  ])("%s is refused", (json) => {
    expectRefused("name", () => read(json));
  });

  test("anything but a string is refused", () => {
    fc.assert(
      fc.property(otherThan("string"), (name) => {
        expectRefused("name", () => read(JSON.stringify({ name })));
      }),
    );
  });
});

describe("spend_limit", () => {
  test("every amount of four decimals up to 1e11 USD is read exactly from its JSON number", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 15n }), (credits) => {
        expect(readWith("spend_limit", formatCredits(credits)).spend_limit).toBe(credits);
      }),
    );
  });

  test("the number that is answered prints the same decimal", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 15n }), (credits) => {
        expect(creditsOf(JSON.stringify(Number(formatCredits(credits))))).toBe(credits);
      }),
    );
  });

  test.each([
    ["0", 0n],
    ["-0", 0n],
    ["-0.0", 0n],
    ["1e2", 1_000_000n],
    ["2.5e-3", 25n],
    ["null", null],
    ["0.00001", 0n],
    ["33.333333", 333_333n],
    ["0.29999", 2_999n],
    [String(0.1 + 0.2), 3_000n],
    ["1e-5", 0n],
    ["99999999999.99999", 10n ** 15n - 1n],
    ["100000000000.0001", 10n ** 15n],
    ["1e12", 10n ** 15n],
    ["1e300", 10n ** 15n],
  ])("%s is allowed", (json, credits) => {
    expect(readWith("spend_limit", json).spend_limit).toBe(credits);
  });

  test.each([
    "-0.0001",
    "-1",
    "1e400",
    "-1e400",
    "-0.00001",
    "-1e-300",
    '"5"',
    '""',
    '"NaN"',
    "[]",
    "{}",
    "true",
  ])("%s is refused", (json) => {
    expectRefused("spend_limit", () => readWith("spend_limit", json));
  });

  test("what has more than four decimals is rounded down: never more is allowed than was asked for", () => {
    fc.assert(
      fc.property(fc.nat(1_000_000), fc.nat(9_999), fc.nat(9_999), (whole, credits, rest) => {
        const four = (digits: number) => String(digits).padStart(4, "0");
        const json = `${whole}.${four(credits)}${four(rest)}`;
        expect(readWith("spend_limit", json).spend_limit).toBe(BigInt(whole) * 10_000n + BigInt(credits));
      }),
    );
  });

  test("anything but a number or null is refused", () => {
    fc.assert(
      fc.property(otherThan("number"), (value) => {
        expectRefused("spend_limit", () => readWith("spend_limit", JSON.stringify(value)));
      }),
    );
  });
});

describe("spend_limit_period", () => {
  test.each(["day", "week", "month"])("%s goes with a limit, also with a limit of zero", (period) => {
    const body = read(JSON.stringify({ name: "k", spend_limit: 0, spend_limit_period: period }));
    expect(body.spend_limit_period).toBe(period);
  });

  test.each([undefined, null])("without a limit (%s) a period is refused", (limit) => {
    const body = { name: "k", spend_limit: limit, spend_limit_period: "day" };
    expectRefused("spend_limit_period", () => read(JSON.stringify(body)));
  });

  test("anything else is refused", () => {
    const periods: unknown[] = [null, "day", "week", "month"];
    const value = anyJson.filter((v) => !periods.includes(v));
    fc.assert(
      fc.property(value, (period) => {
        const body = { name: "k", spend_limit: 1, spend_limit_period: period };
        expectRefused("spend_limit_period", () => read(JSON.stringify(body)));
      }),
    );
  });
});

describe("expires_at", () => {
  test("every future instant is read to the millisecond, in every zone", () => {
    const offset = fc.integer({ min: -23 * 60 - 59, max: 23 * 60 + 59 });
    const instant = fc.integer({ min: NOW + 1, max: Date.UTC(9998, 0) });
    fc.assert(
      fc.property(instant, offset, (at, minutes) => {
        const local = new Date(at + minutes * 60_000).toISOString().slice(0, -1);
        const size = Math.abs(minutes);
        const zone = `${minutes < 0 ? "-" : "+"}${two(Math.trunc(size / 60))}:${two(size % 60)}`;
        expect(readWith("expires_at", JSON.stringify(local + zone)).expires_at).toBe(at);
      }),
    );
  });

  test("a date is read, and a time without a zone, in UTC", () => {
    expect(readWith("expires_at", '"2026-12-31"').expires_at).toBe(Date.UTC(2026, 11, 31));
    expect(readWith("expires_at", '"2027-01-31T18:00:00"').expires_at).toBe(Date.UTC(2027, 0, 31, 18));
  });

  test("the last instant that there is has four digits of a year in UTC", () => {
    const last = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
    expect(readWith("expires_at", '"9999-12-31T23:59:59.999Z"').expires_at).toBe(last);
    expectRefused("expires_at", () => readWith("expires_at", '"9999-12-31T23:59:59-05:00"'));
  });

  // expiry.test.ts has every form.
  test.each(["", "tomorrow", "2027-02-30", "2027-01-31 18:00:00Z", "1830297600"])("%j is refused", (text) => {
    expectRefused("expires_at", () => readWith("expires_at", JSON.stringify(text)));
  });

  test("now and every instant before it are refused, and the message says why", () => {
    fc.assert(
      fc.property(fc.integer({ min: Date.UTC(1, 0), max: NOW }), (at) => {
        const text = JSON.stringify(new Date(at).toISOString());
        expect(expectRefused("expires_at", () => readWith("expires_at", text))).toContain("future");
      }),
      { examples: [[NOW]] },
    );
  });

  test("anything but a string or null is refused", () => {
    fc.assert(
      fc.property(otherThan("string"), (value) => {
        expectRefused("expires_at", () => readWith("expires_at", JSON.stringify(value)));
      }),
    );
  });
});

describe("the body", () => {
  test("all but the name may be left out or null", () => {
    const limits = { spend_limit: null, spend_limit_period: null, expires_at: null };
    const lists = { allowed_models: null, allowed_providers: null, budget_id: null, saves_texts: null };
    const nothing = { name: "k", ...limits, default_response_format: null, ...lists };
    expect(read('{"name":"k"}')).toEqual(nothing);
    expect(read(JSON.stringify(nothing))).toEqual(nothing);
  });

  test.each([
    ["spend_limt", "5"],
    ["max_budget", "5"],
    ["budget_duration", '"1d"'],
    ["is_management", "true"],
    ["account_id", '"x"'],
  ])("the unknown field %s is refused, and ignored with null", (field, json) => {
    expectRefused(field, () => readWith(field, json));
    expect(readWith(field, "null")).toEqual(read('{"name":"a key"}'));
  });

  test.each([
    ['{"name":"a","name":"a"}', "name"],
    ['{"name":"a","spend_limit":1,"spend\\u005flimit":100}', "spend_limit"],
    ['{"name":"a","more":[{"x":1,"x":2}]}', "more[0].x"],
  ])("%s is refused: which of the two is meant nobody can say", (json, param) => {
    expect(refusal(() => read(json))).toMatchObject({
      reason: "invalid_json",
      param,
      message: expect.stringContaining(`"${param}"`),
    });
  });

  test.each(["null", "[]", "1", '"name"', "true"])("%s is no body", (json) => {
    expect(refusal(() => read(json))).toMatchObject({
      reason: "invalid_value",
      message: "The body must be a JSON object.",
    });
  });
});

function two(value: number): string {
  return String(value).padStart(2, "0");
}
