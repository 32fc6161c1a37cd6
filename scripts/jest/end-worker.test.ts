// A worker ends by itself once its work is done, and names the handle that keeps it alive.
import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "@jest/globals";

const END_WORKER = fileURLToPath(new URL("./end-worker.cjs", import.meta.url));
/** As jest's own worker: without its listener the channel is no reason to live. */
const WORKER = `
  process.on("message", function end() { process.off("message", end); });
  process.send("ready");
`;

let folder: string;
let leftOpen: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "end-worker-"));
  leftOpen = join(folder, "left-open");
});
afterAll(() => rm(folder, { recursive: true }));

/** @returns the exit code of a worker with this work */
async function ended(work: string): Promise<number> {
  const file = join(folder, "worker.cjs");
  await writeFile(file, WORKER + work);
  const env = { JEST_WORKER_ID: "1", LEFT_OPEN_FILE: leftOpen, WORKER_END_PATIENCE_MS: "100" };
  const child = fork(file, { execArgv: ["--require", END_WORKER], env });
  const exited = once(child, "exit");
  await once(child, "message");
  child.send([2, false]);
  const [code] = await exited;
  return code;
}

test("a worker without open handles ends and names nothing", async () => {
  expect(await ended("")).toBe(0);
  expect(existsSync(leftOpen)).toBe(false);
});

test("a worker with an open server is ended, and the server is named", async () => {
  expect(await ended('require("node:net").createServer().listen(0);')).toBe(0);
  expect(await readFile(leftOpen, "utf8")).toContain("TCPServerWrap");
});
