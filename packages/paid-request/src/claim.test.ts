// Guarantees of claims: the same request under the same key is the same claim. Any difference is another claim.
// An invalid key is refused by name.
import { createHash } from "node:crypto";
import type { Claim } from "@gr/clients";
import type { ServiceError } from "@gr/proto";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { type Claimant, claimOf } from "./claim.ts";

const ENDPOINT = "/v1/compat/chat/completions";
const claim = (
  key: string | undefined,
  content: readonly (string | Uint8Array)[] = [],
  endpoint = ENDPOINT,
  claimant: Claimant = { keyId: "1" },
) => claimOf(key === undefined ? {} : { "idempotency-key": key }, endpoint, claimant, () => content);
const hex = (made: Claim | undefined) =>
  made && [made.key, made.fingerprint].map((digest) => Buffer.from(digest).toString("hex"));

const keys = fc
  .array(fc.integer({ min: 0x20, max: 0x7e }), { minLength: 1, maxLength: 255 })
  .map((codes) => String.fromCharCode(...codes));
const parts = fc.array(fc.oneof(fc.string({ unit: "binary" }), fc.uint8Array()), { maxLength: 4 });

function refusalOf(value: string | string[]): ServiceError {
  try {
    claimOf({ "idempotency-key": value as string }, ENDPOINT, { keyId: "1" }, () => {
      throw new Error("nothing is read for a key that is refused");
    });
  } catch (error) {
    return error as ServiceError;
  }
  throw new Error("it was accepted");
}

test("a request without the header claims nothing, and nothing is read of it", () => {
  const reading = () => {
    throw new Error("read");
  };
  expect(claimOf({}, ENDPOINT, { keyId: "1" }, reading)).toBeUndefined();
});

test("the same key, endpoint and content are the same claim, of two digests", () => {
  fc.assert(
    fc.property(keys, parts, (key, content) => {
      const made = claim(key, content);
      expect(made?.key).toHaveLength(32);
      expect(made?.fingerprint).toHaveLength(32);
      expect(hex(claim(key, content))).toEqual(hex(made));
    }),
  );
});

test("text and its bytes are the same content", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      expect(hex(claim("k", [text]))).toEqual(hex(claim("k", [Buffer.from(text)])));
    }),
  );
});

describe("another claim is made", () => {
  test("by another API key, and by another person with a web token of the same account", () => {
    const claimants = [
      { keyId: "a" },
      { keyId: "b" },
      { keyId: "a", personId: "p" },
      { keyId: "a", personId: "q" },
    ];
    const made = claimants.map((claimant) => hex(claim("k", ["body"], ENDPOINT, claimant)));
    expect(new Set(made.map((each) => each?.[0])).size).toBe(claimants.length);
    expect(new Set(made.map((each) => each?.[1])).size).toBe(1);
  });

  test("not by another token of the same person, nor by a key that was asked for twice", () => {
    for (const claimant of [{ keyId: "a", personId: "p" }, { keyId: "a" }]) {
      expect(hex(claim("k", [], ENDPOINT, { ...claimant }))).toEqual(hex(claim("k", [], ENDPOINT, claimant)));
    }
  });

  test("by another key, also where key and endpoint run together", () => {
    expect(hex(claim("b", [], "/v1/a"))?.[0]).not.toBe(hex(claim("ab", [], "/v1/"))?.[0]);
    fc.assert(
      fc.property(keys, keys, (one, other) => {
        fc.pre(one !== other);
        expect(hex(claim(one))?.[0]).not.toBe(hex(claim(other))?.[0]);
      }),
    );
  });

  test("by another endpoint, whose key is another one", () => {
    expect(hex(claim("k", [], "/v1/compat/responses"))?.[0]).not.toBe(hex(claim("k"))?.[0]);
  });

  test("by other content, also when only the borders of its parts move; the key stays the same", () => {
    const bytes = (content: readonly (string | Uint8Array)[]) =>
      content.map((part) => Buffer.from(part as string).toString("hex"));
    fc.assert(
      fc.property(parts, parts, (one, other) => {
        fc.pre(JSON.stringify(bytes(one)) !== JSON.stringify(bytes(other)));
        const [made, another] = [hex(claim("k", one)), hex(claim("k", other))];
        expect(made?.[0]).toBe(another?.[0]);
        expect(made?.[1]).not.toBe(another?.[1]);
      }),
    );
    expect(hex(claim("k", ["ab", "c"]))).not.toEqual(hex(claim("k", ["a", "bc"])));
    expect(hex(claim("k", ["abc"]))).not.toEqual(hex(claim("k", ["abc", ""])));
  });
});

test("what is stored does not change from one version to the next", () => {
  const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
  expect(hex(claim("k", ["body"], "/v1/x"))).toEqual([sha256("5:/v1/x1:k1:1"), sha256("4:body")]);
});

describe("a key is refused, by name, before anything is read", () => {
  test.each<[string, string | string[], RegExp]>([
    ["empty", "", /not empty/],
    ["longer than 255 characters", "k".repeat(256), /at most 255 characters/],
    ["with a control character", "a\tb", /printable ASCII/],
    ["beyond ASCII", "clé", /printable ASCII/],
    ["sent more than once", ["a", "b"], /once/],
  ])("%s", (_which, value, message) => {
    const refusal = refusalOf(value);
    expect(refusal).toMatchObject({ reason: "invalid_value", param: "Idempotency-Key" });
    expect(refusal.message).toMatch(message);
  });

  test("but not with 255 characters, nor with spaces in it", () => {
    expect(claim("k".repeat(255))).toBeDefined();
    expect(claim("order 66, second try")).toBeDefined();
  });
});
