// Statement store owns the reads of a sealed month for the owner of its account: the seal, and the columns of steps that the owner may
// read, in the texts that the hash covers.
import type { Pool } from "@gr/runtime";
import { LINE, SEAL_TEXT } from "../seals/seal-format-store.ts";
import type { Chain } from "../seals/seal-store.ts";

const SEAL = `SELECT ${SEAL_TEXT} AS text, encode(hash, 'hex') AS hash, first_seq AS "firstSeq", last_seq AS "lastSeq" FROM seal
  WHERE bucket = $1 AND account_id = $2 AND ends_at = $3`;
const LINES = `SELECT ${LINE} AS line FROM step WHERE bucket = $1 AND account_id = $2 AND seq > $3 AND seq <= $4 ORDER BY seq`;

export interface SealedMonth {
  readonly text: string;
  /** Hexadecimal digits. */
  readonly hash: string;
  readonly firstSeq: bigint;
  readonly lastSeq: bigint;
}

/** @param endsAt Unix milliseconds of the end of the month @returns undefined if the account has no seal of the month */
export async function readSealedMonth(
  pool: Pool,
  { bucket, accountId }: Chain,
  endsAt: number,
): Promise<SealedMonth | undefined> {
  return (await pool.query<SealedMonth>(SEAL, [bucket, accountId, endsAt])).rows[0];
}

/** Lists the texts of steps behind a number, up to another one. */
export async function listLines(
  pool: Pool,
  { bucket, accountId }: Chain,
  after: bigint,
  last: bigint,
): Promise<string[]> {
  const { rows } = await pool.query<{ line: string }>(LINES, [bucket, accountId, after, last]);
  return rows.map(({ line }) => line);
}
