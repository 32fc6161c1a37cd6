// Seal store owns the statements on seals and on the progress of sealing. A seal is computed from the seal before and from its steps, in
// statements of at most 50,000 steps, so no snapshot is open for long. A proof computes it again in the same way and compares.
import { createHash } from "node:crypto";
import type { Id } from "@gr/ledger";
import type { Pool, PoolClient } from "@gr/runtime";
import { FOLD } from "./seal-content-store.ts";
import { BLOCK_STEPS, SEAL_HASH } from "./seal-format-store.ts";

/** Steps that one statement folds. */
const FOLDED_STEPS = 50 * BLOCK_STEPS;
const DAY_MS = 86_400_000;

export interface Chain {
  readonly bucket: number;
  readonly accountId: Id;
}

/** Facts of a closed month; `hash` follows from them. */
export interface SealFacts {
  /** Unix milliseconds. */
  readonly endsAt: bigint;
  readonly firstSeq: bigint;
  readonly lastSeq: bigint;
  readonly lastAt: bigint;
  /** Number of the latest step that was a day or more before the end; 0 if there is none. */
  readonly daySeq: bigint;
  readonly credited: bigint;
  readonly debited: bigint;
  readonly held: bigint;
  readonly holds: bigint;
  /** Decimal integers of pico. */
  readonly chargedCost: string;
  readonly lostCost: string;
  readonly content: string;
  readonly linesHash: Buffer;
  readonly recordsHash: Buffer;
  readonly previousHash: Buffer | null;
}

export interface Seal extends SealFacts {
  readonly hash: Buffer;
}

const EMPTY = '{"holds": [], "budgets": []}';

const COLUMNS = `ends_at AS "endsAt", first_seq AS "firstSeq", last_seq AS "lastSeq", last_at AS "lastAt", day_seq AS "daySeq",
  credited, debited, held, holds, charged_cost::text AS "chargedCost", lost_cost::text AS "lostCost", content,
  lines_hash AS "linesHash", records_hash AS "recordsHash", previous_hash AS "previousHash", hash`;

const LATEST = `SELECT ${COLUMNS} FROM seal WHERE bucket = $1 AND account_id = $2 ORDER BY ends_at DESC LIMIT 1`;
const SEALS = `SELECT ${COLUMNS} FROM seal WHERE bucket = $1 AND account_id = $2 AND ends_at > $3 ORDER BY ends_at LIMIT 24`;
const FIRST_STEP = "SELECT at FROM step WHERE bucket = $1 AND account_id = $2 AND seq = $3";

/** The times of an account never fall, so its first step since a time is found by halves. One more than the latest if there is none. */
export const FIRST_SINCE = `WITH RECURSIVE half (low, high) AS (
    SELECT 1::bigint, 1 + coalesce((
      SELECT s.seq FROM step s WHERE s.bucket = $1 AND s.account_id = $2 ORDER BY s.seq DESC LIMIT 1), 0)
    UNION ALL
    SELECT CASE WHEN s.at < $3 THEN s.seq + 1 ELSE h.low END, CASE WHEN s.at < $3 THEN h.high ELSE s.seq END
      FROM half h JOIN step s ON s.bucket = $1 AND s.account_id = $2 AND s.seq = (h.low + h.high) / 2
     WHERE h.low < h.high)
  SELECT low AS seq FROM half WHERE low = high`;

/** Parameters of a seal in the order of `valuesOf`. */
const NEW_SEAL = `(SELECT $1::int AS bucket, $2::uuid AS account_id, $3::bigint AS ends_at, $4::bigint AS first_seq, $5::bigint AS last_seq,
    $6::bigint AS last_at, $7::bigint AS day_seq, $8::bigint AS credited, $9::bigint AS debited, $10::bigint AS held,
    $11::bigint AS holds, $12::numeric AS charged_cost, $13::numeric AS lost_cost, $14::text AS content,
    $15::bytea AS lines_hash, $16::bytea AS records_hash, $17::bytea AS previous_hash) s`;
const HASH = `SELECT ${SEAL_HASH} AS hash FROM ${NEW_SEAL}`;
const INSERT = `INSERT INTO seal (bucket, account_id, ends_at, first_seq, last_seq, last_at, day_seq, credited, debited, held, holds,
    charged_cost, lost_cost, content, lines_hash, records_hash, previous_hash, hash) SELECT s.*, ${SEAL_HASH} FROM ${NEW_SEAL}`;

interface FoldRow {
  readonly at: bigint;
  readonly credited: bigint;
  readonly debited: bigint;
  readonly held: bigint;
  readonly holds: bigint;
  readonly charged_cost: string;
  readonly lost_cost: string;
  readonly day_seq: bigint | null;
  readonly lines: string[];
  readonly records: string[];
  readonly content: string;
}

