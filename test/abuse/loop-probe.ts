// Probe of an event loop, preloaded into each process of a router under attack. It appends one line every 250 ms to a file of
// its process: the longest delay of a timer, the longest turn of the loop, and the resident memory.
// A turn is measured in processor time of the main thread, so other processes of a busy machine do not lengthen it.
import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { isMainThread } from "node:worker_threads";

const TICK_MS = 2;
const REPORT_MS = 250;
const MICROS_PER_MS = 1_000;

const folder = process.env["LOOP_PROBE_DIR"];
if (folder !== undefined && isMainThread) watchLoop(join(folder, `${process.pid}.jsonl`));

function watchLoop(file: string): void {
  const out = createWriteStream(file, { flags: "a" });
  let [at, spent] = [performance.now(), spentMs()];
  let [longestDelay, longestTurn] = [0, 0];
  let reportedAt = at;
  const tick = () => {
    const [now, spentNow] = [performance.now(), spentMs()];
    longestDelay = Math.max(longestDelay, now - at - TICK_MS);
    longestTurn = Math.max(longestTurn, spentNow - spent);
    [at, spent] = [now, spentNow];
    if (now - reportedAt < REPORT_MS) return;
    const line = {
      at: Date.now(),
      delayMs: longestDelay,
      turnMs: longestTurn,
      bytes: process.memoryUsage.rss(),
    };
    out.write(`${JSON.stringify(line)}\n`);
    [longestDelay, longestTurn, reportedAt] = [0, 0, now];
  };
  setInterval(tick, TICK_MS).unref();
}

/** Milliseconds of processor time that the main thread has had. */
function spentMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / MICROS_PER_MS;
}
