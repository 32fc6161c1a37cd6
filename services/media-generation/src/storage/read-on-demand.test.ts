// Bytes are read only on demand, and they equal the file's bytes.
import { appendFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { until } from "@gr/testing";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { readOnDemand } from "./read-on-demand.ts";

const PATIENCE = { timeoutMs: 60_000 };

let folder: string;
let path: string;
let bytes: Buffer;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "read-on-demand-"));
  path = join(folder, "file");
  bytes = Buffer.from(Uint32Array.from({ length: 60_000 }, (_, index) => index * 2_654_435_761).buffer);
  await writeFile(path, bytes);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("a file is read whole, and any part of it", async () => {
  expect((await buffer(readOnDemand(path))).equals(bytes)).toBe(true);
  const parts = [
    [0, 0],
    [0, bytes.length - 1],
    [65_535, 65_536],
    [70_000, 200_000],
    [bytes.length - 1, bytes.length - 1],
  ] as const;
  for (const [start, end] of parts) {
    const part = await buffer(readOnDemand(path, { start, end }));
    expect(part.equals(bytes.subarray(start, end + 1))).toBe(true);
  }
});

test("of a file that is not there, the stream fails", async () => {
  await expect(buffer(readOnDemand(join(folder, "nothing")))).rejects.toMatchObject({ code: "ENOENT" });
});

test("for somebody who takes nothing, one chunk is read and the file is closed when he has left", async () => {
  const growing = join(folder, "growing");
  await writeFile(growing, bytes.subarray(0, 65_536));
  const received: Buffer[] = [];
  let released: () => void = () => undefined;
  const client = new Writable({
    highWaterMark: 1,
    write(chunk: Buffer, _, done) {
      received.push(chunk);
      released = done;
    },
  });
  const file = readOnDemand(growing);
  file.pipe(client);
  await until(() => received.length === 1, PATIENCE);
  // A reader that had read ahead to the end would not see these later bytes.
  await appendFile(growing, bytes.subarray(65_536));
  while (Buffer.concat(received).length < bytes.length) {
    const before = received.length;
    released();
    await until(() => received.length > before, PATIENCE);
  }
  expect(Buffer.concat(received).equals(await readFile(growing))).toBe(true);
  file.destroy();
  await until(() => file.closed, PATIENCE);
});
