// An embedded PostgreSQL has real binaries, one folder, and one server at a time on that folder.
// Committed data survives restarts and kill -9, and the server never outlives the process that started it.
import { mkdir, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { lockDataDir } from "../process/data-dir-lock.ts";
import { EmbeddedError } from "../process/embedded-error.ts";
import { type GuardedProcess, startGuarded } from "../process/guarded-process.ts";
import { findPostgres, type PostgresBinaries } from "./postgres-binaries.ts";
import { type Cluster, openCluster, reasonIn } from "./postgres-cluster.ts";
import { endPreviousServer } from "./postmaster.ts";
import { assignOwner, chooseAccount, type ServerAccount } from "./server-account.ts";

const START_TIMEOUT_MS = 60_000;
const ORPHANS_TIMEOUT_MS = 10_000;
const SOCKET_PORT = 5432;
/** sun_path holds 104 bytes on macOS, 108 on Linux, the final zero included. */
const SOCKET_PATH_MAX = 103;

export interface PostgresOptions {
  /** Folder of the data; created if absent, locked while the server runs. */
  readonly dataDir: string;
  /** Also listen on this port of 127.0.0.1; else on a Unix socket alone. */
  readonly port?: number;
  /** False: fast, but unsafe against crashes of the machine; only for tests. */
  readonly durable: boolean;
  /** Remove `dataDir` when the server has ended, however it ends. */
  readonly temporary?: boolean;
  /** Settings of PostgreSQL that differ from ours. */
  readonly settings?: Readonly<Record<string, string | number>>;
  /** Programs of another PostgreSQL; absent: those of the registry package. */
  readonly binaries?: PostgresBinaries;
}

export interface PostgresServer {
  /** With password, for the database `postgres`. */
  readonly url: string;
  readonly pid: number;
  /** Resolves when the server has ended, for any reason. */
  readonly exited: Promise<void>;
  /** Fast shutdown: sessions end, everything committed is on disk. */
  stop(): Promise<void>;
}

/** @throws EmbeddedError when the folder is in use, the binaries are missing, or the server does not start. */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const { postgres } = options.binaries ?? findPostgres();
  const account = await chooseAccount(postgres);
  return await startPostgresAs(account, options);
}

/** Starts a server as `startPostgres` does, under this account. */
export async function startPostgresAs(
  account: ServerAccount,
  options: PostgresOptions,
): Promise<PostgresServer> {
  const dataDir = resolve(options.dataDir);
  const lock = await lockDataDir(dataDir);
  try {
    const { initdb, postgres } = options.binaries ?? findPostgres();
    const cluster = await openCluster(dataDir, initdb, account, options.durable);
    const previous = await endPreviousServer(cluster.folder);
    const sockets = await socketFolder(cluster.folder, account);
    const server = await launch(cluster, postgres, account, sockets, previous, { ...options, dataDir });
    const exited = server.exited.then(() => lock.release());
    return {
      url: urlOf(cluster, sockets, options.port),
      pid: server.pid,
      exited,
      stop: async () => {
        await server.stop();
        await exited;
      },
    };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/**
 * Returns the folder of the Unix socket. A socket in the cluster is the safest and fastest address, because only the
 * owner can enter the folder. Nothing listens on the network, and no process can bind a chosen port first. The password
 * is required nevertheless: a cluster with a too long path has its socket in a temporary folder, and an opened port is
 * reachable for every user of the machine.
 */
async function socketFolder(cluster: string, account: ServerAccount): Promise<string> {
  if (Buffer.byteLength(join(cluster, `.s.PGSQL.${SOCKET_PORT}`)) <= SOCKET_PATH_MAX) return cluster;
  const earlier = socketFolders.get(cluster);
  const folder =
    earlier !== undefined && (await recreate(earlier)) ? earlier : await mkdtemp(join(tmpdir(), "postgres-"));
  socketFolders.set(cluster, folder);
  await assignOwner(folder, account);
  return folder;
}

/** Temporary folders by cluster: a restarted server has the same address for its clients. */
const socketFolders = new Map<string, string>();

/** Returns false if another user owns the name, which is free between two servers. */
async function recreate(folder: string): Promise<boolean> {
  try {
    await mkdir(folder, { mode: 0o700 });
    return true;
  } catch {
    return false;
  }
}

function urlOf({ password }: Cluster, sockets: string, port: number | undefined): string {
  const login = `postgres://postgres:${password}`;
  if (port !== undefined) return `${login}@127.0.0.1:${port}/postgres`;
  return `${login}@localhost:${SOCKET_PORT}/postgres?host=${encodeURIComponent(sockets)}`;
}

async function launch(
  cluster: Cluster,
  postgres: string,
  account: ServerAccount,
  sockets: string,
  ignoredPid: number | undefined,
  options: PostgresOptions,
): Promise<GuardedProcess> {
  const settings = Object.entries(settingsOf(options, sockets)).flatMap(([name, value]) => [
    "-c",
    `${name}=${value}`,
  ]);
  const guarded = {
    title: "PostgreSQL",
    command: [...account.prefix, postgres, "-D", cluster.folder, ...settings],
    env: {
      PATH: process.env["PATH"] ?? "",
      LC_ALL: "C",
      ...(ignoredPid === undefined ? {} : { PG_GRANDPARENT_PID: String(ignoredPid) }),
    },
    user: account.user,
    stopSignal: "INT",
    // Our clients hold their connections permanently, so such a server would refuse all others for that time.
    lingers: /received smart shutdown request/,
    lastSignal: "SIGQUIT",
    scratch: options.temporary === true ? options.dataDir : undefined,
    sockets: sockets === cluster.folder ? undefined : sockets,
  } as const;
  const ready = {
    text: /database system is ready to accept (read-only )?connections/,
    timeoutMs: START_TIMEOUT_MS,
    explain: reasonIn,
  };
  const deadline = Date.now() + ORPHANS_TIMEOUT_MS;
  for (;;) {
    try {
      return await startGuarded(guarded, ready);
    } catch (error) {
      // Backends of a server that was killed end by themselves, but not at once.
      const orphans = error instanceof EmbeddedError && /pre-existing shared memory/.test(error.message);
      if (!orphans || Date.now() > deadline) throw error;
      await sleep(100);
    }
  }
}

function settingsOf(
  { durable, port, settings }: PostgresOptions,
  sockets: string,
): Record<string, string | number> {
  return {
    port: port ?? SOCKET_PORT,
    listen_addresses: port === undefined ? "" : "127.0.0.1",
    // A list: quoted, a comma in the path separates nothing.
    unix_socket_directories: `"${sockets.replaceAll('"', '""')}"`,
    shared_buffers: "128MB",
    max_connections: durable ? 200 : 400,
    max_wal_size: "512MB",
    checkpoint_timeout: "15min",
    // There is no standby, and no archive.
    wal_level: "minimal",
    max_wal_senders: 0,
    // Compiling pays for long analytic queries; ours are short.
    jit: "off",
    timezone: "UTC",
    log_timezone: "UTC",
    log_checkpoints: "off",
    logging_collector: "off",
    ...(durable ? {} : { fsync: "off", synchronous_commit: "off", full_page_writes: "off" }),
    ...settings,
  };
}
