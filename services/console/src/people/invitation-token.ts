// Invitation tokens are created once and stored as a digest.
import { createHash, randomBytes } from "node:crypto";

export function createToken(): string {
  return randomBytes(32).toString("base64url");
}

export function digestOfToken(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
