// Guarantees of claims: the same request under the same key is the same claim. Any difference is another claim.
// An invalid key is refused by name.
import { createHash } from "node:crypto";
import type { Claim } from "@gr/clients";
import type { ServiceError } from "@gr/proto";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { type Claimant, claimOf } from "./claim.ts";

const WORK = { owner: "account" };
const ENDPOINT = "/v1/compat/chat/completions";
const claim = (
  key: string | undefined,
  content: readonly (string | Uint8Array)[] = [],
  endpoint = ENDPOINT,
  claimant: Claimant = { keyId: "1" },
) => claimOf(key === undefined ? {} : { "idempotency-key": key }, endpoint, claimant, () => content, WORK);
const digestsOf = (claims: Claim | undefined) =>
  claims && [claims.key, claims.fingerprint].map((digest) => Buffer.from(digest).toString("hex"));

const hex = async (claims: Promise<Claim | undefined>) => digestsOf(await claims);

const keys = fc
  .array(fc.integer({ min: 0x20, max: 0x7e }), { minLength: 1, maxLength: 255 })
  .map((codes) => String.fromCharCode(...codes));
const parts = fc.array(fc.oneof(fc.string({ unit: "binary" }), fc.uint8Array()), { maxLength: 4 });

async function refusalOf(value: string | string[]): Promise<ServiceError> {
  const reading = () => {
    throw new Error("nothing is read for a key that is refused");
  };
  try {
    await claimOf({ "idempotency-key": value as string }, ENDPOINT, { keyId: "1" }, reading, WORK);
  } catch (error) {
    return error as ServiceError;
  }
  throw new Error("it was accepted");
}

test("a request without the header claims nothing, and nothing is read of it", async () => {
  const reading = () => {
    throw new Error("read");
  };
  expect(await claimOf({}, ENDPOINT, { keyId: "1" }, reading, WORK)).toBeUndefined();
});

test("the same key, endpoint and content are the same claim, of two digests", async () => {
  await fc.assert(
    fc.asyncProperty(keys, parts, async (key, content) => {
      const claims = await claim(key, content);
      expect(claims?.key).toHaveLength(32);
      expect(claims?.fingerprint).toHaveLength(32);
      expect(await hex(claim(key, content))).toEqual(digestsOf(claims));
    }),
  );
});

test("text and its bytes are the same content", async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: "grapheme" }), async (text) => {
      expect(await hex(claim("k", [text]))).toEqual(await hex(claim("k", [Buffer.from(text)])));
    }),
  );
});

describe("another claim is made", () => {
  test("by another API key, and by another person with a web token of the same account", async () => {
    const claimants = [
      { keyId: "a" },
      { keyId: "b" },
      { keyId: "a", personId: "p" },
      { keyId: "a", personId: "q" },
    ];
    const claims = await Promise.all(
      claimants.map((claimant) => hex(claim("k", ["body"], ENDPOINT, claimant))),
    );
    expect(new Set(claims.map((each) => each?.[0])).size).toBe(claimants.length);
    expect(new Set(claims.map((each) => each?.[1])).size).toBe(1);
  });

  test("not by another token of the same person, nor by a key that was asked for twice", async () => {
    for (const claimant of [{ keyId: "a", personId: "p" }, { keyId: "a" }]) {
      const claims = await hex(claim("k", [], ENDPOINT, { ...claimant }));
      expect(claims).toEqual(await hex(claim("k", [], ENDPOINT, claimant)));
    }
  });

  test("by another key, also where key and endpoint run together", async () => {
    const keyOf = async (...claims: Parameters<typeof claim>) => (await hex(claim(...claims)))?.[0];
    expect(await keyOf("b", [], "/v1/a")).not.toBe(await keyOf("ab", [], "/v1/"));
    await fc.assert(
      fc.asyncProperty(keys, keys, async (one, other) => {
        fc.pre(one !== other);
        expect(await keyOf(one)).not.toBe(await keyOf(other));
      }),
    );
  });

  test("by another endpoint, whose key is another one", async () => {
    const [claims, another] = [await hex(claim("k", [], "/v1/compat/responses")), await hex(claim("k"))];
    expect(claims?.[0]).not.toBe(another?.[0]);
  });

  test("by other content, also when only the borders of its parts move; the key stays the same", async () => {
    const bytes = (content: readonly (string | Uint8Array)[]) =>
      content.map((part) => Buffer.from(part as string).toString("hex"));
    await fc.assert(
      fc.asyncProperty(parts, parts, async (one, other) => {
        fc.pre(JSON.stringify(bytes(one)) !== JSON.stringify(bytes(other)));
        const [claims, another] = [await hex(claim("k", one)), await hex(claim("k", other))];
        expect(claims?.[0]).toBe(another?.[0]);
        expect(claims?.[1]).not.toBe(another?.[1]);
      }),
    );
    expect(await hex(claim("k", ["ab", "c"]))).not.toEqual(await hex(claim("k", ["a", "bc"])));
    expect(await hex(claim("k", ["abc"]))).not.toEqual(await hex(claim("k", ["abc", ""])));
  });
});

test("what is stored does not change from one version to the next", async () => {
  const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
  expect(await hex(claim("k", ["body"], "/v1/x"))).toEqual([sha256("5:/v1/x1:k1:1"), sha256("4:body")]);
});

test("long content is hashed in slices, to the same digest", async () => {
  const bytes = Buffer.alloc(3_000_001, "content");
  const whole = createHash("sha256").update(`${bytes.length}:`).update(bytes).digest("hex");
  let pauses = 0;
  const count = () => {
    pauses += 1;
    pending = setImmediate(count);
  };
  let pending = setImmediate(count);
  expect((await hex(claim("k", [bytes])))?.[1]).toBe(whole);
  clearImmediate(pending);
  expect(pauses).toBeGreaterThanOrEqual(5);
});

describe("a key is refused, by name, before anything is read", () => {
  test.each<[string, string | string[], RegExp]>([
    ["empty", "", /not empty/],
    ["longer than 255 characters", "k".repeat(256), /at most 255 characters/],
    ["with a control character", "a\tb", /printable ASCII/],
    ["beyond ASCII", "clé", /printable ASCII/],
    ["sent more than once", ["a", "b"], /once/],
  ])("%s", async (_which, value, message) => {
    const refusal = await refusalOf(value);
    expect(refusal).toMatchObject({ reason: "invalid_value", param: "Idempotency-Key" });
    expect(refusal.message).toMatch(message);
  });

  test("but not with 255 characters, nor with spaces in it", async () => {
    expect(await claim("k".repeat(255))).toBeDefined();
    expect(await claim("order 66, second try")).toBeDefined();
  });
});
