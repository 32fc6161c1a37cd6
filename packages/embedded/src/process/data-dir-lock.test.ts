// The guarantees of the data directory's lock, between real processes.
import { chmod, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { startChild } from "../test/child.ts";
import { lockDataDir } from "./data-dir-lock.ts";

let dir: string;
const lockInChild = () =>
  startChild(`await embedded.lockDataDir(${JSON.stringify(dir)}); console.log("held");`);

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "lock-test-"));
});

afterEach(() => rm(dir, { recursive: true }));

test("a second process is refused, and told who holds the directory", async () => {
  const holder = await lockInChild();
  await expect(lockDataDir(dir)).rejects.toThrow(
    `The data directory ${dir} is in use by process ${holder.pid}; stop it, or set DATA_DIR to another folder.`,
  );
  await holder.kill();
});

test("a second lock in the same process is refused too", async () => {
  const lock = await lockDataDir(dir);
  await expect(lockDataDir(dir)).rejects.toThrow(`in use by process ${process.pid}`);
  await lock.release();
});

test("kill -9 of the holder frees the directory", async () => {
  const holder = await lockInChild();
  await holder.kill();
  const lock = await lockDataDir(dir);
  await lock.release();
});

test("a directory that is made is its owner's: nobody else can list it", async () => {
  const created = join(dir, "data");
  const lock = await lockDataDir(created);
  expect((await stat(created)).mode & 0o066).toBe(0);
  await lock.release();
});

test("the files of the lock are their owner's, also in a directory that others may look into", async () => {
  await chmod(dir, 0o755);
  for (const left of ["lock", "lock.pid"]) await writeFile(join(dir, left), "", { mode: 0o644 });
  const lock = await lockDataDir(dir);
  const files = await readdir(dir);
  expect(files).toEqual(expect.arrayContaining(["lock", "lock.pid"]));
  for (const file of files) expect([file, (await stat(join(dir, file))).mode & 0o077]).toEqual([file, 0]);
  await lock.release();
});

test("a released directory can be locked again, and releasing twice does no harm", async () => {
  const first = await lockDataDir(dir);
  await first.release();
  const second = await lockDataDir(dir);
  await first.release();
  await expect(lockDataDir(dir)).rejects.toThrow("in use");
  await second.release();
});

test("of many that try at once exactly one gets the directory", async () => {
  const results = await Promise.allSettled(Array.from({ length: 8 }, () => lockDataDir(dir)));
  const locks = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  expect(locks).toHaveLength(1);
  await locks[0]?.release();
});

test.each([
  ["below a file", "/dev/null/data"],
  ["that is a file", "/dev/null"],
  // Node's recursive mkdir never returns for this folder.
  ["where no folder can be made", "/proc/generation-router/data"],
])("a directory %s is named in one sentence, with the setting", async (_name, path) => {
  await expect(lockDataDir(path)).rejects.toThrow(
    new RegExp(
      `^The data directory ${path} cannot be used: .*; set DATA_DIR to a folder that can be written\\.$`,
    ),
  );
});

test("a directory whose parents are missing is made with them", async () => {
  const lock = await lockDataDir(join(dir, "a", "b"));
  await lock.release();
});
