// Parameters that are arrays, as PostgreSQL reads them: a column of a batch is one string, which costs Node less than the
// arrays of its client, and PostgreSQL less than JSON.

/** Of values that need no quotes, or have them. */
export function literal<T>(
  items: readonly T[],
  columnOf: (item: T) => string | bigint | number | boolean | null,
): string {
  let text = "";
  for (const item of items) text += `,${columnOf(item) ?? "NULL"}`;
  return `{${text.slice(1)}}`;
}

const SPECIAL = /["\\]/;

/** Any text. */
export function quoted(value: string): string {
  return SPECIAL.test(value) ? `"${value.replaceAll(/["\\]/g, "\\$&")}"` : `"${value}"`;
}

/** A value as JSON. Of a JSON text, JSON escapes quotes and backslashes only, and as PostgreSQL does. */
export function quotedJson(value: object): string {
  return JSON.stringify(JSON.stringify(value));
}
