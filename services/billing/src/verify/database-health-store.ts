// Whether the ledger's database keeps what it has confirmed. A commit that a crash of the server or a
// fail-over takes back would undo a charge whose answer the client holds, or a hold whose request is upstream (crash point C12).
import type { Pool } from "@gr/runtime";

/**
 * Off forgets in a crash. With a standby, what only the primary has on disk is lost in a fail-over: that is what `local`
 * and `remote_write` confirm, and whatever is confirmed to a primary that waits for no standby.
 */
const UNSAFE = `SELECT name FROM pg_settings
  WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off'
     OR name = 'synchronous_commit' AND setting IN ('local', 'remote_write')
        AND current_setting('synchronous_standby_names') <> ''
     OR name = 'synchronous_standby_names' AND setting = '' AND EXISTS (SELECT FROM pg_stat_replication)
  ORDER BY name`;

/** Settings with which the server may lose what it has confirmed, as this pool's sessions have them. */
export async function unsafeSettings(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(UNSAFE);
  return rows.map(({ name }) => name);
}
