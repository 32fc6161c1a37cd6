// Guarantees of unread answers: cut are those with bytes that wait for a slow client, and those beyond a budget of
// bytes.
import { once } from "node:events";
import { type AddressInfo, connect, type Socket } from "node:net";
import { Readable } from "node:stream";
import { until } from "@gr/testing";
import { afterEach, describe, expect, test } from "@jest/globals";
import type { FastifyInstance } from "fastify";
import { createLogger } from "../process/logger.ts";
import { closeHttpApp, createHttpApp } from "./http-app.ts";
import { Connection } from "./open-connections.ts";
import { type CutCause, UnreadAnswers } from "./unread-answers.ts";

const PATIENCE = { timeoutMs: 60_000 };
const STALL_MS = 10_000;
const PAUSE_MS = 1_000;
const RATE = 100;
const WINDOW_BYTES = (RATE * STALL_MS) / 1_000;

/** Connection with a client that receives bytes on the test's command. */
class Reader {
  cut = false;
  readBytes = 0;
  waiting: number;
  readonly connection: Connection;

  constructor(waiting: number, isKnown = false) {
    this.waiting = waiting;
    const handle = Object.defineProperties(
      {},
      { bytesWritten: { get: () => this.readBytes }, writeQueueSize: { value: 0 } },
    );
    const socket = { _handle: handle, resetAndDestroy: () => (this.cut = true) };
    this.connection = new Connection(socket as unknown as Socket, "owner");
    this.connection.isKnown = isKnown;
    const answer = Object.defineProperty({}, "writableLength", { get: () => this.waiting });
    this.connection.answers.push({ response: answer as never, source: undefined });
  }
}

function watch(readers: readonly Reader[], limits: { connectionBytes?: number; processBytes?: number } = {}) {
  const causes: CutCause[] = [];
  const unread = new UnreadAnswers(
    { running: new Set(readers.map(({ connection }) => connection)) },
    {
      stallMs: STALL_MS,
      bytesPerSecond: RATE,
      connectionBytes: 1e9,
      processBytes: 1e9,
      cut: (cause) => causes.push(cause),
      ...limits,
    },
  );
  let now = 0;
  /** Runs the timer's looks during this time. */
  const pass = (ms: number, between: () => void = () => undefined) => {
    for (const end = now + ms; now < end; ) {
      now += PAUSE_MS;
      between();
      unread.look(now);
    }
  };
  unread.look(now);
  return { pass, causes, unread, skip: (ms: number) => (now += ms) };
}

describe("a client", () => {
  test("that takes nothing of waiting bytes is cut after a stall", () => {
    const reader = new Reader(1);
    const { pass, causes } = watch([reader]);
    pass(STALL_MS - PAUSE_MS);
    expect(reader.cut).toBe(false);
    pass(PAUSE_MS);
    expect([reader.cut, causes]).toEqual([true, ["stalled"]]);
  });

  test("for which nothing waits is not cut, however long its answer is silent", () => {
    const reader = new Reader(0);
    const { pass } = watch([reader]);
    pass(100 * STALL_MS);
    expect(reader.cut).toBe(false);
  });

  test("that takes less than the least rate is cut", () => {
    const reader = new Reader(1e6);
    const { pass } = watch([reader]);
    pass(STALL_MS, () => (reader.readBytes += (WINDOW_BYTES * PAUSE_MS) / STALL_MS - 1));
    expect(reader.cut).toBe(true);
  });

  test("that takes the least rate is not, also in one piece for a whole window", () => {
    const [steady, jerky] = [new Reader(1e6), new Reader(1e6)];
    const { pass } = watch([steady, jerky]);
    let looks = 0;
    pass(20 * STALL_MS, () => {
      looks += 1;
      steady.readBytes += (WINDOW_BYTES * PAUSE_MS) / STALL_MS;
      if ((looks * PAUSE_MS) % (STALL_MS - PAUSE_MS) === 0) jerky.readBytes += WINDOW_BYTES;
    });
    expect([steady.cut, jerky.cut]).toEqual([false, false]);
  });

  test("is not cut because this process stood still", () => {
    const reader = new Reader(1);
    const { pass, skip } = watch([reader]);
    pass(STALL_MS / 2);
    skip(STALL_MS);
    pass(STALL_MS - PAUSE_MS);
    expect(reader.cut).toBe(false);
  });
});

