// Guarantees of streaming: bodies flow without buffering, a disconnect is noticed, and a stop lets answers finish.
import { LAST_WORDS_MS } from "@gr/runtime";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { call, errorOf, open } from "./test/call.ts";
import type { Seen } from "./test/fake-modules.ts";
import { sendRaw } from "./test/raw-http.ts";
import { type Ring, startRing, topologies } from "./test/ring.ts";

const CHAT = "/v1/compat/chat/completions";

async function readChunk(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  const { value } = await reader.read();
  return new TextDecoder().decode(value);
}

describe.each(topologies)("bodies, %s", (topology) => {
  let ring: Ring;
  let key: string;
  const url = (path: string) => `${ring.baseUrl}${path}`;
  const openStream = async (what: "stream" | "break") => {
    const response = await open(url(CHAT), { key, body: { do: what } });
    if (response.body === null) throw new Error("the answer has no body");
    return { response, reader: response.body.getReader() };
  };

  beforeEach(async () => {
    ring = await startRing(topology);
    key = ring.keys.add("normal").secret;
  });
  afterEach(() => ring.stop());

  test("the first event of a stream arrives before the second is made", async () => {
    const { response, reader } = await openStream("stream");
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    expect(await readChunk(reader)).toBe("data: first\n\n");
    ring.stage.released.resolve();
    expect(await readChunk(reader)).toBe("data: second\n\n");
    expect((await reader.read()).done).toBe(true);
  });

  test("a stream that breaks is cut, never ended as if it were complete", async () => {
    const { reader } = await openStream("break");
    await readChunk(reader);
    ring.stage.released.resolve();
    await expect(reader.read()).rejects.toThrow();
  });

  test("a large body arrives whole", async () => {
    const body = Buffer.alloc(20 * 1024 * 1024, " ");
    body.write("[");
    body.write("]", body.length - 1);
    const answer = await call(url("/v1/compat/images/generations"), {
      key,
      body,
      headers: { "content-type": "application/json" },
    });
    expect(answer.status).toBe(200);
    expect((answer.body as Seen).bytes).toBe(body.byteLength);
  });

  test("a refused upload is told why, however much of it is still on its way", async () => {
    const body = new Uint8Array(60 * 1024 * 1024).fill(0x20);
    const headers = { "content-type": "application/json" };
    const tooLarge = await call(url("/v1/compat/images/generations"), { key, body, headers });
    expect(tooLarge.status).toBe(413);
    const unknown = await call(url("/v1/compat/images/generations"), { key: "gr_live_no", body, headers });
    expect(unknown.status).toBe(401);
    expect(errorOf(unknown).code).toBe("invalid_api_key");
  });

  test("a caller without a key is refused before its body has arrived", async () => {
    const [answer] = await sendRaw(
      ring.baseUrl,
      `POST ${CHAT} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n`,
    );
    expect(answer?.status).toBe(401);
  });

  test("the service notices a client that leaves before the answer", async () => {
    const leaving = new AbortController();
    const request = open(url(CHAT), { key, body: { do: "wait" }, signal: leaving.signal });
    await ring.stage.entered.promise;
    leaving.abort();
    await expect(request).rejects.toThrow();
    await ring.stage.left.promise;
  });

  test("300 streams are open at the same time", async () => {
    const streams = await Promise.all(Array.from({ length: 300 }, () => openStream("stream")));
    for (const { reader } of streams) expect(await readChunk(reader)).toBe("data: first\n\n");
    ring.stage.released.resolve();
    const ends = await Promise.all(streams.map(({ reader }) => readChunk(reader)));
    expect(new Set(ends)).toEqual(new Set(["data: second\n\n"]));
    await Promise.all(streams.map(({ reader }) => reader.read()));
  });

  test("a stop lets open streams finish and refuses new connections", async () => {
    const { reader } = await openStream("stream");
    await readChunk(reader);
    let stopped = false;
    const stop = ring.stopGateway().then(() => {
      stopped = true;
    });
    await expect(
      (async () => {
        for (;;) await sendRaw(ring.baseUrl, "GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n", 1);
      })(),
    ).rejects.toThrow(/ECONN/);
    expect(stopped).toBe(false);
    ring.stage.released.resolve();
    expect(await readChunk(reader)).toBe("data: second\n\n");
    expect((await reader.read()).done).toBe(true);
    await stop;
  });
});

test("a stop cuts what has not ended within STOP_GRACE_MS and the time for last words", async () => {
  const ring = await startRing("one process", { STOP_GRACE_MS: "17" });
  const { secret } = ring.keys.add("normal");
  const answer = await open(`${ring.baseUrl}${CHAT}`, { key: secret, body: { do: "stream" } });
  const reader = answer.body?.getReader();
  await reader?.read();
  const delays: unknown[] = [];
  const { setTimeout: usual } = globalThis;
  globalThis.setTimeout = ((...timer: Parameters<typeof usual>) => {
    delays.push(timer[1]);
    return usual(...timer);
  }) as typeof usual;
  try {
    await ring.stopGateway();
    expect(delays).toContain(17 + LAST_WORDS_MS);
  } finally {
    globalThis.setTimeout = usual;
    await ring.stop();
  }
  await expect(reader?.read()).rejects.toThrow();
});

describe("a module that is gone", () => {
  let ring: Ring;
  let key: string;
  beforeEach(async () => {
    ring = await startRing("a process each");
    key = ring.keys.add("normal").secret;
  });
  afterEach(() => ring.stop());

  test("a request that could not be sent is a 503 that may be tried again", async () => {
    await ring.stopModule("text-proxy");
    const answer = await call(`${ring.baseUrl}${CHAT}`, { key, body: {} });
    expect(answer.status).toBe(503);
    expect(errorOf(answer)).toMatchObject({ type: "internal_error", code: "service_unavailable" });
    expect(answer.headers.get("x-should-retry")).toBe("true");
    expect((await call(`${ring.baseUrl}/v1/models`)).status).toBe(200);
  });

  test("keys that cannot be asked are a 503", async () => {
    await ring.stopModule("keys");
    const answer = await call(`${ring.baseUrl}/v1/credits`, { key });
    expect(answer.status).toBe(503);
    expect(errorOf(answer).code).toBe("service_unavailable");
  });

  test("without billing, reading the credits fails in the words of the specification", async () => {
    await ring.stopModule("billing");
    const answer = await call(`${ring.baseUrl}/v1/credits`, { key });
    expect({ status: answer.status, error: errorOf(answer) }).toEqual({
      status: 500,
      error: {
        message: "Fetching credit information failed; try again shortly.",
        type: "internal_error",
      },
    });
  });

  test("a missing description is a 503, and is asked for again", async () => {
    await ring.stopModule("billing");
    const answer = await call(`${ring.baseUrl}/openapi.json`);
    expect(answer.status).toBe(503);
    expect(errorOf(answer).message).toContain("billing");
  });
});
