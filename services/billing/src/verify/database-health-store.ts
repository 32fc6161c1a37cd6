// Whether the ledger's database answers, and whether it keeps what it has confirmed. A commit that a crash of the server or a
// fail-over takes back would undo a charge whose answer the client holds, or a hold whose request is upstream (crash point C12).
import type { Clock, Pool } from "@gr/runtime";

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

const KEPT_MS = 1_000;
const PATIENCE_MS = 2_000;

/**
 * Asked often, so an answer is kept for a moment and asked for once at a time.
 * @param ping rejects when the database does not answer.
 */
export function createReadiness(ping: () => Promise<void>, clock: Clock): () => Promise<true | string> {
  let asked: { readonly at: number; readonly answer: Promise<true | string> } | undefined;
  return () => {
    const now = clock.now();
    if (asked === undefined || now - asked.at >= KEPT_MS || now < asked.at) {
      asked = { at: now, answer: answerOf(ping()) };
    }
    return asked.answer;
  };
}

async function answerOf(pong: Promise<void>): Promise<true | string> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${PATIENCE_MS} ms`)), PATIENCE_MS);
  });
  try {
    await Promise.race([pong, patience]);
    return true;
  } catch (error) {
    return `PostgreSQL does not answer (${(error as Error).message})`;
  } finally {
    clearTimeout(timer);
  }
}
