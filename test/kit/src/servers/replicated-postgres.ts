// A PostgreSQL with a hot standby behind one address, both real, so that a test can lose the primary and promote the
// standby. Both end with the process that started them.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createStandby, startPostgres } from "@gr/embedded";
import pg from "pg";
import { until } from "../until.ts";
import { DatabaseAddress } from "./database-address.ts";

const STANDBY = "standby";
const SETTINGS = { wal_level: "replica", max_wal_senders: 4, wal_keep_size: "256MB" };
const PATIENCE = { timeoutMs: 60_000 };

export interface ReplicatedPostgres {
  /** Connects to the primary until a test changes it. */
  readonly address: DatabaseAddress;
  readonly primaryUrl: string;
  readonly standbyUrl: string;
  /** Waits until the standby has, and shows, all current data of the primary. */
  caughtUp(): Promise<void>;
  stopStandby(): Promise<void>;
  /** Starts the standby, which follows the primary if there is one. */
  startStandby(): Promise<void>;
  /** kill -9, then waits until all of its processes have ended. */
  killPrimary(): Promise<void>;
  /** Promotes the standby to a primary without standby. */
  promote(): Promise<void>;
  close(): Promise<void>;
}

/** @param synchronous a commit is confirmed only after the standby has it on disk, too. */
export async function startReplicatedPostgres({
  synchronous,
}: {
  synchronous: boolean;
}): Promise<ReplicatedPostgres> {
  const primaryDir = await mkdtemp(join(tmpdir(), "postgres-primary-"));
  const standbyDir = await mkdtemp(join(tmpdir(), "postgres-standby-"));
  const names = { synchronous_standby_names: synchronous ? STANDBY : "" };
  const startPrimary = () =>
    startPostgres({ dataDir: primaryDir, durable: true, settings: { ...SETTINGS, ...names } });
  const startFollower = () => startPostgres({ dataDir: standbyDir, durable: true, settings: SETTINGS });
  const first = await startPrimary();
  await first.stop();
  await createStandby({ primaryDir, dataDir: standbyDir, primaryUrl: first.url, name: STANDBY });
  const primary = await startPrimary();
  let standby = await startFollower();
  const address = await DatabaseAddress.to(primary.url);
  return {
    address,
    primaryUrl: primary.url,
    // The same at each start.
    standbyUrl: standby.url,
    caughtUp: async () => {
      const [{ now } = {}] = await ask(primary.url, "SELECT pg_current_wal_lsn()::text AS now");
      const shown = `SELECT 1 FROM pg_stat_replication WHERE replay_lsn >= '${now}'`;
      await until(async () => (await ask(primary.url, shown)).length === 1, PATIENCE);
    },
    stopStandby: () => standby.stop(),
    startStandby: async () => {
      standby = await startFollower();
    },
    killPrimary: async () => {
      process.kill(primary.pid, "SIGKILL");
      await primary.exited;
    },
    promote: async () => void (await ask(standby.url, "SELECT pg_promote()")),
    close: async () => {
      await address.close();
      await Promise.all([primary.stop(), standby.stop()]);
      await Promise.all(
        [primaryDir, standbyDir].map((folder) => rm(folder, { recursive: true, force: true })),
      );
    },
  };
}

async function ask(url: string, text: string): Promise<Record<string, string>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}
