// Reads the generation log as an operator would.
import type pg from "pg";

/** The only row there is. */
export async function readRow(db: pg.Pool): Promise<Record<string, unknown>> {
  return (await db.query("SELECT * FROM generation")).rows[0];
}