export async function latestSeal(
  client: Pool | PoolClient,
  { bucket, accountId }: Chain,
): Promise<Seal | undefined> {
  return (await client.query<Seal>({ name: "latest_seal", text: LATEST, values: [bucket, accountId] }))
    .rows[0];
}

/** Lists seals in order, at most 24. @param after `endsAt` of the seal before */
export async function listSeals(
  client: Pool | PoolClient,
  { bucket, accountId }: Chain,
  after: bigint,
): Promise<Seal[]> {
  return (await client.query<Seal>(SEALS, [bucket, accountId, after])).rows;
}

/** @returns undefined if the account has no such step */
export async function timeOfStep(
  client: Pool | PoolClient,
  { bucket, accountId }: Chain,
  seq: bigint,
): Promise<bigint | undefined> {
  return (
    await client.query<{ at: bigint }>({
      name: "time_of_step",
      text: FIRST_STEP,
      values: [bucket, accountId, seq],
    })
  ).rows[0]?.at;
}

/** @param at Unix milliseconds @returns one more than the latest step if none is so late */
export async function firstStepSince(
  client: Pool | PoolClient,
  { bucket, accountId }: Chain,
  at: bigint,
): Promise<bigint> {
  const { rows } = await client.query<{ seq: bigint }>({
    name: "first_since",
    text: FIRST_SINCE,
    values: [bucket, accountId, at],
  });
  return rows[0]?.seq ?? 1n;
}

/**
 * Computes the seal of a month.
 * @param stepsAtOnce steps of one statement, a multiple of `BLOCK_STEPS` @returns undefined if a step of a statement's end is missing
 */
export async function foldMonth(
  client: Pool | PoolClient,
  { bucket, accountId }: Chain,
  before: Seal | undefined,
  month: Pick<SealFacts, "endsAt" | "lastSeq">,
  stepsAtOnce = FOLDED_STEPS,
): Promise<Seal | undefined> {
  const { endsAt, lastSeq } = month;
  const firstSeq = (before?.lastSeq ?? 0n) + 1n;
  const [lines, records] = [createHash("sha256"), createHash("sha256")];
  const total = {
    daySeq: before?.lastSeq ?? 0n,
    holds: before?.holds ?? 0n,
    chargedCost: BigInt(before?.chargedCost ?? 0),
    lostCost: BigInt(before?.lostCost ?? 0),
  };
  let content = before?.content ?? EMPTY;
  let latest: FoldRow | undefined;
  for (let from = firstSeq - 1n; from < lastSeq; from += BigInt(stepsAtOnce)) {
    const until = from + BigInt(stepsAtOnce) < lastSeq ? from + BigInt(stepsAtOnce) : lastSeq;
    const values = [bucket, accountId, from, until, content, endsAt - BigInt(DAY_MS), firstSeq];
    [latest] = (await client.query<FoldRow>({ name: "fold_month", text: FOLD, values })).rows;
    if (latest === undefined) return undefined;
    for (const hash of latest.lines) lines.update(hash, "hex");
    for (const hash of latest.records) records.update(hash, "hex");
    content = latest.content;
    total.daySeq = latest.day_seq ?? total.daySeq;
    total.holds += latest.holds;
    total.chargedCost += BigInt(latest.charged_cost);
    total.lostCost += BigInt(latest.lost_cost);
  }
  if (latest === undefined) return undefined;
  const facts: SealFacts = {
    ...{ endsAt, firstSeq, lastSeq, lastAt: latest.at, daySeq: total.daySeq, holds: total.holds, content },
    ...{ credited: latest.credited, debited: latest.debited, held: latest.held },
    ...{ chargedCost: String(total.chargedCost), lostCost: String(total.lostCost) },
    ...{ linesHash: lines.digest(), recordsHash: records.digest(), previousHash: before?.hash ?? null },
  };
  const { rows } = await client.query<{ hash: Buffer }>({
    name: "seal_hash",
    text: HASH,
    values: valuesOf({ bucket, accountId }, facts),
  });
  return rows[0] && { ...facts, hash: rows[0].hash };
}

function valuesOf({ bucket, accountId }: Chain, facts: SealFacts): unknown[] {
  const { endsAt, firstSeq, lastSeq, lastAt, daySeq, credited, debited, held, holds } = facts;
  const { chargedCost, lostCost, content, linesHash, recordsHash, previousHash } = facts;
  return [
    ...[bucket, accountId, endsAt, firstSeq, lastSeq, lastAt, daySeq, credited, debited, held, holds],
    ...[chargedCost, lostCost, content, linesHash, recordsHash, previousHash],
  ];
}

/** Position of a pass over a bucket. */
export interface Progress {
  readonly bucket: number;
  /** Months up to here are sealed. Unix milliseconds. */
  readonly endsAt: bigint;
  /** `endsAt` after this pass; null between two passes. */
  readonly target: bigint | null;
  readonly accountId: Id | null;
}

