// Guarantees of the key format: a created key is well formed, and a changed or invented key is not.

import { randomBytes } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { checksumOf, createKeySecret, isWellFormedKey, KEY_PREFIX, looksLikeWebToken } from "./key-format.ts";

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const kind = fc.constantFrom("normal" as const, "management" as const);
const secret = kind.map(createKeySecret);

describe("a key", () => {
  test("is well formed when it is made, and begins with its kind", () => {
    fc.assert(
      fc.property(kind, (of) => {
        const fresh = createKeySecret(of);
        expect(fresh).toMatch(/^gr_(live|mgmt)_[0-9A-Za-z]{36}$/);
        expect(fresh.startsWith(KEY_PREFIX[of])).toBe(true);
        expect(isWellFormedKey(fresh)).toBe(true);
      }),
    );
  });

  test("is never made twice", () => {
    const fresh = Array.from({ length: 2_000 }, () => createKeySecret("normal"));
    expect(new Set(fresh).size).toBe(fresh.length);
  });

  test("uses every character of the alphabet", () => {
    const used = new Set(Array.from({ length: 300 }, () => createKeySecret("normal").slice(8, 38)).join(""));
    expect([...used].sort().join("")).toBe([...BASE62].sort().join(""));
  });

  test("with one character mistyped is refused", () => {
    fc.assert(
      fc.property(secret, fc.nat(43), fc.constantFrom(...BASE62), (fresh, at, typed) => {
        const position = at % fresh.length;
        fc.pre(fresh[position] !== typed);
        expect(isWellFormedKey(fresh.slice(0, position) + typed + fresh.slice(position + 1))).toBe(false);
      }),
    );
  });

  test("with two neighbours swapped is refused", () => {
    fc.assert(
      fc.property(secret, fc.integer({ min: 8, max: 42 }), (fresh, at) => {
        const [one = "", other = ""] = [fresh[at], fresh[at + 1]];
        fc.pre(one !== other);
        expect(isWellFormedKey(fresh.slice(0, at) + other + one + fresh.slice(at + 2))).toBe(false);
      }),
    );
  });

  test("that was invented is refused", () => {
    const invented = fc.string({ unit: fc.constantFrom(...BASE62), minLength: 36, maxLength: 36 });
    fc.assert(
      fc.property(invented, (body) => {
        fc.pre(checksumOf(`gr_live_${body.slice(0, 30)}`) !== body.slice(30));
        expect(isWellFormedKey(`gr_live_${body}`)).toBe(false);
      }),
    );
  });

  test.each(["", "gr_live_", "sk-proj-123", "gr_test_".padEnd(44, "a")])("is not %j", (text) => {
    expect(isWellFormedKey(text)).toBe(false);
  });

  test("has nothing around it", () => {
    const fresh = createKeySecret("normal");
    for (const text of [` ${fresh}`, `${fresh} `, `${fresh}\n`, `${fresh}x`, `x${fresh}`]) {
      expect(isWellFormedKey(text)).toBe(false);
    }
  });
});

describe("the checksum", () => {
  test("is CRC32 in six base62 digits, so that scanners can check it without us", () => {
    // CRC32 of "123456789" is 0xcbf43926 = 3421780262.
    const digits = [...checksumOf("123456789")].map((digit) => BASE62.indexOf(digit));
    expect(digits).toHaveLength(6);
    expect(digits.reduce((value, digit) => value * 62 + digit, 0)).toBe(0xcbf43926);
    expect(checksumOf("")).toBe("000000");
  });
});

describe("a web token", () => {
  const part = (content: object) => Buffer.from(JSON.stringify(content)).toString("base64url");
  const tokenOf = (payload: object, signature = randomBytes(64)) =>
    `${part({ alg: "EdDSA" })}.${part(payload)}.${signature.toString("base64url")}`;

  test("looks like one, whatever its signature", () => {
    for (let round = 0; round < 200; round += 1) expect(looksLikeWebToken(tokenOf({ sub: "a" }))).toBe(true);
  });

  test("has one spelling: the bits that base64url leaves over are zero", () => {
    const token = tokenOf({ sub: "a" });
    const spellings = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"].filter((last) =>
      looksLikeWebToken(token.slice(0, -1) + last),
    );
    expect(spellings).toEqual(["A", "Q", "g", "w"]);
  });

  test("is not what has other parts, another size or anything around it", () => {
    const token = tokenOf({ sub: "a" });
    const [header = "", payload = "", signature = ""] = token.split(".");
    for (const text of [
      "",
      "..",
      `${header}.${payload}`,
      `${header}..${signature}`,
      `${header}.${payload}.${signature}.${signature}`,
      `${header}.${payload}.${signature.slice(1)}`,
      `${token}A`,
      `${token}=`,
      `${token}\n`,
      ` ${token}`,
      tokenOf({ sub: "a" }, randomBytes(32)),
      tokenOf({ sub: "a".repeat(1_024) }),
      createKeySecret("normal"),
    ]) {
      expect(looksLikeWebToken(text)).toBe(false);
    }
    expect(isWellFormedKey(token)).toBe(false);
  });
});
