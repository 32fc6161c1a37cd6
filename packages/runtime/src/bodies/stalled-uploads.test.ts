// Guarantees of stalled uploads: stopped or slow ones are cut, but none that is slow because of this process.
import { type AddressInfo, connect } from "node:net";
import { afterEach, expect, test } from "@jest/globals";
import type { FastifyInstance } from "fastify";
import { closeHttpApp, createHttpApp } from "../http/http-app.ts";
import { createLogger } from "../process/logger.ts";

const STALL_MS = 200;
/** Stall time of the patient tests: each byte arrives in time, and the whole upload lasts longer. */
const PATIENT_STALL_MS = 1_500;
const TRICKLE_MS = 50;
let app: FastifyInstance;
afterEach(() => closeHttpApp(app, 0));

/** @param readAfterMs time for which the body stays unread */
async function start(bytesPerSecond: number, readAfterMs = 0, stallMs = STALL_MS): Promise<void> {
  const uploads = { stallMs, bytesPerSecond };
  app = createHttpApp({ log: createLogger("silent", "test"), requestId: () => "the-id", uploads });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, payload, done) => {
    let length = 0;
    payload.once("end", () => done(null, length));
    payload.once("error", done);
    const read = () => payload.on("data", (chunk: Buffer) => (length += chunk.length));
    setTimeout(read, readAfterMs);
  });
  app.post("/", async ({ body }) => ({ length: body }));
  await app.listen({ port: 0, host: "127.0.0.1" });
}

/** Sends the head of an upload; `all` is everything that arrives until the server closes the connection. */
function upload(header: string, start: string) {
  const socket = connect((app.server.address() as AddressInfo).port, "127.0.0.1");
  socket.write(
    `POST / HTTP/1.1\r\nhost: x\r\ncontent-type: a/b\r\nconnection: close\r\n${header}\r\n\r\n${start}`,
  );
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk;
  });
  socket.on("error", () => undefined);
  const all = new Promise<string>((resolve) => socket.once("close", () => resolve(text)));
  return { socket, all };
}

const STALLED = /^HTTP\/1\.1 408 .*x-request-id: the-id.*"code":"request_timeout"/s;

test.each(["content-length: 100", "transfer-encoding: chunked"])(
  "an upload that stands still is told so, and its connection closed: %s",
  async (header) => {
    await start(0);
    expect(await upload(header, "3\r\nabc\r\n").all).toMatch(STALLED);
  },
);

test.each([
  // Longer than a slow machine needs to detect the low rate.
  ["is cut", 1_000_000, 1_000_000, STALLED],
  ["is not, where any speed will do", 0, 40, /^HTTP\/1\.1 200 .*\{"length":40\}$/s],
])("an upload that trickles %s", async (_, bytesPerSecond, length, expected) => {
  await start(bytesPerSecond, 0, PATIENT_STALL_MS);
  const { socket, all } = upload(`content-length: ${length}`, "");
  for (let sent = 0; sent < length && !socket.closed; sent += 1) {
    socket.write("x");
    await new Promise((resolve) => setTimeout(resolve, TRICKLE_MS));
  }
  expect(await all).toMatch(expected);
});

test("an upload that nobody reads is not stalled", async () => {
  await start(0, 4 * STALL_MS);
  expect(await upload("content-length: 4", "abcd").all).toMatch(/\{"length":4\}$/);
});
