// Statements of the tests of a distributed ledger: lost workers, and shards that move. On one PostgreSQL there is nothing to lose or move.
import type { Pool } from "@gr/runtime";
import { until } from "@gr/testing";
import type { Random } from "@gr/testing/random";
import { shardsOf } from "../../shards/shard-store.ts";

const WORKERS = `SELECT nodename AS host, nodeport AS port FROM pg_dist_node WHERE shouldhaveshards ORDER BY nodeport`;
/** The first line of the file is the process id of the server. */
const PIDS = `SELECT nodeport AS port, result::int AS pid FROM run_command_on_workers($$SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)$$)
  WHERE success ORDER BY nodeport`;
const PLACES = `SELECT shardid::int AS shard, nodename AS host, nodeport AS port FROM citus_shards
  WHERE table_name = 'step'::regclass ORDER BY shardid`;

const PATIENCE = { timeoutMs: 120_000, pauseMs: 500 };

interface Address {
  readonly host: string;
  readonly port: number;
}

/** Kills the server of a worker. `npm run test:distributed` starts it again. @returns whether there was one */
export async function killWorker(pool: Pool, random: Random): Promise<boolean> {
  if (!(await shardsOf(pool)).isDistributed) return false;
  const { rows } = await pool.query<{ pid: number }>(PIDS);
  if (rows.length === 0) return false;
  process.kill(random.pick(rows).pid, "SIGKILL");
  return true;
}

/** Moves a shard, with the rows of all tables in it, to another worker. @returns whether it has moved */
export async function moveShard(pool: Pool, which: number): Promise<boolean> {
  if (!(await shardsOf(pool)).isDistributed) return false;
  await untilDone(async () => {
    const { rows: places } = await pool.query<Address & { shard: number }>(PLACES);
    const { rows: workers } = await pool.query<Address>(WORKERS);
    const place = places[which % places.length];
    const target = workers.find(({ port }) => port !== place?.port);
    if (place === undefined || target === undefined) throw new Error("A shard has no other worker.");
    const { shard, host, port } = place;
    const values = [shard, host, port, target.host, target.port];
    await patiently(pool, "SELECT citus_move_shard_placement($1, $2, $3, $4, $5, 'force_logical')", values);
  });
  return true;
}

/** Moves shards until all workers have as many. */
export async function rebalance(pool: Pool): Promise<void> {
  const text = "SELECT rebalance_table_shards('step'::regclass, shard_transfer_mode => 'force_logical')";
  if ((await shardsOf(pool)).isDistributed) await untilDone(() => patiently(pool, text, []));
}

/** Transactions of which a worker waits for the second phase, and prepared ones of the coordinator's records. */
export async function secondPhases(pool: Pool): Promise<number> {
  if (!(await shardsOf(pool)).isDistributed) return 0;
  const { rows } = await pool.query<{ count: number }>(
    "SELECT count(*)::int AS count FROM pg_dist_transaction",
  );
  return rows[0]?.count ?? -1;
}

/** Citus moves no shard while a killed worker starts, nor over a connection of the killed one. */
async function untilDone(work: () => Promise<void>): Promise<void> {
  await until(async () => {
    await work();
    return true;
  }, PATIENCE);
}

async function patiently(pool: Pool, text: string, values: unknown[]): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("SET statement_timeout = 0; SET lock_timeout = 0");
    await client.query({ text, values, query_timeout: 600_000 } as { text: string; values: unknown[] });
  } finally {
    client.release(true);
  }
}
