// These tests prove the guarantees of the install lock, between real processes on a clone of their own.
import { spawn } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { until } from "@gr/testing";
import { afterEach, beforeEach, expect, test } from "@jest/globals";

const TIMEOUT = { timeoutMs: 60_000 };

let clone: string;
let log: string;

beforeEach(async () => {
  clone = await mkdtemp(join(tmpdir(), "install-lock-"));
  log = join(clone, "log");
  await cp(dirname(fileURLToPath(import.meta.url)), join(clone, "scripts", "bootstrap"), { recursive: true });
  await mkdir(join(clone, ".tools"));
  await writeFile(log, "");
});

afterEach(() => rm(clone, { recursive: true }));

/** Starts a process that acquires the lock and runs `work`. @returns the process, and a promise of its exit code */
function install(work: string) {
  const lock = pathToFileURL(join(clone, "scripts", "bootstrap", "install-lock.mjs")).href;
  const script = `
    import { appendFileSync } from "node:fs";
    import { setTimeout as sleep } from "node:timers/promises";
    import { recordInstaller, withInstallLock } from ${JSON.stringify(lock)};
    const say = (word) => appendFileSync(${JSON.stringify(log)}, word + "\\n");
    await withInstallLock(async () => { ${work} });`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script], { stdio: "ignore" });
  return { child, code: new Promise<number | null>((resolve) => child.once("exit", resolve)) };
}

const lines = async () => (await readFile(log, "utf8")).split("\n").filter(Boolean);

test("installs of several bootstraps never overlap, also when the lock was abandoned", async () => {
  await writeFile(join(clone, ".tools", "lock"), "999999999 1\n");
  const work = 'say("begin"); await sleep(100); say("end");';
  const codes = await Promise.all(Array.from({ length: 4 }, () => install(work).code));
  expect(codes).toEqual([0, 0, 0, 0]);
  expect((await lines()).join(" ")).toBe(Array(4).fill("begin end").join(" "));
});

test("the next bootstrap acquires the lock after kill -9 of its holder", async () => {
  const holder = install('say("first"); await sleep(60_000);');
  await until(async () => (await lines()).includes("first"), TIMEOUT);
  holder.child.kill("SIGKILL");
  await expect(install('say("second");').code).resolves.toBe(0);
  await expect(lines()).resolves.toEqual(["first", "second"]);
});

test("the next bootstrap waits for an installer that outlives its own", async () => {
  const installer = spawn("sleep", ["60"]);
  const gone = new Promise((resolve) => installer.once("exit", resolve));
  const holder = install(`recordInstaller(${installer.pid}); say("first"); await sleep(60_000);`);
  await until(async () => (await lines()).includes("first"), TIMEOUT);
  holder.child.kill("SIGKILL");
  const next = install('say("second");');
  await new Promise((resolve) => setTimeout(resolve, 800));
  await expect(lines()).resolves.toEqual(["first"]);
  installer.kill();
  await gone;
  await expect(next.code).resolves.toBe(0);
  await expect(lines()).resolves.toEqual(["first", "second"]);
});

test("a failed install releases the lock", async () => {
  await expect(install('throw new Error("no network");').code).resolves.toBe(1);
  await expect(install('say("next");').code).resolves.toBe(0);
});
