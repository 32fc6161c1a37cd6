// Service tokens prove that a call is from one of our own processes: a short-lived HMAC over its purpose and expiry.
// A deployment has one secret (INTERNAL_AUTH_SECRET), and a second one that is accepted during its change. No other
// proof counts.
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Clock } from "../process/clock.ts";

/** Clocks of two processes may differ by two minutes, and a token is reused for some time. */
const LIFETIME_MS = 240_000;

/** "payload.expiry.signature"; payload is base64url, so the parts cannot contain the separator. */
export function signToken(secret: string, audience: string, payload: string, clock: Clock): string {
  const body = `${Buffer.from(payload).toString("base64url")}.${clock.now() + LIFETIME_MS}`;
  return `${body}.${signature(secret, audience, body)}`;
}

/** The payload, or undefined when the token is malformed, forged, for another audience, or expired. */
export function readToken(
  trustedSecrets: readonly string[],
  audience: string,
  token: string,
  clock: Clock,
): string | undefined {
  const [payload, expiry, signed, ...more] = token.split(".");
  if (payload === undefined || expiry === undefined || signed === undefined || more.length > 0)
    return undefined;
  const actual = Buffer.from(signed);
  const isOurs = trustedSecrets.some((secret) => {
    const expected = Buffer.from(signature(secret, audience, `${payload}.${expiry}`));
    return expected.length === actual.length && timingSafeEqual(expected, actual);
  });
  if (!isOurs) return undefined;
  const expiresAt = Number(expiry);
  if (!(expiresAt > clock.now() && expiresAt <= clock.now() + 2 * LIFETIME_MS)) return undefined;
  return Buffer.from(payload, "base64url").toString();
}

function signature(secret: string, audience: string, body: string): string {
  return createHmac("sha256", secret).update(audience).update("\0").update(body).digest("base64url");
}
