// These tests show the life and the end of an entry under the bootstrap, with real processes and real signals.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "@gr/testing";
import { afterEach, beforeEach, expect, test } from "@jest/globals";

const RUN_ENTRY = new URL("./run-entry.mjs", import.meta.url).href;
const TIMEOUT = { timeoutMs: 60_000 };

/** Program that counts its stops and ends a moment after the first, like a server that drains. */
const SERVER = `
  let stops = 0;
  for (const signal of ["SIGINT", "SIGTERM"]) {
    process.on(signal, () => {
      stops += 1;
      if (stops === 1) setTimeout(() => { console.log("stops: " + stops); process.exit(7); }, 300);
    });
  }
  setInterval(() => undefined, 60_000);
  console.log("entry " + process.pid);
`;

let folder: string;
let running: ChildProcess[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "run-entry-"));
  running = [];
});

afterEach(async () => {
  for (const child of running) child.kill("SIGKILL");
  await rm(folder, { recursive: true });
});

/** Runs `source` as the bootstrap does, in a process group of its own as a shell would. Resolves when the bootstrap handles signals. */
async function start(source: string, env: NodeJS.ProcessEnv = {}) {
  const entry = join(folder, "entry.mjs");
  await writeFile(entry, source);
  const script = `
    import { runEntry } from ${JSON.stringify(RUN_ENTRY)};
    const code = runEntry(process.execPath, ${JSON.stringify(entry)}, ["an argument"]);
    process.send("handles signals");
    process.exit(await code);`;
  const args = ["--input-type=module", "--eval", script];
  const child = spawn(process.execPath, args, {
    detached: true,
    stdio: ["ignore", "pipe", "inherit", "ipc"],
    env: { ...process.env, npm_lifecycle_event: undefined, ...env },
  });
  running.push(child);
  const bootstrap = { pid: child.pid ?? 0, output: "", code: undefined as number | null | undefined };
  child.stdout?.on("data", (chunk) => {
    bootstrap.output += chunk;
  });
  child.once("exit", (code) => {
    bootstrap.code = code;
  });
  await once(child, "message");
  return bootstrap;
}

function entryPid(output: string): number {
  return Number(/entry (\d+)/.exec(output)?.[1] ?? 0);
}

test("arguments go in, the exit code comes out", async () => {
  const bootstrap = await start("console.log(process.argv[2]); process.exit(3);");
  await until(() => bootstrap.code !== undefined, TIMEOUT);
  expect(bootstrap).toMatchObject({ code: 3, output: "an argument\n" });
});

test("the entry has the allocator's settings of the image", async () => {
  const dockerfile = await readFile(new URL("../../Dockerfile", import.meta.url), "utf8");
  const ofImage = Array.from(dockerfile.matchAll(/^ENV (MALLOC_\w+=\w+)$/gm), ([, setting]) => setting);
  const env = { MALLOC_ARENA_MAX: undefined, MALLOC_MMAP_THRESHOLD_: undefined };
  const print = `for (const [name, value] of Object.entries(process.env)) if (name.startsWith("MALLOC_")) console.log(name + "=" + value)`;
  const bootstrap = await start(print, env);
  await until(() => bootstrap.code !== undefined, TIMEOUT);
  expect(bootstrap.output.trim().split("\n").sort()).toEqual(ofImage.sort());
  expect(ofImage).toHaveLength(2);
});

test("an entry that a signal ended has the exit code of a shell", async () => {
  const bootstrap = await start('process.kill(process.pid, "SIGKILL");');
  await until(() => bootstrap.code !== undefined, TIMEOUT);
  expect(bootstrap.code).toBe(128 + 9);
});

test("an entry with nothing left to do ends", async () => {
  const bootstrap = await start("");
  await until(() => bootstrap.code !== undefined, TIMEOUT);
  expect(bootstrap.code).toBe(0);
});

test("Ctrl-C, which everyone in the terminal gets and npm passes on, is one stop for the entry", async () => {
  const bootstrap = await start(SERVER);
  await until(() => entryPid(bootstrap.output) > 0, TIMEOUT);
  process.kill(-bootstrap.pid, "SIGINT");
  process.kill(bootstrap.pid, "SIGINT");
  await until(() => bootstrap.code !== undefined, TIMEOUT);
  expect(bootstrap.code).toBe(7);
  expect(bootstrap.output).toContain("stops: 1\n");
});

test("SIGTERM waits for the entry to finish", async () => {
  const bootstrap = await start(SERVER);
  await until(() => entryPid(bootstrap.output) > 0, TIMEOUT);
  process.kill(bootstrap.pid, "SIGTERM");
  await until(() => bootstrap.code !== undefined, TIMEOUT);
  expect(bootstrap.code).toBe(7);
});

test("kill -9 of the bootstrap stops the entry in its usual way", async () => {
  const bootstrap = await start(SERVER);
  await until(() => entryPid(bootstrap.output) > 0, TIMEOUT);
  process.kill(bootstrap.pid, "SIGKILL");
  await until(() => bootstrap.output.includes("stops: 1"), TIMEOUT);
});

test("a process that an entry forks keeps its own channel", async () => {
  const forked = join(folder, "forked.mjs");
  await writeFile(forked, 'process.on("message", (text) => { console.log(text); process.disconnect(); });');
  const bootstrap = await start(`
    import { fork } from "node:child_process";
    const child = fork(${JSON.stringify(forked)});
    child.once("spawn", () => setTimeout(() => child.send("hello"), 200));`);
  await until(() => bootstrap.code !== undefined, TIMEOUT);
  expect(bootstrap).toMatchObject({ code: 0, output: "hello\n" });
});
