// Runs the entry as a child and lives exactly as long as it. The child gets each stop once, and only from here:
// it has a process group of its own, so that a Ctrl-C, which a terminal sends to the whole group and npm passes on
// once more, cannot reach it three times and look like an impatient user.
// When the bootstrap is killed the child notices (follow-parent.mjs); when npm is killed the bootstrap does.
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { BIN, CACHE, ROOT } from "./layout.mjs";
import { exitCodeOf, onStopSignal } from "./stop-signals.mjs";

const SAME_STOP_MS = 500;
/** Settings of the C library's allocator: two heaps for the threads that make pictures; large blocks return to the system when they are freed. */
const ALLOCATOR = { MALLOC_ARENA_MAX: "2", MALLOC_MMAP_THRESHOLD_: "131072" };
const FOLLOW_PARENT = new URL("./follow-parent.mjs", import.meta.url).href;

/** Resolves with the exit code of the entry. */
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

/** npm, or the shell between npm and us, can be killed without a word to us; then our parent changes. */
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
