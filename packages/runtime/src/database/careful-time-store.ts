// Careful time is the time of deletions and of closed months. Neither has a way back, so one clock that is fast causes none.
import type { Pool } from "./postgres.ts";

const TIME = "SELECT least($1::bigint, (extract(epoch FROM now()) * 1000)::bigint) AS now";

/** @returns Unix milliseconds: the earlier one of `now` and the time of PostgreSQL */
export async function carefulTime(pool: Pool, now: number): Promise<number> {
  const { rows } = await pool.query<{ now: bigint }>(TIME, [Math.floor(now)]);
  return Number(rows[0]?.now ?? 0n);
}
