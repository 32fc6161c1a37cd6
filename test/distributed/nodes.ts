// Nodes owns a coordinator and two workers of Citus on loopback, in a temporary folder. A worker that a test has killed is started again,
// with the same files and the same port.
import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, type PostgresServer, startPostgres } from "@gr/embedded";
import type { CitusPrograms } from "./citus.ts";

const NAMES = ["coordinator", "worker-1", "worker-2"] as const;

export interface Nodes {
  /** The coordinator first. */
  readonly urls: readonly string[];
  /** Process ids of the servers, by name. */
  pids(): readonly number[];
  stop(): Promise<void>;
}

/** @param workers 1 or 2 */
export async function startNodes(binaries: CitusPrograms, workers: number): Promise<Nodes> {
  const folder = await mkdtemp(join(tmpdir(), "distributed-"));
  const password = randomBytes(24).toString("base64url");
  const running = new Map<string, PostgresServer>();
  const restarts = new Set<Promise<void>>();
  let isStopping = false;

  const start = async (name: string, port: number): Promise<string> => {
    const server = await startPostgres({
      dataDir: join(folder, name),
      port,
      durable: true,
      binaries,
      settings: {
        shared_preload_libraries: "citus",
        wal_level: "logical",
        max_wal_senders: 20,
        max_replication_slots: 20,
        max_prepared_transactions: 200,
        max_connections: 300,
        max_worker_processes: 30,
        max_logical_replication_workers: 12,
        "citus.recover_2pc_interval": "5s",
      },
    });
    running.set(name, server);
    server.exited.then(() => {
      if (isStopping) return;
      const restart = start(name, port).then(() => undefined);
      restarts.add(restart);
      restart.finally(() => restarts.delete(restart));
    });
    return server.url;
  };

  const stop = async () => {
    isStopping = true;
    await Promise.allSettled(restarts);
    await Promise.allSettled(Array.from(running.values(), (server) => server.stop()));
    await rm(folder, { recursive: true, force: true });
  };

  try {
    const urls: string[] = [];
    for (const name of NAMES.slice(0, workers + 1)) {
      await mkdir(join(folder, name), { recursive: true });
      await writeFile(join(folder, name, "password"), `${password}\n`, { mode: 0o600 });
      urls.push(await start(name, await freePort()));
    }
    return { urls, pids: () => Array.from(running.values(), ({ pid }) => pid), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
