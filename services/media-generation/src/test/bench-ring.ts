// BenchRing is the base of this service's benches: media processes on a PostgreSQL of their own,
// and measurements of their memory.
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPostgres } from "@gr/embedded";
import { CrashRing } from "./crash-ring.ts";

export interface BenchRing {
  readonly ring: CrashRing;
  stop(): Promise<void>;
}

/** @param env of all media processes */
export async function benchRing(env: Readonly<Record<string, string>> = {}): Promise<BenchRing> {
  const dataDir = await mkdtemp(join(tmpdir(), "media-bench-"));
  const postgres = await startPostgres({ dataDir, durable: false, temporary: true });
  process.env["TEST_POSTGRES_URL"] = postgres.url;
  const ring = await CrashRing.start(env);
  return {
    ring,
    stop: async () => {
      await ring.stop();
      await postgres.stop();
    },
  };
}

/** Resident memory of a process, now or at its peak, in MB; Linux only. */
export async function memoryOf(pid: number, when: "now" | "peak"): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const line = new RegExp(`${when === "now" ? "VmRSS" : "VmHWM"}:\\s+(\\d+) kB`).exec(status);
  return Math.round(Number(line?.[1] ?? 0) / 1024);
}
