// Whether PostgreSQL keeps what it has confirmed. A commit that a crash of the server takes back would undo a charge whose
// answer the client holds, or a hold whose request is upstream (crash point C12).
import type { Pool } from "@gr/runtime";

const UNSAFE = `SELECT name FROM pg_settings
  WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off' ORDER BY name`;

/** Settings with which the server may lose what it has confirmed, as this pool's sessions have them. */
export async function unsafeSettings(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(UNSAFE);
  return rows.map(({ name }) => name);
}
