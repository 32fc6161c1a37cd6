// The SQL of jobs' progress, which clients can read in the log. No money depends on it.
import type { Pool } from "@gr/runtime";

export interface ProgressStore {
  save(id: string, percent: number): Promise<void>;
}

export function createProgressStore(pool: Pool): ProgressStore {
  return {
    save: async (id, percent) => {
      const sql = "UPDATE generation SET progress = $2 WHERE id = $1 AND finished_at IS NULL";
      await pool.query(sql, [id, percent]);
    },
  };
}
