// Guarantees of web tokens: any text that differs from a signed token by one character is refused.
import {
  createHmac,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
  sign,
} from "node:crypto";
import { looksLikeWebToken } from "@gr/identity";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { createWebTokens } from "./web-token.ts";

const NOW = 1_800_000_000_000;
const SECONDS = NOW / 1_000;
const LIFETIME = 300_000;
const BASE64URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const { privateKey } = generateKeyPairSync("ed25519");
const tokens = createWebTokens(privateKey);
const accountId = randomUUID();

const header = { alg: "EdDSA", typ: "JWT" };
/** Payload of a right token, written down again rather than read from the code. */
const payload = {
  iss: "generation-router",
  aud: "generation-router/v1",
  sub: accountId,
  iat: SECONDS,
  exp: SECONDS + 300,
  jti: randomUUID(),
};

const base64url = (content: object | string) =>
  Buffer.from(typeof content === "string" ? content : JSON.stringify(content)).toString("base64url");

/** Signs any text, as an owner of the key could. */
function signed(head: object | string, body: object | string, key: KeyObject = privateKey): string {
  const text = `${base64url(head)}.${base64url(body)}`;
  return `${text}.${sign(null, Buffer.from(text), key).toString("base64url")}`;
}

const read = (text: string, now = NOW) => tokens.read(text, now);
const fresh = async () => (await tokens.sign(accountId, NOW, LIFETIME)).token;

describe("a web token", () => {
  test("is read as it was signed, by its own issuer only", async () => {
    const { token, expiresAt } = await tokens.sign(accountId, NOW, LIFETIME);
    expect(expiresAt).toBe(NOW + LIFETIME);
    expect(await read(token)).toEqual({ accountId, issuedAt: NOW, expiresAt });
    const stranger = createWebTokens(generateKeyPairSync("ed25519").privateKey);
    expect(await stranger.read(token, NOW)).toBeUndefined();
    expect(await read((await stranger.sign(accountId, NOW, LIFETIME)).token)).toBeUndefined();
  });

  test("is read with the other key, too, while the key is changed", async () => {
    const next = generateKeyPairSync("ed25519").privateKey;
    const before = createWebTokens(privateKey, next);
    const after = createWebTokens(next, privateKey);
    for (const issuer of [before, after]) {
      const { token, expiresAt } = await issuer.sign(accountId, NOW, LIFETIME);
      for (const reader of [before, after]) {
        expect(await reader.read(token, NOW)).toEqual({ accountId, issuedAt: NOW, expiresAt });
        expect(await reader.read(`${token.slice(0, -4)}AAAA`, NOW)).toBeUndefined();
      }
    }
    const { token } = await after.sign(accountId, NOW, LIFETIME);
    expect(await read(token)).toBeUndefined();
  });

  test("has the claims of a JWT, an id of its own, and no secret in it", async () => {
    const [one, other] = [await fresh(), await fresh()];
    const [head = "", body = ""] = one.split(".");
    expect(JSON.parse(Buffer.from(head, "base64url").toString())).toEqual(header);
    expect(JSON.parse(Buffer.from(body, "base64url").toString())).toEqual({
      ...payload,
      jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect(one).not.toBe(other);
  });

  test("is always of the shape that lets it be asked about, and lives no longer than was asked for", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1_000, max: LIFETIME }), fc.nat(999), async (lifetime, fraction) => {
        const now = NOW + fraction;
        const { token, expiresAt } = await tokens.sign(accountId, now, lifetime);
        expect(looksLikeWebToken(token)).toBe(true);
        expect(expiresAt).toBeGreaterThan(now);
        expect(expiresAt).toBeLessThanOrEqual(now + lifetime);
        expect(expiresAt).toBeGreaterThan(now + lifetime - 1_000);
        expect(await read(token, now)).toMatchObject({ accountId, expiresAt });
      }),
    );
  });

  test("that the test signs itself is read, so that the refusals below have one reason each", async () => {
    expect(await read(signed(header, payload))).toMatchObject({ accountId });
  });

  test("is still read when it has expired, with its time", async () => {
    const token = await fresh();
    for (const now of [NOW + LIFETIME, NOW + 100 * LIFETIME]) {
      expect(await read(token, now)).toMatchObject({ accountId, expiresAt: NOW + LIFETIME });
    }
  });
});

