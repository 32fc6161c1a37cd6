// Guarantees of a static answer: compressed once, shared by its readers, revalidated by its tag.
import { Readable } from "node:stream";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { createHttpApp, createLogger } from "@gr/runtime";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { FastifyInstance } from "fastify";
import { StaticAnswer } from "./static-answer.ts";

/** Text with a compressed form longer than one piece. */
const TEXT = Array.from({ length: 60_000 }, (_, index) =>
  ((index * 2_654_435_761) % 4_294_967_296).toString(36),
).join(" ");
let app: FastifyInstance;

beforeAll(() => {
  app = createHttpApp({ log: createLogger("silent", "test"), requestId: () => "the-id" });
  const long = new StaticAnswer(TEXT, { type: "text/plain; charset=utf-8", cacheControl: "no-cache" });
  const short = new StaticAnswer("short", { type: "text/plain", cacheControl: "no-cache" });
  app.get("/long", (request, reply) => long.send(request, reply));
  app.get("/short", (request, reply) => short.send(request, reply));
});
afterAll(() => app.close());

const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers });

test.each([
  ["br", brotliDecompressSync],
  ["gzip", gunzipSync],
  ["identity", (bytes: Buffer) => bytes],
])("%s is the text, with its length and a tag of its own", async (encoding, decode) => {
  const { headers, rawPayload } = await get("/long", { "accept-encoding": encoding });
  expect(String(decode(rawPayload))).toBe(TEXT);
  expect(headers).toMatchObject({ vary: "accept-encoding", "content-length": String(rawPayload.length) });
  expect(headers["content-encoding"]).toBe(encoding === "identity" ? undefined : encoding);
  const other = await get("/long", { "accept-encoding": encoding === "br" ? "gzip" : "br" });
  expect(other.headers["etag"]).not.toBe(headers["etag"]);
  for (const tag of [headers["etag"], `W/${headers["etag"]}`, `"x" , ${headers["etag"]}`, "*"]) {
    const again = await get("/long", { "accept-encoding": encoding, "if-none-match": String(tag) });
    expect([again.statusCode, again.rawPayload.length]).toEqual([304, 0]);
  }
});

test("a short one is sent as it is", async () => {
  const { headers, body } = await get("/short", { "accept-encoding": "br" });
  expect([headers["content-encoding"], headers["vary"], body]).toEqual([undefined, undefined, "short"]);
});

test.each(["br", "identity"])(
  "all readers of %s share one buffer, and each holds one piece of it",
  async (encoding) => {
    const answer = new StaticAnswer(TEXT, { type: "text/plain", cacheControl: "no-cache" });
    const payloads: Readable[] = [];
    const own = createHttpApp({ log: createLogger("silent", "test"), requestId: () => "the-id" });
    own.addHook("onSend", (_request, _reply, payload, done) => {
      payloads.push(payload as Readable);
      done(null, "");
    });
    own.get("/", (request, reply) => answer.send(request, reply));
    const readers = Array.from({ length: 10 }, () =>
      own.inject({ url: "/", headers: { "accept-encoding": encoding } }),
    );
    await Promise.allSettled(readers);
    expect(payloads).toHaveLength(10);
    const memory = new Set<ArrayBufferLike>();
    for (const payload of payloads) {
      expect(payload).toBeInstanceOf(Readable);
      for await (const piece of payload) {
        memory.add((piece as Buffer).buffer);
        expect(payload.readableLength).toBeLessThanOrEqual(64 * 1024);
      }
    }
    expect(memory.size).toBe(1);
    await own.close();
  },
);
