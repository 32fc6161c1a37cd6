// The ids of the contract for the numbers that a history counts with, and back.
import type { Claim as ClaimOfRequest } from "@gr/clients";
import { checksumOf, KEY_PREFIX } from "@gr/identity";
import type { Claim } from "./operation.ts";

const DIGEST_BYTES = 32;

/** A UUID v7: it says when it was made. @param madeAt Unix milliseconds */
export function holdId(hold: number, madeAt: number): string {
  const time = madeAt.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${hexOf(hold)}`;
}

export function idOf(number: number): string {
  return `00000000-0000-4000-8000-${hexOf(number)}`;
}

export function numberOf(id: string): number {
  return Number.parseInt(id.slice(24), 16);
}

/** A well-formed API key. */
export function secretOf(spender: number): string {
  const body = KEY_PREFIX.normal + String(spender).padStart(30, "0");
  return body + checksumOf(body);
}

export function digestsOf({ key, content }: Claim): ClaimOfRequest {
  return { key: digestOf(key), fingerprint: digestOf(content) };
}

export function claimOf({ key, fingerprint }: ClaimOfRequest): Claim {
  return { key: readDigest(key), content: readDigest(fingerprint) };
}

function digestOf(number: number): Uint8Array {
  const digest = Buffer.alloc(DIGEST_BYTES);
  digest.writeUInt32BE(number);
  return digest;
}

function readDigest(digest: Uint8Array): number {
  return Buffer.from(digest.buffer, digest.byteOffset, digest.byteLength).readUInt32BE();
}

function hexOf(number: number): string {
  return number.toString(16).padStart(12, "0");
}
