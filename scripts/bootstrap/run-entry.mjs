// The bootstrap runs the entry as a child and ends with it. The child gets each stop once, and only from this file. A terminal
// sends Ctrl-C to its whole process group, and npm passes it on. The child has a group of its own, so it does not receive Ctrl-C
// three times, as from an impatient user. A child notices that its bootstrap is killed (follow-parent.mjs), and the bootstrap
// notices that npm is killed.
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { BIN, CACHE, ROOT } from "./layout.mjs";
import { exitCodeOf, onStopSignal } from "./stop-signals.mjs";

const SAME_STOP_MS = 500;
/**
 * Settings of the C library's allocator. The threads that draw and convert pictures share two heaps, and large blocks return to
 * the system when they are freed.
 */
const ALLOCATOR = { MALLOC_ARENA_MAX: "2", MALLOC_MMAP_THRESHOLD_: "131072" };
const FOLLOW_PARENT = new URL("./follow-parent.mjs", import.meta.url).href;

/** Runs the entry to its end. Resolves with its exit code. */
export function runEntry(node, file, args) {
  const child = spawn(node, ["--import", FOLLOW_PARENT, file, ...args], {
    cwd: ROOT,
    env: entryEnv(node),
    stdio: ["inherit", "inherit", "inherit", "ipc"],
    detached: true,
  });
  let lastStop = { signal: "", at: 0 };
  const stop = (signal) => {
    const repeated = signal === lastStop.signal && performance.now() - lastStop.at < SAME_STOP_MS;
    lastStop = { signal, at: performance.now() };
    if (!repeated) child.kill(signal);
  };
  onStopSignal(stop);
  if (process.env.npm_lifecycle_event) onParentExit(() => stop("SIGTERM"));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => resolve(code ?? exitCodeOf(signal)));
  });
}

/** Calls `handle` when the parent process changes: after kill -9 of npm, or of the shell between npm and the bootstrap. */
function onParentExit(handle) {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    handle();
  }, 500);
  timer.unref();
}

function entryEnv(node) {
  const compileCache = path.join(CACHE, "compile-cache");
  mkdirSync(compileCache, { recursive: true });
  const PATH = [path.dirname(node), BIN, process.env.PATH ?? ""].join(path.delimiter);
  return { NODE_COMPILE_CACHE: compileCache, ...ALLOCATOR, ...process.env, PATH };
}
