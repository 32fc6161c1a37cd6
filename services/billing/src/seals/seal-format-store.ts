// Seal format owns the canonical bytes of a seal, as expressions of SQL. Each text is a JSON array of strings and nulls without spaces, in
// UTF-8, so any language can write it again; each digest is SHA-256.
import { LEVELS } from "./level-store.ts";

/** Version of the format; the first string of a seal. */
const SEAL_VERSION = "seal 1";

/** Steps of one block, from the first step of the month on. */
export const BLOCK_STEPS = 1_000;

/** Columns of a step that a statement shows to the owner of the account, in order. */
export const LINE_COLUMNS = [
  ...["seq", "at", "kind", "id", "credits", "charge", "place_seq", "credited", "debited", "held", "model"],
  ...LEVELS.flatMap((level) => [`budget${level}`, `window${level}`, `used${level}`, `held${level}`]),
] as const;

/** All other columns but account, bucket and transaction. Costs are among them, and belong to the operator. */
export const RECORD_COLUMNS = [
  ...["seq", "cost", "billed_by", "attempt", "deadline_at", "service", "provider", "upstream_model"],
  ...["price_version", "claim", "detail"],
] as const;

const arrayOf = (values: readonly string[]) => `array_to_json(ARRAY[${values.join(", ")}])::text`;
const textOf = (column: string) => (column === "claim" ? "encode(claim, 'hex')" : `${column}::text`);

/** Texts of one step. */
export const LINE = arrayOf(LINE_COLUMNS.map(textOf));
export const RECORD = arrayOf(RECORD_COLUMNS.map(textOf));

const digestOf = (text: string) => `sha256(convert_to(${text}, 'UTF8'))`;

/** Digest of a block: its texts in the order of the steps, joined by a line feed. The digest of a month is that of the digests of its blocks. */
export const blockDigest = (text: string) => digestOf(`string_agg(${text}, E'\\n' ORDER BY seq)`);

/** Digest of the facts of a seal that belong to the operator. */
const RECORDS = digestOf(
  arrayOf([
    "encode(records_hash, 'hex')",
    ...["holds", "charged_cost", "lost_cost", "day_seq"].map((column) => `${column}::text`),
  ]),
);

/** Text of a seal, without the facts that belong to the operator. */
export const SEAL_TEXT = arrayOf([
  `'${SEAL_VERSION}'`,
  "account_id::text",
  "ends_at::text",
  "encode(previous_hash, 'hex')",
  ...["first_seq", "last_seq", "last_at", "credited", "debited", "held"].map((column) => `${column}::text`),
  "content",
  "encode(lines_hash, 'hex')",
  `encode(${RECORDS}, 'hex')`,
]);

export const SEAL_HASH = digestOf(SEAL_TEXT);
