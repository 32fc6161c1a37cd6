// Secrets become digests here. The look-up is by digest, so no secret is ever compared, and the pepper keeps whoever
// can write to the database from planting a key of their own.
import { createHmac } from "node:crypto";

/** HMAC-SHA256 of the whole secret under the pepper: 32 bytes. */
export type DigestOf = (secret: string) => Buffer;

export function digestWith(pepper: string): DigestOf {
  return (secret) => createHmac("sha256", pepper).update(secret).digest();
}

/** What is kept of a secret for display: `gr_live_…wxyz`. */
export function hintOf(secret: string): string {
  const prefix = /^[a-z]+_[a-z]+_/.exec(secret)?.[0] ?? "";
  return `${prefix}…${secret.slice(-4)}`;
}
