// Signing secrets and signatures of Standard Webhooks. A receiver with one of the account's secrets can prove origin and
// time of a body.
import { createHmac, randomBytes } from "node:crypto";

const SECRET_BYTES = 32;

export function makeSecret(): Buffer {
  return randomBytes(SECRET_BYTES);
}

/** Returns the secret as receivers configure it. */
export function secretText(secret: Buffer): string {
  return `whsec_${secret.toString("base64")}`;
}

/**
 * Returns the headers of a signed body, with one signature for each secret.
 * @param at Unix milliseconds
 */
export function signedHeaders(
  id: string,
  at: number,
  body: string,
  secrets: readonly Buffer[],
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(at / 1_000));
  const signatures = secrets.map((secret) => {
    const digest = createHmac("sha256", secret).update(`${id}.${timestamp}.${body}`).digest("base64");
    return `v1,${digest}`;
  });
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures.join(" ") };
}
