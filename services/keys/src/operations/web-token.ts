// Web tokens are JWTs that only we sign (Ed25519) and only we read.
// Any deviation from our own form is refused: one algorithm, one issuer, one audience, every claim, at most five
// minutes.
import { createPublicKey, type KeyObject, randomUUID } from "node:crypto";
import { looksLikeWebToken } from "@gr/identity";
import { isUuid } from "@gr/runtime";
import { errors, type JWTPayload, jwtVerify, SignJWT } from "jose";
import { z } from "zod";

/** Name of a token in the place of a key's name, and name of the spender of an account's tokens. */
export const WEB_TOKEN_NAME = "Temporary web token";
export const LONGEST_LIFETIME_MS = 300_000;

const ALGORITHM = "EdDSA";
const ISSUER = "generation-router";
const AUDIENCE = "generation-router/v1";
/** Tolerance for the clock of the issuing process, in seconds ahead of ours. The expiry has no tolerance. */
const ISSUED_AHEAD_SECONDS = 5;

export interface WebToken {
  readonly accountId: string;
  /** Person that received the token. */
  readonly personId: string | undefined;
  /** Unix milliseconds; whole seconds, as JWTs count. */
  readonly issuedAt: number;
  /** Unix milliseconds; whole seconds. */
  readonly expiresAt: number;
}

export interface WebTokens {
  /** @returns a token with the requested lifetime, less the last fraction of a second. */
  sign(
    accountId: string,
    now: number,
    lifetimeMs: number,
    personId?: string,
  ): Promise<{ token: string; expiresAt: number }>;
  /** Returns the content of our token, expired or not; undefined for any other text. */
  read(text: string, now: number): Promise<WebToken | undefined>;
}

const claims = z.object({
  sub: z.string().refine(isUuid),
  iat: z.int(),
  exp: z.int(),
  jti: z.string().min(1),
  person: z.string().min(1).optional(),
});

/**
 * @param privateKey an Ed25519 key
 * @param other tokens that it signed are read, too
 */
export function createWebTokens(privateKey: KeyObject, other?: KeyObject): WebTokens {
  const trustedKeys = other === undefined ? [privateKey] : [privateKey, other];
  const publicKeys = trustedKeys.map((key) => createPublicKey(key));
  return {
    sign: async (accountId, now, lifetimeMs, personId) => {
      const expiresAtSeconds = Math.floor((now + lifetimeMs) / 1_000);
      const token = await new SignJWT(personId === undefined ? {} : { person: personId })
        .setProtectedHeader({ alg: ALGORITHM, typ: "JWT" })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setSubject(accountId)
        .setIssuedAt(Math.floor(now / 1_000))
        .setExpirationTime(expiresAtSeconds)
        .setJti(randomUUID())
        .sign(privateKey);
      return { token, expiresAt: expiresAtSeconds * 1_000 };
    },
    read: async (text, now) => {
      const payload = looksLikeWebToken(text) ? await payloadOf(text, publicKeys, now) : undefined;
      const parsed = claims.safeParse(payload);
      return parsed.success ? tokenOf(parsed.data, now) : undefined;
    },
  };
}

async function payloadOf(
  text: string,
  [publicKey, ...others]: readonly KeyObject[],
  now: number,
): Promise<JWTPayload | undefined> {
  if (publicKey === undefined) return undefined;
  try {
    const { payload } = await jwtVerify(text, publicKey, {
      algorithms: [ALGORITHM],
      typ: "JWT",
      issuer: ISSUER,
      audience: AUDIENCE,
      currentDate: new Date(now),
    });
    return payload;
  } catch (error) {
    // Signature, issuer and audience were right. The caller names the expiry.
    if (error instanceof errors.JWTExpired) return error.payload;
    if (error instanceof errors.JOSEError) return await payloadOf(text, others, now);
    throw error;
  }
}

/** Checks the claims. We never issue a longer lifetime, so a token with one is not ours, despite its signature. */
function tokenOf({ sub, iat, exp, person }: z.infer<typeof claims>, now: number): WebToken | undefined {
  if (exp <= iat || exp - iat > LONGEST_LIFETIME_MS / 1_000) return undefined;
  if (iat > now / 1_000 + ISSUED_AHEAD_SECONDS) return undefined;
  return { accountId: sub, personId: person, issuedAt: iat * 1_000, expiresAt: exp * 1_000 };
}
