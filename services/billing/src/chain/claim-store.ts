// Claim store owns the rows of Idempotency-Keys and of their kept answers. A writer reads the latest owner of a key before it decides,
// and each new owner is a step of the account, so the chain of steps orders the owners.
import type { ClaimRecord, Id } from "@gr/ledger";
import type { PoolClient } from "@gr/runtime";
import { readByShard } from "../shards/shard-store.ts";
import { columnsOf, type Value } from "./binary-rows.ts";
import { bucketOf } from "./bucket.ts";

/** Owner of an Idempotency-Key, with its number among the owners of this key. */
export interface ClaimRow extends ClaimRecord {
  readonly accountId: Id;
  readonly key: string;
  /** From 1. */
  readonly generation: number;
}

export const CLAIM_COLUMNS = columnsOf([
  ["uuid", ["account_id", "hold_id"]],
  ["int8", ["claimed_at"]],
  ["int4", ["bucket", "generation"]],
  ["bytea", ["key", "fingerprint"]],
]);

export function claimValues(row: ClaimRow): Value[] {
  return [
    row.accountId,
    row.holdId,
    row.claimedAt,
    bucketOf(row.accountId),
    row.generation,
    Buffer.from(row.key, "hex"),
    Buffer.from(row.fingerprint, "hex"),
  ];
}

export interface AnswerContent {
  readonly contentType: string;
  readonly body: Buffer;
}

export interface KeptAnswerRow extends AnswerContent {
  readonly accountId: Id;
  readonly holdId: Id;
  /** Unix milliseconds. */
  readonly keptAt: number;
}

export const KEPT_ANSWER_COLUMNS = columnsOf([
  ["uuid", ["account_id", "hold_id"]],
  ["int8", ["kept_at"]],
  ["int4", ["bucket"]],
  ["text", ["content_type"]],
  ["bytea", ["body"]],
]);

export function keptAnswerValues({ accountId, holdId, keptAt, contentType, body }: KeptAnswerRow): Value[] {
  return [accountId, holdId, keptAt, bucketOf(accountId), contentType, body];
}

/** An Idempotency-Key of an account. */
export interface AskedClaim {
  readonly accountId: Id;
  readonly key: string;
}

const LATEST = `SELECT c.account_id, c.key, latest.generation, latest.fingerprint, latest.hold_id, latest.claimed_at
  FROM unnest($2::int[], $3::uuid[], $4::bytea[]) AS c (bucket, account_id, key)
  CROSS JOIN LATERAL (
    SELECT * FROM claim o
     WHERE o.bucket = ANY ($1::int[]) AND o.bucket = c.bucket AND o.account_id = c.account_id AND o.key = c.key
     ORDER BY o.generation DESC LIMIT 1) latest`;

interface LatestRow {
  readonly account_id: string;
  readonly key: Buffer;
  readonly generation: number;
  readonly fingerprint: Buffer;
  readonly hold_id: string;
  readonly claimed_at: bigint;
}

/** @returns the latest owner of each key that has had one */
export async function readClaims(client: PoolClient, asked: readonly AskedClaim[]): Promise<ClaimRow[]> {
  const inBucket = ({ accountId }: AskedClaim) => bucketOf(accountId);
  const rows = await readByShard(client, asked, inBucket, async (some) => {
    const buckets = some.map(inBucket);
    const keys = some.map(({ key }) => Buffer.from(key, "hex"));
    const values = [[...new Set(buckets)], buckets, some.map(({ accountId }) => accountId), keys];
    return (await client.query<LatestRow>({ name: "latest_claims", text: LATEST, values })).rows;
  });
  return rows.map((row) => ({
    accountId: row.account_id,
    key: row.key.toString("hex"),
    generation: row.generation,
    fingerprint: row.fingerprint.toString("hex"),
    holdId: row.hold_id,
    claimedAt: Number(row.claimed_at),
  }));
}