describe("no web token", () => {
  test("is one with any character changed, left out or doubled", async () => {
    const token = await fresh();
    for (let at = 0; at < token.length; at += 1) {
      const [before, here = "", after] = [token.slice(0, at), token[at], token.slice(at + 1)];
      const next = BASE64URL[(BASE64URL.indexOf(here) + 1) % 64] ?? "";
      const far = BASE64URL[(BASE64URL.indexOf(here) + 16) % 64] ?? "";
      for (const instead of [next, far, "", here + here, ".", "=", " "]) {
        if (instead === here) continue;
        const changed = before + instead + after;
        expect([at, changed, await read(changed)]).toEqual([at, changed, undefined]);
      }
    }
  });

  test("is one whose parts are another's, swapped or missing", async () => {
    const [a = "", b = "", c = ""] = (await fresh()).split(".");
    const [x = "", y = "", z = ""] = (await tokens.sign(randomUUID(), NOW, LIFETIME)).token.split(".");
    expect(x).toBe(a);
    for (const parts of [
      [a, b, z],
      [a, y, c],
      [b, a, c],
      [a, c, b],
      [c, b, a],
      [a, b, ""],
      ["", b, c],
      [a, "", c],
      [a, b],
      [a, b, c, z],
    ]) {
      expect(await read(parts.join("."))).toBeUndefined();
    }
  });

  test.each(["none", "None", "HS256", "HS512", "ES256", "RS256", "PS512", "Ed25519", "eddsa", "", null, 1])(
    "says that its algorithm is %j, even when our own key signed it",
    async (alg) => {
      expect(await read(signed({ ...header, alg }, payload))).toBeUndefined();
    },
  );

  test("is made with our public key as the secret of an HMAC", async () => {
    const publicKey = createPublicKey(privateKey);
    const spki = publicKey.export({ format: "der", type: "spki" });
    const secrets = [publicKey.export({ format: "pem", type: "spki" }), spki, spki.subarray(-32), ""];
    for (const secret of secrets) {
      for (const [alg, hash] of [
        ["HS256", "sha256"],
        ["HS512", "sha512"],
      ] as const) {
        const text = `${base64url({ alg, typ: "JWT" })}.${base64url(payload)}`;
        const mac = createHmac(hash, secret).update(text).digest("base64url");
        expect(await read(`${text}.${mac}`)).toBeUndefined();
      }
    }
  });

  test("is unsigned", async () => {
    const text = `${base64url({ alg: "none", typ: "JWT" })}.${base64url(payload)}`;
    for (const signature of ["", Buffer.alloc(64).toString("base64url")]) {
      expect(await read(`${text}.${signature}`)).toBeUndefined();
    }
  });

  test("brings the key along that it was signed with", async () => {
    const foreign = generateKeyPairSync("ed25519");
    const jwk = foreign.publicKey.export({ format: "jwk" });
    expect(await read(signed({ ...header, jwk }, payload, foreign.privateKey))).toBeUndefined();
    expect(await read(signed({ ...header, kid: "../key" }, payload, foreign.privateKey))).toBeUndefined();
  });

  test.each<[string, object | string]>([
    ...["iss", "aud", "sub", "iat", "exp", "jti"].map((claim): [string, object] => [
      `lacks ${claim}`,
      { ...payload, [claim]: undefined },
    ]),
    ["has another issuer", { ...payload, iss: "generation-router2" }],
    ["has another audience", { ...payload, aud: "generation-router/v2" }],
    ["is of no account", { ...payload, sub: "" }],
    ["is of something that is no UUID", { ...payload, sub: "x'; DROP TABLE account" }],
    ["has an empty id", { ...payload, jti: "" }],
    ["has a text for a time", { ...payload, exp: String(payload.exp) }],
    ["has a fraction for a time", { ...payload, exp: payload.exp - 0.5 }],
    ["was issued far in the future", { ...payload, iat: SECONDS + 3_600, exp: SECONDS + 3_900 }],
    ["was issued more than five seconds ahead", { ...payload, iat: SECONDS + 6, exp: SECONDS + 60 }],
    ["lives longer than five minutes", { ...payload, exp: payload.exp + 1 }],
    ["lived longer than five minutes", { ...payload, iat: SECONDS - 900, exp: SECONDS - 1 }],
    ["never expires", { ...payload, exp: Number.MAX_SAFE_INTEGER }],
    ["expires before it is issued", { ...payload, iat: SECONDS, exp: SECONDS - 1 }],
    ["is not valid yet", { ...payload, nbf: SECONDS + 60 }],
    ["says nothing", {}],
    ["is no object", "[]"],
    ["is no JSON", "{"],
  ])("%s, even when our own key signed it", async (_, body) => {
    expect(await read(signed(header, body))).toBeUndefined();
  });

  test.each<[string, object | string]>([
    ["of another type", { ...header, typ: "at+jwt" }],
    ["without a type", { alg: "EdDSA" }],
    ["with a demand that we do not know", { ...header, crit: ["b64"], b64: false }],
    ["whose header is no JSON", "{]"],
    ["whose header is a list", "[]"],
  ])("is one %s, even when our own key signed it", async (_, head) => {
    expect(await read(signed(head, payload))).toBeUndefined();
  });

  test("is any other text, and none of them is an error of ours", async () => {
    const piece = fc.oneof(
      fc.string(),
      fc.string({ unit: fc.constantFrom(...BASE64URL) }),
      fc.json().map(base64url),
      fc.constantFrom(...signed(header, payload).split(".")),
    );
    const text = fc.oneof(
      fc.string(),
      fc.array(piece, { minLength: 1, maxLength: 4 }).map((pieces) => pieces.join(".")),
    );
    await fc.assert(
      fc.asyncProperty(text, async (anything) => {
        fc.pre(anything !== signed(header, payload));
        expect(await read(anything)).toBeUndefined();
      }),
      { numRuns: 500 },
    );
    const body = fc.oneof(fc.json(), fc.string());
    await fc.assert(
      fc.asyncProperty(body, body, async (head, claims) => {
        expect(await read(signed(head, claims))).toBeUndefined();
        expect(await read(signed(header, claims))).toBeUndefined();
      }),
      { numRuns: 300 },
    );
  });
});

test("a clock of another process that is a little ahead does no harm, and shortens nothing", async () => {
  const { token } = await tokens.sign(accountId, NOW + 4_000, 10_000);
  expect(await read(token, NOW)).toMatchObject({ issuedAt: NOW + 4_000, expiresAt: NOW + 14_000 });
});
