// The memory of a gateway in a container of deploy/base: crowds that read nothing do not end the process.
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { get, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { type LimitedProcess, startLimited } from "@gr/testing/limited-process";
import { afterAll, beforeAll, expect, test } from "@jest/globals";

const MIB = 1024 * 1024;
const LIMIT = 512 * MIB;
const ENTRY = fileURLToPath(new URL("./test/limited-gateway.ts", import.meta.url));
/** Most connections of one public address. */
const READERS = 500;
const FILE_BYTES = 24 * MIB;

let dir: string;
let limited: LimitedProcess;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "console-build-"));
  await mkdir(join(dir, "assets"));
  await writeFile(join(dir, "index.html"), "<p>page</p>");
  await writeFile(join(dir, "assets/app-1.js"), Buffer.alloc(FILE_BYTES, " "));
  limited = await startLimited({ file: ENTRY, env: { CONSOLE_DIR: dir }, limitBytes: LIMIT });
});
afterAll(async () => {
  await limited?.stop();
  await rm(dir, { recursive: true });
});

/** Sends a request, and reads nothing of its answer. */
async function ask(path: string): Promise<Socket> {
  const { hostname, port } = new URL(limited.url);
  const socket = connect(Number(port), hostname).pause();
  socket.on("error", () => socket.destroy());
  await once(socket, "connect");
  socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`.repeat(8));
  return socket;
}

/** Returns the bytes that a reading client receives, on a connection of its own. */
async function bytesOf(path: string): Promise<number> {
  const [answer] = (await once(get(`${limited.url}${path}`, { agent: false }), "response")) as [
    IncomingMessage,
  ];
  return (await buffer(answer)).length;
}

test.each(["/docs/scalar.js", "/openapi.json", "/assets/app-1.js"])(
  "500 connections that ask eight times for %s and read nothing end no process",
  async (path) => {
    const sockets = await Promise.all(Array.from({ length: READERS }, () => ask(path)));
    // The victim's answers follow once the gateway has filled the buffers of all these sockets.
    for (let count = 0; count < 20; count += 1) expect(await bytesOf("/openapi.json")).toBeGreaterThan(1_000);
    for (const socket of sockets) socket.destroy();
    expect(limited.alive()).toBe(true);
    // Only where no control group enforces the limit.
    expect(limited.peak()).toBeLessThan(LIMIT);
  },
);
