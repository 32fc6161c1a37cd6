// The format of API keys: prefix, 30 random base62 characters, CRC32 of both in 6 base62 characters. By the checksum a
// mistyped or invented key is refused without a look-up, and secret scanners recognise a real one. Also the form of web tokens.
import { randomInt } from "node:crypto";
import { crc32 } from "node:zlib";

export const KEY_PREFIX = { normal: "gr_live_", management: "gr_mgmt_" } as const;

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const RANDOM_LENGTH = 30;
const CHECKSUM_LENGTH = 6;
const FORMAT = /^gr_(?:live|mgmt)_[0-9A-Za-z]{36}$/;
/** Longest web token in characters: far above issued tokens, far below the limit of a header. */
const LONGEST_WEB_TOKEN = 1_024;
/**
 * Two JSON objects and an Ed25519 signature in base64url. The last character of 64 bytes carries two bits: with the
 * other four at zero, a token has one spelling only.
 */
const WEB_TOKEN = /^eyJ[\w-]+\.eyJ[\w-]+\.[\w-]{85}[AQgw]$/;

/** A new secret with about 178 bits of randomness. */
export function createKeySecret(kind: keyof typeof KEY_PREFIX): string {
  const random = Array.from({ length: RANDOM_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join("");
  const body = KEY_PREFIX[kind] + random;
  return body + checksumOf(body);
}

/** CRC32 of the text in 6 base62 digits, most significant first. */
export function checksumOf(body: string): string {
  let remainder = crc32(body);
  let digits = "";
  for (let i = 0; i < CHECKSUM_LENGTH; i += 1) {
    digits = (ALPHABET[remainder % ALPHABET.length] ?? "") + digits;
    remainder = Math.floor(remainder / ALPHABET.length);
  }
  return digits;
}

/** Returns true if the text has the form of our keys. */
export function isWellFormedKey(secret: string): boolean {
  return (
    FORMAT.test(secret) && checksumOf(secret.slice(0, -CHECKSUM_LENGTH)) === secret.slice(-CHECKSUM_LENGTH)
  );
}

/** Returns true if the text has the form of a web token. The keys service checks its signature. */
export function looksLikeWebToken(text: string): boolean {
  return text.length <= LONGEST_WEB_TOKEN && WEB_TOKEN.test(text);
}
