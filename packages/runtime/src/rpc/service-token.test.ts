// Guarantees of service tokens: a process accepts only a fresh signature with the common secret, addressed to it.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { readPrincipal, signPrincipal } from "./principal.ts";
import { readToken, signToken } from "./service-token.ts";

const SECRET = "a secret for tests that is long enough";
const clockAt = (time: number) => ({ now: () => time });
const NOW = 1_700_000_000_000;

describe("service tokens", () => {
  test("whatever is signed is read back, and by nobody with another secret or another purpose", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.string(), fc.string(), (payload, audience, other) => {
        const token = signToken(SECRET, audience, payload, clockAt(NOW));
        expect(readToken([SECRET], audience, token, clockAt(NOW))).toBe(payload);
        expect(readToken([`${SECRET}x`], audience, token, clockAt(NOW))).toBeUndefined();
        if (other !== audience) expect(readToken([SECRET], other, token, clockAt(NOW))).toBeUndefined();
      }),
    );
  });

  test("while the secret is changed both are believed, and no third", () => {
    const NEXT = "the next secret for tests, long enough";
    for (const secret of [SECRET, NEXT]) {
      const token = signToken(secret, "rpc", "payload", clockAt(NOW));
      expect(readToken([SECRET, NEXT], "rpc", token, clockAt(NOW))).toBe("payload");
      expect(readToken([NEXT, SECRET], "rpc", token, clockAt(NOW))).toBe("payload");
      expect(readToken([`${SECRET}x`, `${NEXT}x`], "rpc", token, clockAt(NOW))).toBeUndefined();
    }
  });

  test("any change makes a token worthless", () => {
    const token = signToken(SECRET, "rpc", "payload", clockAt(NOW));
    fc.assert(
      fc.property(fc.nat(token.length - 1), fc.constantFrom(..."abcXYZ019._-".split("")), (at, character) => {
        const changed = token.slice(0, at) + character + token.slice(at + 1);
        if (changed !== token) expect(readToken([SECRET], "rpc", changed, clockAt(NOW))).toBeUndefined();
      }),
    );
    for (const broken of [
      "",
      ".",
      "..",
      "a.b.c",
      `${token}.`,
      `${token}x`,
      token.slice(0, -1),
      `.${token}`,
    ]) {
      expect(readToken([SECRET], "rpc", broken, clockAt(NOW))).toBeUndefined();
    }
  });

  test("a token lives four minutes, and none comes from the far future", () => {
    const token = signToken(SECRET, "rpc", "", clockAt(NOW));
    expect(readToken([SECRET], "rpc", token, clockAt(NOW + 239_999))).toBe("");
    expect(readToken([SECRET], "rpc", token, clockAt(NOW + 240_000))).toBeUndefined();
    expect(readToken([SECRET], "rpc", token, clockAt(NOW - 240_001))).toBeUndefined();
  });

  test("two minutes between the clocks of two processes do no harm, to a token that is used again either", () => {
    const REUSED_MS = 21_000;
    for (const skew of [-120_000, 120_000]) {
      const token = signToken(SECRET, "rpc", "", clockAt(NOW + skew));
      for (const age of [0, REUSED_MS])
        expect(readToken([SECRET], "rpc", token, clockAt(NOW + age))).toBe("");
    }
  });
});

describe("principals", () => {
  const principal = { id: "a", roles: ["reader"] };

  test("a principal arrives at the module that it was signed for and at no other", () => {
    const token = signPrincipal(SECRET, "billing", principal, clockAt(NOW));
    expect(readPrincipal([SECRET], "billing", token, clockAt(NOW))).toEqual(principal);
    expect(readPrincipal([SECRET], "keys", token, clockAt(NOW))).toBeUndefined();
    expect(readPrincipal([SECRET], "billing", token, clockAt(NOW + 240_000))).toBeUndefined();
  });

  test("nobody is told apart from a token that is not to be trusted", () => {
    const token = signPrincipal(SECRET, "billing", null, clockAt(NOW));
    expect(readPrincipal([SECRET], "billing", token, clockAt(NOW))).toBeNull();
    expect(readPrincipal([SECRET], "billing", "forged", clockAt(NOW))).toBeUndefined();
  });

  test("a token for calls between services is no principal", () => {
    const token = signToken(SECRET, "rpc", JSON.stringify(principal), clockAt(NOW));
    expect(readPrincipal([SECRET], "billing", token, clockAt(NOW))).toBeUndefined();
  });
});
