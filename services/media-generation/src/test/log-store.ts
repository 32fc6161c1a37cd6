// What tests ask of the database of the generation log beside the service.
import type pg from "pg";

/** The only row there is. */
export async function readRow(db: pg.Pool): Promise<Record<string, unknown>> {
  return (await db.query("SELECT * FROM generation")).rows[0];
}

/** What a killed process had asked of Postgres ends now, not whenever Postgres finds out that it is gone. */
export async function cutOtherConnections(db: pg.Client): Promise<void> {
  await db.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
  );
}