const DUE = `SELECT bucket, ends_at AS "endsAt", target, account_id AS "accountId" FROM seal_progress
  WHERE coalesce(target, $1) > ends_at ORDER BY random() LIMIT 1`;
const MOVE = `UPDATE seal_progress SET ends_at = $5, target = $6, account_id = $7
  WHERE bucket = $1 AND ends_at = $2 AND target IS NOT DISTINCT FROM $3 AND account_id IS NOT DISTINCT FROM $4`;

/** Compilation of a statement for each seal would need longer than the statement. */
const PLANNER = "SET jit = off";

/** Runs statements on months of single accounts over one connection. */
export function withSealClient<Result>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  return withSettings(pool, PLANNER, work);
}

/** Runs statements over one connection with settings of its own, and closes it. */
export async function withSettings<Result>(
  pool: Pool,
  settings: string,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  try {
    await client.query(settings);
    return await work(client);
  } finally {
    client.release(true);
  }
}

/** @returns a bucket with unsealed months before `endsAt`, by chance, so several processes rarely choose the same one */
export async function dueBucket(client: PoolClient, endsAt: number): Promise<Progress | undefined> {
  return (await client.query<Progress>(DUE, [endsAt])).rows[0];
}

export interface NewSeal {
  readonly chain: Chain;
  readonly seal: Seal;
}

/** Stores seals and the new position, or nothing if another process has moved the position. @returns whether they are stored */
export async function storeSeals(
  client: PoolClient,
  from: Progress,
  to: Progress,
  seals: readonly NewSeal[],
): Promise<boolean> {
  const position = [
    from.bucket,
    from.endsAt,
    from.target,
    from.accountId,
    to.endsAt,
    to.target,
    to.accountId,
  ];
  await client.query("BEGIN");
  try {
    const { rowCount } = await client.query(MOVE, position);
    for (const { chain, seal } of rowCount === 1 ? seals : []) {
      await client.query({ name: "insert_seal", text: INSERT, values: valuesOf(chain, seal) });
    }
    await client.query("COMMIT");
    return rowCount === 1;
  } catch (error) {
    await client.query("ROLLBACK");
    throw error;
  }
}

/**
 * Accounts of a bucket behind another one. Each is found by a search of its own, so the time does not grow with the steps. The bucket is a
 * constant, because Citus refuses the recursion without one.
 */
const OWN = `WITH RECURSIVE own (account_id) AS (
    (SELECT s.account_id FROM step s WHERE s.bucket = $1 AND s.account_id > $2 ORDER BY s.account_id LIMIT 1)
    UNION ALL
    SELECT n.account_id FROM own o CROSS JOIN LATERAL (
      SELECT s.account_id FROM step s WHERE s.bucket = $1 AND s.account_id > o.account_id ORDER BY s.account_id LIMIT 1) n)`;
const ACCOUNTS = `${OWN} SELECT account_id AS "accountId" FROM own LIMIT $3`;
const CHAINS = `${OWN}
  SELECT $1::int AS bucket, o.account_id AS "accountId", l.seq AS "lastSeq", z.last_seq AS "sealedSeq", z.ends_at AS "sealedUntil"
    FROM (SELECT account_id FROM own LIMIT $3) o
   CROSS JOIN LATERAL (SELECT s.seq FROM step s WHERE s.bucket = $1 AND s.account_id = o.account_id ORDER BY s.seq DESC LIMIT 1) l
    LEFT JOIN LATERAL (SELECT z.last_seq, z.ends_at FROM seal z WHERE z.bucket = $1 AND z.account_id = o.account_id
                        ORDER BY z.ends_at DESC LIMIT 1) z ON true
   ORDER BY 2`;

const BEFORE_ALL = "00000000-0000-0000-0000-000000000000";

export interface ChainEnd extends Chain {
  readonly lastSeq: bigint;
  /** null = no month is sealed */
  readonly sealedSeq: bigint | null;
  readonly sealedUntil: bigint | null;
}

/** Accounts with steps in a bucket, in their order. */
export interface AccountPage {
  readonly bucket: number;
  /** Latest account of the page before; null = the first page. */
  readonly after: Id | null;
  readonly limit: number;
}

export async function listAccounts(client: PoolClient, page: AccountPage): Promise<Id[]> {
  const { rows } = await client.query<{ accountId: Id }>(ACCOUNTS, pageValues(page));
  return rows.map(({ accountId }) => accountId);
}

/** Lists the same accounts with their ends. On Citus the steps must be a copy, because seals are on the coordinator. */
export async function listChains(client: Pool | PoolClient, page: AccountPage): Promise<ChainEnd[]> {
  return (await client.query<ChainEnd>(CHAINS, pageValues(page))).rows;
}

function pageValues({ bucket, after, limit }: AccountPage): unknown[] {
  return [bucket, after ?? BEFORE_ALL, limit];
}
