// A PostgreSQL on a small disk of its own that a test can fill: a tmpfs in a private mount namespace, so that
// ENOSPC is the kernel's. Linux only. This file is also the process in the namespace; it restarts a dead
// server, like an operator.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startPostgres } from "@gr/embedded";
import { freePort } from "@gr/testing";

/** Size of the disk: an empty cluster has 60 MB, data and log the rest. */
const DISK = "160m";
const PIECE = Buffer.alloc(64 * 1024);
const AGAIN_MS = 200;
const SELF = fileURLToPath(import.meta.url);

type Command = "fill" | "empty";
type Reply = { readonly url: string } | { readonly did: Command };

export interface SmallDiskPostgres {
  readonly url: string;
  /** Fills the disk to its last byte. */
  fill(): Promise<void>;
  /** Frees the space again. */
  empty(): Promise<void>;
  close(): Promise<void>;
}

export async function startSmallDiskPostgres(): Promise<SmallDiskPostgres> {
  const folder = await mkdtemp(join(tmpdir(), "small-disk-"));
  // Without root, a user namespace grants the right to mount, under the same user name.
  const namespace = process.getuid?.() === 0 ? ["-m"] : ["-U", "-c", "-m", "--keep-caps"];
  const command = [...namespace, process.execPath, SELF, folder, String(await freePort())];
  const child = spawn("unshare", command, { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  const ended = once(child, "exit").then(() => {
    throw new Error("no small disk: this test needs Linux and the right to mount (unshare -m)");
  });
  // Only callers that wait for an answer need the error.
  ended.catch(() => undefined);
  const hear = async (): Promise<Reply> => {
    const [message] = await Promise.race([once(child, "message"), ended]);
    return message as Reply;
  };
  const started = await hear();
  if (!("url" in started)) throw new Error("the process on the small disk says something unexpected");
  const tell = async (what: Command) => {
    const heard = hear();
    child.send(what);
    await heard;
  };
  return {
    url: started.url,
    fill: () => tell("fill"),
    empty: () => tell("empty"),
    close: async () => {
      await end(child);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  await exited;
}

/** The process in the namespace. */
async function serve(folder: string, port: number): Promise<void> {
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${DISK},mode=0755`, "tmpfs", folder]);
  const start = () => startPostgres({ dataDir: join(folder, "data"), port, durable: true });
  const filler = join(folder, "filler");
  let server = await start();
  let stopping = false;
  const say = (what: Reply) => void process.send?.(what);
  process.on("message", (order: Command) => {
    const done = order === "fill" ? fill(filler) : rm(filler, { force: true });
    void done.then(() => say({ did: order }));
  });
  const stop = async () => {
    stopping = true;
    await server.stop();
    process.exit(0);
  };
  process.on("SIGTERM", () => void stop());
  process.on("disconnect", () => void stop());
  say({ url: server.url });
  while (!stopping) {
    await server.exited;
    while (!stopping) {
      const next = await start().catch(() => undefined);
      if (next !== undefined) {
        server = next;
        break;
      }
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }
}

async function fill(path: string): Promise<void> {
  const file = await open(path, "a");
  try {
    for (let size = PIECE.length; size > 0; ) {
      try {
        await file.write(PIECE, 0, size);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
        size = Math.floor(size / 2);
      }
    }
  } finally {
    await file.close();
  }
}

if (process.argv[1] === SELF) await serve(process.argv[2] ?? "", Number(process.argv[3]));
