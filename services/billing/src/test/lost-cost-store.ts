// What the books say that requests cost us which nobody was charged for.
import type pg from "pg";

/** Pico, of these accounts together. */
export async function lostCost(db: pg.Pool, accountIds: readonly string[]): Promise<bigint> {
  const { rows } = await db.query<{ lost: string }>(
    "SELECT coalesce(sum(cost), 0)::text AS lost FROM entry WHERE kind <> 'charge' AND account_id = ANY ($1)",
    [accountIds],
  );
  return BigInt(rows[0]?.lost ?? -1);
}