describe("waiting bytes", () => {
  test("of one connection are bounded", () => {
    const [fits, large] = [new Reader(100), new Reader(101)];
    const { causes } = watch([fits, large], { connectionBytes: 100 });
    expect([fits.cut, large.cut, causes]).toEqual([false, true, ["connection_bytes"]]);
  });

  test("of all are bounded: strangers are cut first, then the longest wait with the most bytes", () => {
    const customer = new Reader(900, true);
    // The bytes of the second and the third wait equally long; those of the first wait since a moment.
    const [fresh, large, small] = [new Reader(90), new Reader(50), new Reader(40)];
    const readers = [customer, fresh, large, small];
    const { pass, unread } = watch(readers, { processBytes: 1_200 });
    pass(2 * PAUSE_MS);
    fresh.readBytes += WINDOW_BYTES;
    unread.look(3 * PAUSE_MS);
    expect(readers.map(({ cut }) => cut)).toEqual([false, false, false, false]);
    customer.waiting = 1_060;
    expect(unread.look(3 * PAUSE_MS)).toBeLessThanOrEqual(1_200);
    expect(readers.map(({ cut }) => cut)).toEqual([false, false, true, false]);
  });

  test("of customers are cut when those of strangers are not enough", () => {
    const [known, stranger] = [new Reader(900, true), new Reader(50)];
    const { causes } = watch([known, stranger], { processBytes: 800 });
    expect([known.cut, stranger.cut, causes]).toEqual([true, true, ["process_bytes", "process_bytes"]]);
  });

  test("in large pieces are looked at before the budget is full", () => {
    const { unread } = watch([], { processBytes: 1_000 });
    expect([unread.send(100), unread.send(149), unread.send(1), unread.send(500)]).toEqual([
      false,
      false,
      true,
      false,
    ]);
  });
});

describe("over a real connection", () => {
  let app: FastifyInstance;
  const sockets: Socket[] = [];
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await closeHttpApp(app, 0);
  });
  const PIECE = Buffer.alloc(256 * 1024);
  /** More than kernels buffer. */
  const WHOLE = Buffer.alloc(32 * 1024 * 1024);
  const STEP = 2 * 1024 * 1024;
  let left: PromiseWithResolvers<void>;

  async function start(limits: { stallMs: number; processBytes?: number; connectionBytes?: number }) {
    left = Promise.withResolvers();
    const causes: CutCause[] = [];
    const answers = {
      bytesPerSecond: 0,
      connectionBytes: 1e9,
      processBytes: 1e9,
      cut: (cause: CutCause) => causes.push(cause),
    };
    app = createHttpApp({
      log: createLogger("silent", "test"),
      requestId: () => "the-id",
      answers: { ...answers, ...limits },
    });
    app.addHook("onRequest", (_request, reply, done) => {
      reply.raw.once("close", () => left.resolve());
      done();
    });
    app.get("/whole", async (_request, reply) => reply.send(WHOLE));
    app.get("/text", async (_request, reply) => reply.send("x".repeat(WHOLE.length)));
    app.get("/pieces", async (_request, reply) => reply.send(Readable.from(endless())));
    app.get("/raw", (_request, reply) => {
      const { raw } = reply.hijack();
      raw.writeHead(200);
      Readable.from(endless()).pipe(raw);
    });
    app.get("/silent", (_request, reply) => {
      const { raw } = reply.hijack();
      raw.writeHead(200);
      raw.write("begun");
    });
    app.get("/never", () => new Promise(() => undefined));
    await app.listen({ port: 0, host: "127.0.0.1" });
    return causes;
  }
  function* endless() {
    for (;;) yield PIECE;
  }
  const ask = (path: string): Socket => {
    const socket = connect((app.server.address() as AddressInfo).port, "127.0.0.1");
    sockets.push(socket);
    socket.on("error", () => socket.destroy());
    socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
    return socket;
  };

  test.each(["/whole", "/text", "/pieces", "/raw"])("who takes nothing of %s is cut", async (path) => {
    const causes = await start({ stallMs: 200 });
    ask(path).pause();
    await left.promise;
    expect(causes).toEqual(["stalled"]);
  });

  test("who reads slowly, but more than must be read, gets all", async () => {
    const causes = await start({ stallMs: 3_000 });
    const socket = ask("/whole");
    let bytes = 0;
    for await (const chunk of socket) {
      const before = bytes;
      bytes += (chunk as Buffer).length;
      if (bytes > WHOLE.length) break;
      // In all longer than a stall; each step is one that kernels notice.
      const isStep = Math.floor(before / STEP) < Math.floor(bytes / STEP);
      if (isStep) await new Promise((resolve) => setTimeout(resolve, 300));
    }
    expect(bytes).toBeGreaterThan(WHOLE.length);
    expect(causes).toEqual([]);
  });

  test("nobody who waits for a silent answer is cut", async () => {
    const causes = await start({ stallMs: 50 });
    const silent = ask("/silent");
    await once(silent, "data");
    const never = ask("/never");
    ask("/whole").pause();
    // The same looks have cut the other one.
    await until(() => causes.length === 1, PATIENCE);
    expect([silent.destroyed, never.destroyed]).toEqual([false, false]);
  });

  test("bytes of all stay within the budget, long before anybody stalls", async () => {
    const budget = 4 * WHOLE.length;
    const causes = await start({ stallMs: 3_600_000, processBytes: budget });
    const readers = Array.from({ length: 8 }, () => ask("/whole").pause());
    await until(() => causes.length >= 4, PATIENCE);
    expect(new Set(causes)).toEqual(new Set(["process_bytes"]));
    expect(readers.length - causes.length).toBeGreaterThan(0);
  });
});
