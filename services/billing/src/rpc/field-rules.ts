// The rules that every field of a request to billing keeps. Each answers the value as it is stored, or throws
// ServiceError invalid_value that names the field; nothing malformed gets as far as the database.
import type { Credits, PicoUsd } from "@gr/money";
import { ServiceError } from "@gr/proto";
import { isUuid, LONGEST_PAGE } from "@gr/runtime";

/** 1e11 USD: more than any account, and small enough for thousands of them in a 64-bit sum. */
const MOST_CREDITS: Credits = 10n ** 15n;
/** The largest 64-bit integer. */
const MOST_COST: PicoUsd = 2n ** 63n - 1n;
/** The last millisecond of the year 9999. */
const LATEST = 253_402_300_799_999n;
const MOST_ATTEMPTS = 100;
const DIGEST_BYTES = 32;

export function invalid(field: string, what: string): ServiceError {
  return new ServiceError("invalid_value", `${what} (field "${field}").`, { param: field });
}

/** Lower-case, so that one id has one spelling. */
export function uuid(field: string, value: string): string {
  if (!isUuid(value)) throw invalid(field, "It must be a UUID");
  return value.toLowerCase();
}

/** @returns undefined for a person that can have no budget: budgets of members have the ids of persons of the console */
export function personOf(value: string): string | undefined {
  return isUuid(value) ? value.toLowerCase() : undefined;
}

export function credits(field: string, value: Credits): Credits {
  if (value < 0n || value > MOST_CREDITS)
    throw invalid(field, `It must be from 0 to ${MOST_CREDITS} credits`);
  return value;
}

/** A change of credit, up or down. */
export function signedCredits(field: string, value: Credits): Credits {
  if (value === 0n) throw invalid(field, "It must not be zero");
  if (value < -MOST_CREDITS || value > MOST_CREDITS) {
    throw invalid(field, `It must be from -${MOST_CREDITS} to ${MOST_CREDITS} credits`);
  }
  return value;
}

export function cost(field: string, value: PicoUsd): PicoUsd {
  if (value < 0n || value > MOST_COST) throw invalid(field, `It must be from 0 to ${MOST_COST} pico USD`);
  return value;
}

export function revision(field: string, value: bigint): bigint {
  if (value < 0n) throw invalid(field, "A revision must not be negative");
  return value;
}

/** Number of an attempt that follows another. */
export function attempt(field: string, value: number): number {
  if (value < 2 || value > MOST_ATTEMPTS) throw invalid(field, `It must be from 2 to ${MOST_ATTEMPTS}`);
  return value;
}

/** Unix milliseconds. */
export function instant(field: string, value: bigint): bigint {
  if (value <= 0n || value > LATEST)
    throw invalid(field, "It must be Unix milliseconds before the year 10000");
  return value;
}

/** Short text that PostgreSQL can store. @param most Unicode code points */
export function text(field: string, value: string, most = 200): string {
  if (value === "") throw invalid(field, "It must not be empty");
  if (value.includes("\0")) throw invalid(field, "It must not contain a NUL character");
  if (value.length > most && [...value].length > most) {
    throw invalid(field, `It must have at most ${most} characters`);
  }
  return value;
}

/** @returns a SHA-256 in hexadecimal digits */
export function digest(field: string, value: Uint8Array): string {
  if (value.byteLength !== DIGEST_BYTES) throw invalid(field, `It must have ${DIGEST_BYTES} bytes`);
  return Buffer.from(value).toString("hex");
}

export function bytes(field: string, value: Uint8Array, most: number): Uint8Array {
  if (value.byteLength > most) throw invalid(field, `It must have at most ${most} bytes`);
  return value;
}

/** A count of rows to answer. @param usual what 0 stands for */
export function limit(field: string, value: number, usual = 100): number {
  if (value < 0 || value > LONGEST_PAGE) {
    throw invalid(field, `It must be from 1 to ${LONGEST_PAGE}, or 0 for ${usual}`);
  }
  return value === 0 ? usual : value;
}
