// Guarantees of compressed answers: selected by content, in every topology, in the client's encoding.
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Seen } from "../test/fake-modules.ts";
import { type Ring, startRing, topologies } from "../test/ring.ts";
import { acceptedEncoding } from "./accepted-encoding.ts";

test.each([
  [undefined, undefined],
  ["", undefined],
  ["br", "br"],
  ["gzip, deflate, br, zstd", "br"],
  ["GZIP;q=0.5, deflate", "gzip"],
  ["br;q=0, gzip; q=1", "gzip"],
  ["br;Q=0.000", undefined],
  ["brx, xgzip, identity", undefined],
  [`${" ,;".repeat(5_000)}br`, undefined],
])("%s is answered in %s", (header, encoding) => {
  expect(acceptedEncoding(header)).toBe(encoding);
});

describe.each(topologies)("answers, %s", (topology) => {
  let ring: Ring;
  let key: string;
  beforeAll(async () => {
    ring = await startRing(topology);
    key = ring.keys.add("normal").secret;
  });
  afterAll(() => ring.stop());

  interface Sent {
    readonly headers: IncomingHttpHeaders;
    readonly bytes: Buffer;
  }
  /** Sends a request and returns the raw answer, still compressed. */
  const send = (path: string, more: Record<string, string> = {}, body?: object): Promise<Sent> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", ...more };
      const method = more["x-method"] ?? (body === undefined ? "GET" : "POST");
      const sending = httpRequest(ring.baseUrl + path, { method, headers, agent: false }, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => resolve({ headers: response.headers, bytes: Buffer.concat(chunks) }));
      });
      sending.on("error", reject).end(body === undefined ? undefined : JSON.stringify(body));
    });
  const CHAT = "/v1/compat/chat/completions";
  const LARGE = { do: "fill", bytes: 20_000 };
  const ACCEPT = { "accept-encoding": "gzip, br" };
  /** Echoed by the routes of the fake modules. */
  const ECHOED = { "idempotency-key": "k".repeat(3_000) };

  test("JSON is compressed as the client reads it, and says so", async () => {
    const plain = await send(CHAT, {}, LARGE);
    expect(plain.headers).toMatchObject({
      vary: "accept-encoding",
      "content-length": String(plain.bytes.length),
    });
    expect(plain.headers["content-encoding"]).toBeUndefined();
    for (const [encoding, decode] of [
      ["br", brotliDecompressSync],
      ["gzip", gunzipSync],
    ] as const) {
      const { headers, bytes } = await send(CHAT, { "accept-encoding": encoding }, LARGE);
      expect(headers).toMatchObject({ vary: "accept-encoding", "content-encoding": encoding });
      expect(bytes.length).toBeLessThan(plain.bytes.length / 10);
      expect(decode(bytes)).toEqual(plain.bytes);
    }
    const { headers, bytes } = await send("/v1/models", { ...ACCEPT, ...ECHOED });
    expect(headers["content-encoding"]).toBe("br");
    expect((JSON.parse(String(brotliDecompressSync(bytes))) as Seen).headers).toMatchObject(ECHOED);
  });

  test("an answer with a weak tag is compressed; a strong tag names the bytes, which stay as they are", async () => {
    const weak = await send(CHAT, ACCEPT, { ...LARGE, tag: 'W/"v1"' });
    expect(weak.headers).toMatchObject({ "content-encoding": "br", etag: 'W/"v1"' });
    const strong = await send(CHAT, ACCEPT, { ...LARGE, tag: '"v1"' });
    expect([strong.headers["content-encoding"], strong.headers.etag]).toEqual([undefined, '"v1"']);
  });

  test.each([
    ["shorter than a packet", CHAT, {}, { do: "fill", bytes: 900 }],
    ["of images", "/v1/compat/images/generations", ECHOED, { prompt: "x" }],
    ["of hosted media", "/media/name", ECHOED, undefined],
    ["larger than a megabyte", CHAT, {}, { do: "fill", bytes: 1024 * 1024 }],
  ])("an answer %s stays as it is", async (_, path, more, body) => {
    const { headers, bytes } = await send(path, { ...ACCEPT, ...more }, body);
    expect([headers["content-encoding"], headers.vary]).toEqual([undefined, undefined]);
    expect(JSON.parse(String(bytes))).toBeInstanceOf(Object);
    expect(headers["content-length"]).toBe(String(bytes.length));
  });

  test("a stream of events is never held back by a compressor", async () => {
    ring.stage.reset();
    ring.stage.released.resolve();
    const { headers, bytes } = await send(CHAT, ACCEPT, { do: "stream" });
    expect(headers["content-encoding"]).toBeUndefined();
    expect(String(bytes)).toBe("data: first\n\ndata: second\n\n");
  });

  test("HEAD says of an answer what GET does", async () => {
    const request = { ...ACCEPT, ...ECHOED };
    const [head, whole] = [
      await send("/v1/models", { ...request, "x-method": "HEAD" }),
      await send("/v1/models", request),
    ];
    expect(head.bytes).toHaveLength(0);
    expect(head.headers["content-encoding"]).toBe(whole.headers["content-encoding"]);
  });
});
