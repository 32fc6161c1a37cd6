// Seal invariants own the proof of the seals: each hash is that of its facts and of the seal before, and the chain continues at the step
// that the latest seal names. The proof of everything also computes each seal again from its steps.
import type { PoolClient } from "@gr/runtime";
import { SEAL_HASH } from "../seals/seal-format-store.ts";
import { type Chain, foldMonth, listSeals, type Seal } from "../seals/seal-store.ts";
import type { Difference } from "./ledger-report.ts";
import { BASE, OWN, STEP } from "./open-part-store.ts";

export const SEAL_CHECKS: Readonly<Record<string, string>> = {
  "seals have the hash of their facts": `SELECT account_id, last_seq AS seq FROM seal WHERE ${OWN} AND hash IS DISTINCT FROM ${SEAL_HASH}`,
  "seals follow the seal before": `SELECT account_id, last_seq AS seq FROM (
    SELECT account_id, first_seq, last_seq, previous_hash, lag(hash) OVER w AS hash0, lag(last_seq, 1, 0::bigint) OVER w AS last_seq0
      FROM seal WHERE ${OWN} WINDOW w AS (PARTITION BY bucket, account_id ORDER BY ends_at)) x
    WHERE previous_hash IS DISTINCT FROM hash0 OR first_seq <> last_seq0 + 1`,
  "the last step of a sealed month is that of its seal": `SELECT b.account_id, b.last_seq AS seq FROM ${BASE} b
    LEFT JOIN LATERAL (SELECT * FROM step t WHERE t.bucket = b.bucket AND t.account_id = b.account_id AND t.seq = b.last_seq OFFSET 0) s ON true
    WHERE (b.last_at, b.credited, b.debited, b.held) IS DISTINCT FROM (s.at, s.credited, s.debited, s.held)
    UNION ALL
    SELECT account_id, max(last_seq) FROM seal z WHERE ${OWN} AND NOT EXISTS (SELECT FROM own o WHERE o.account_id = z.account_id) GROUP BY 1`,
  "no step is older than the seal before it": `SELECT account_id, seq FROM ${STEP} s WHERE at < sealed_until`,
};

/** Computes each seal of an account again. */
export async function findSealDifferences(client: PoolClient, chain: Chain): Promise<Difference[]> {
  const differences: Difference[] = [];
  let before: Seal | undefined;
  for (;;) {
    const seals = await listSeals(client, chain, before?.endsAt ?? 0n);
    for (const seal of seals) {
      const found = await foldMonth(client, chain, before, seal);
      if (found === undefined || !isSame(found, seal)) {
        differences.push({
          invariant: "sealed steps are those of their seal",
          subject: `account ${chain.accountId}, steps ${seal.firstSeq} to ${seal.lastSeq}`,
          expected: seal.hash.toString("hex"),
          actual: found?.hash.toString("hex") ?? "steps are missing",
        });
      }
      before = seal;
    }
    if (seals.length === 0) return differences;
  }
}

/** The content is compared by its hash: a later PostgreSQL could write another space into its text. */
function isSame(found: Seal, stored: Seal): boolean {
  return found.hash.equals(stored.hash);
}
