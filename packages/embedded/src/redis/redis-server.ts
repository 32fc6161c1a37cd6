// An embedded Redis is private: on loopback, behind a password. Its data is kept only if the configuration demands it.
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { EmbeddedError } from "../process/embedded-error.ts";
import { freePort } from "../process/free-port.ts";
import { type GuardedProcess, startGuarded } from "../process/guarded-process.ts";
import { type RedisProgram, unpackRedis } from "./redis-packages.ts";

const START_TIMEOUT_MS = 30_000;
const PORT_ATTEMPTS = 5;

export interface RedisOptions {
  /** Folder for unpacking Redis if it is not installed. */
  readonly cacheDir: string;
  /** Working folder; a temporary one by default. */
  readonly dataDir?: string;
  /** On 127.0.0.1; a free one by default. */
  readonly port?: number;
  /** Letters, digits, `-` and `_`; a new one by default. */
  readonly password?: string;
  /** Lines of redis.conf, for example `{ appendonly: "yes" }`. */
  readonly config?: Readonly<Record<string, string>>;
}

export interface RedisServer {
  /** With password. */
  readonly url: string;
  readonly pid: number;
  /** Resolves when the server has ended, for any reason. */
  readonly exited: Promise<void>;
  stop(): Promise<void>;
}

/** @throws EmbeddedError when Redis is missing (names the command that installs it) or does not start. */
export async function startRedis(options: RedisOptions): Promise<RedisServer> {
  const program = installedRedis() ?? (await unpackRedis(options.cacheDir));
  for (let attempt = 1; ; attempt += 1) {
    const port = options.port ?? (await freePort());
    const password = options.password ?? randomBytes(24).toString("base64url");
    try {
      const { pid, exited, stop } = await launch(program, port, password, options);
      return { url: `redis://:${password}@127.0.0.1:${port}`, pid, exited, stop };
    } catch (error) {
      // Another process bound the port after it was found free.
      const isPortInUse = error instanceof EmbeddedError && /bind|Address already in use/.test(error.message);
      if (!isPortInUse || options.port !== undefined || attempt === PORT_ATTEMPTS) throw error;
    }
  }
}

function installedRedis(): RedisProgram | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const programs = ["redis-server", "valkey-server"].flatMap((name) => folders.map((dir) => join(dir, name)));
  const binary = programs.find((path) => existsSync(path));
  return binary === undefined ? undefined : { binary, libraries: undefined };
}

async function launch(
  { binary, libraries }: RedisProgram,
  port: number,
  password: string,
  options: RedisOptions,
): Promise<GuardedProcess> {
  const scratch = await mkdtemp(join(tmpdir(), "redis-"));
  try {
    const dir = options.dataDir === undefined ? scratch : resolve(options.dataDir);
    await mkdir(dir, { recursive: true });
    const settings = {
      bind: "127.0.0.1",
      port: String(port),
      dir: `"${dir}"`,
      save: '""',
      appendonly: "no",
      ...options.config,
      // In a file: every user of the machine can read command lines.
      requirepass: password,
    };
    const lines = Object.entries(settings).map(([name, value]) => `${name} ${value}\n`);
    const file = join(scratch, "redis.conf");
    await writeFile(file, lines.join(""), { mode: 0o600 });
    const search = libraries === undefined ? {} : { LD_LIBRARY_PATH: libraries };
    return await startGuarded(
      {
        title: "Redis",
        command: [binary, file],
        env: { PATH: process.env["PATH"] ?? "", ...search },
        stopSignal: "TERM",
        lastSignal: "SIGKILL",
        scratch,
      },
      { text: /Ready to accept connections/, timeoutMs: START_TIMEOUT_MS, explain: reasonIn },
    );
  } catch (error) {
    await rm(scratch, { recursive: true, force: true });
    throw error;
  }
}

function reasonIn(output: string): string {
  const lines = output.trim().split("\n");
  const line = lines.findLast((text) => /FATAL|error|bind|Can't/i.test(text)) ?? lines.at(-1) ?? "";
  return line.replace(/^\d+:\S+ .*? [#*.-] /, "") || "without a reason";
}
