// Latest-step store owns the statement that confirms copies: the latest step of each account, one row of the key's index.
import type { Id } from "@gr/ledger";
import type { PoolClient } from "@gr/runtime";
import { bucketOf } from "../chain/bucket.ts";
import type { LatestStep } from "../chain/state-store.ts";
import { readByShard } from "../shards/shard-store.ts";

const LATEST = `SELECT s.account_id, s.seq, s.at, s.credited, s.debited, s.held
  FROM unnest($2::int[], $3::uuid[]) AS asked (bucket, account_id)
  CROSS JOIN LATERAL (
    SELECT * FROM step t
     WHERE t.bucket = ANY ($1::int[]) AND t.bucket = asked.bucket AND t.account_id = asked.account_id
     ORDER BY t.seq DESC LIMIT 1) s`;

interface LatestRow extends Pick<LatestStep, "credited" | "debited" | "held"> {
  readonly account_id: Id;
  readonly seq: bigint;
  readonly at: bigint;
}

export async function readLatestSteps(
  client: PoolClient,
  accountIds: readonly Id[],
): Promise<Map<Id, LatestStep>> {
  const rows = await readByShard(client, accountIds, bucketOf, async (ids) => {
    const buckets = ids.map(bucketOf);
    const values = [[...new Set(buckets)], buckets, ids];
    return (await client.query<LatestRow>({ name: "latest_steps", text: LATEST, values })).rows;
  });
  return new Map(
    rows.map(({ account_id: id, seq, at, ...totals }) => [
      id,
      { ...totals, seq: Number(seq), at: Number(at) },
    ]),
  );
}
