// UUIDs as callers send them. Each id from a caller is checked before a query: PostgreSQL refuses a query with another
// text in place of a UUID, and its error is no answer for a caller.

/** Pattern of one UUID in lower case, for a larger pattern. */
export const UUID_PATTERN = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";

/** A whole text that is one UUID, in lower or upper case. */
export const UUID = new RegExp(`^${UUID_PATTERN}$`, "i");

export function isUuid(text: string): boolean {
  return UUID.test(text);
}
