// Loop reports read the lines of `loop-probe.ts` for a period of time: the worst values of all processes of a router, and their
// memory in sum.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const PROBE = fileURLToPath(new URL("./loop-probe.ts", import.meta.url));

interface Line {
  /** Unix milliseconds. */
  readonly at: number;
  readonly delayMs: number;
  readonly turnMs: number;
  readonly bytes: number;
}

export interface LoopReport {
  /** Longest lateness of a timer. */
  readonly delayMs: number;
  /** Longest turn of a loop, in processor time of the main thread. */
  readonly turnMs: number;
  /** Sum of the resident memory of all processes: at the start, the most, and at the end. */
  readonly firstBytes: number;
  readonly mostBytes: number;
  readonly lastBytes: number;
}

/** Environment with which the processes of a router report to this folder. */
export const probeEnvironment = (folder: string) => ({
  NODE_OPTIONS: `--import=${PROBE}`,
  LOOP_PROBE_DIR: folder,
});

/** @param from Unix milliseconds, as `to`; each process has at least one line between them */
export async function readLoopReport(folder: string, from: number, to: number): Promise<LoopReport> {
  const files = await readdir(folder);
  const processes = await Promise.all(files.map((file) => readLines(join(folder, file), from, to)));
  const seen = processes.filter((lines) => lines.length > 0);
  const lines = seen.flat();
  const sum = (bytesOf: (lines: readonly Line[]) => number) =>
    seen.reduce((bytes, of) => bytes + bytesOf(of), 0);
  return {
    delayMs: Math.max(...lines.map(({ delayMs }) => delayMs)),
    turnMs: Math.max(...lines.map(({ turnMs }) => turnMs)),
    firstBytes: sum((of) => of[0]?.bytes ?? 0),
    mostBytes: sum((of) => Math.max(...of.map(({ bytes }) => bytes))),
    lastBytes: sum((of) => of.at(-1)?.bytes ?? 0),
  };
}

async function readLines(file: string, from: number, to: number): Promise<Line[]> {
  const text = await readFile(file, "utf8");
  const whole = text.slice(0, text.lastIndexOf("\n") + 1).trimEnd();
  if (whole === "") return [];
  const lines = whole.split("\n").map((line) => JSON.parse(line) as Line);
  return lines.filter(({ at }) => at >= from && at <= to);
}
