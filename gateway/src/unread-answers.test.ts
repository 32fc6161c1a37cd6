// Guarantees for clients that do not read: they are cut, for every public answer and in every topology. Clients that
// wait for a silent stream are not.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "@gr/testing";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { open } from "./test/call.ts";
import { type Ring, startRing, topologies } from "./test/ring.ts";

const CHAT = "/v1/compat/chat/completions";
const PATIENCE = { timeoutMs: 60_000 };
const STALL_MS = 300;
/** More than kernels buffer. */
const LARGE = 24 * 1024 * 1024;

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "console-build-"));
  await mkdir(join(dir, "assets"));
  await writeFile(join(dir, "index.html"), "<p>page</p>");
  await writeFile(join(dir, "assets/app-1.js"), Buffer.alloc(LARGE, " "));
});
afterAll(() => rm(dir, { recursive: true }));

describe.each(topologies)("answers that nobody reads, %s", (topology) => {
  let ring: Ring;
  const sockets: Socket[] = [];
  const start = async (settings: Record<string, string>) => {
    ring = await startRing(topology, { CONSOLE_DIR: dir, ...settings });
    return `authorization: Bearer ${ring.keys.add("normal").secret}\r\n`;
  };
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await ring.stop();
  });
  /** Sends requests at once and reads nothing. */
  const send = (requests: string): Socket => {
    const { hostname, port } = new URL(ring.baseUrl);
    const socket = connect(Number(port), hostname);
    sockets.push(socket);
    socket.on("error", () => socket.destroy());
    socket.pause().write(requests);
    return socket;
  };
  const ask = (body: object) =>
    `content-type: application/json\r\ncontent-length: ${JSON.stringify(body).length}\r\n\r\n${JSON.stringify(body)}`;
  const cuts = async (cause: string) =>
    Number(new RegExp(`answers_cut_total\\{cause="${cause}"\\} (\\d+)`).exec(await ring.metrics())?.[1]);

  test("are cut: files, the reference, answers in one piece, streams", async () => {
    const key = await start({ ANSWER_STALL_MS: String(STALL_MS) });
    const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`;
    const post = (body: object) => `POST ${CHAT} HTTP/1.1\r\nhost: x\r\n${key}${ask(body)}`;
    send(get("/assets/app-1.js"));
    send(get("/docs/scalar.js").repeat(8));
    send(get("/openapi.json").repeat(1_000));
    send(post({ do: "fill", bytes: LARGE }));
    send(post({ do: "flood" }));
    await until(async () => (await cuts("stalled")) === 5, PATIENCE);
    // The module learns of it as of any disconnected client.
    await until(() => ring.stage.closed.includes("fill") && ring.stage.closed.includes("flood"), PATIENCE);
  });

  test("do not take more memory than the process grants them", async () => {
    const held = 64 * 1024;
    const key = await start({
      ANSWER_STALL_MS: "3600000",
      ANSWER_MAX_WAITING_BYTES: String(8 * held),
      ANSWER_MAX_WAITING_BYTES_PER_CONNECTION: String(8 * held),
    });
    const flood = `POST ${CHAT} HTTP/1.1\r\nhost: x\r\n${key}${ask({ do: "flood" })}`;
    // Each answer has more waiting bytes than `held`.
    for (let count = 0; count < 16; count += 1) send(flood);
    await until(async () => (await cuts("process_bytes")) > 8, PATIENCE);
    expect(await cuts("process_bytes")).toBeLessThan(16);
    send(`POST ${CHAT} HTTP/1.1\r\nhost: x\r\n${key}${ask({ do: "fill", bytes: LARGE })}`);
    if (topology === "one process") await until(async () => (await cuts("connection_bytes")) === 1, PATIENCE);
    expect(await cuts("stalled")).toBe(0);
  });

  test("are not those that are silent, or wait for their provider", async () => {
    const key = await start({ ANSWER_STALL_MS: String(STALL_MS) });
    const secret = key.slice("authorization: Bearer ".length).trim();
    const stream = await open(ring.baseUrl + CHAT, { key: secret, body: { do: "stream" } });
    const reader = stream.body?.getReader();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe("data: first\n\n");
    const waiting = open(ring.baseUrl + CHAT, { key: secret, body: { do: "wait" } });
    send(`POST ${CHAT} HTTP/1.1\r\nhost: x\r\n${key}${ask({ do: "flood" })}`);
    // The looks that cut this one have seen the others.
    await until(async () => (await cuts("stalled")) === 1, PATIENCE);
    ring.stage.released.resolve();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe("data: second\n\n");
    expect((await waiting).status).toBe(200);
  });
});
