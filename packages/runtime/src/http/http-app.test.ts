// Guarantees of every HTTP port: with slow clients, with broken ones, and at its own end.
import { METHODS } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { Readable } from "node:stream";
import { until } from "@gr/testing";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { FastifyInstance } from "fastify";
import { createLogger } from "../process/logger.ts";
import { closeHttpApp, createHttpApp, drainHttpApp } from "./http-app.ts";

describe("an HTTP app", () => {
  let app: FastifyInstance;
  let port: number;
  let released: PromiseWithResolvers<void>;
  let entered: PromiseWithResolvers<void>;
  const sockets: Socket[] = [];

  beforeEach(async () => {
    released = Promise.withResolvers();
    entered = Promise.withResolvers();
    app = createHttpApp({ log: createLogger("silent", "test"), requestId: () => "the-id" });
    app.get("/now", async () => ({ ok: true }));
    app.get("/begun", async (_request, reply) => {
      reply.raw.writeHead(200, { "content-length": "10" });
      reply.raw.write("begun");
      reply.hijack();
      entered.resolve();
      await released.promise;
      reply.raw.end("ended");
    });
    await app.listen({ port: 0, host: "127.0.0.1" });
    port = (app.server.address() as AddressInfo).port;
  });
  afterEach(async () => {
    released.resolve();
    await closeHttpApp(app, 0);
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  /** A connection; `all` is everything that arrives until the server closes it. */
  const open = (bytes: string) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(bytes));
    sockets.push(socket);
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk;
    });
    socket.on("error", () => undefined);
    const all = new Promise<string>((resolve) => socket.once("close", () => resolve(text)));
    return { socket, all };
  };

  test("a client that does not finish its headers, or the body of a refused request, is let go", async () => {
    const refused = open("POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{");
    await new Promise((resolve) => refused.socket.once("data", resolve));
    app.server.headersTimeout = 1;
    const slow = open("GET /now HTTP/1.1\r\nHost: x\r\nSlow");
    const text = await slow.all;
    expect(text).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
    expect(text).toContain('"code":"request_timeout"');
    expect(await refused.all).toMatch(/^HTTP\/1\.1 404 Not Found\r\n/);
  });

  test("the router reads the remaining bytes of a refused request chunk by chunk, and frees each chunk", async () => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    app.server.once("request", (request, response) => {
      response.once("finish", () => {
        // Before the listener that frees the chunk.
        request.prependListener("data", (chunk: Buffer) => {
          bytes += chunk.length;
          chunks.push(chunk);
        });
      });
    });
    const length = 1_000_000;
    const { socket, all } = open(`POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`);
    await new Promise((resolve) => socket.once("data", resolve));
    socket.write(Buffer.alloc(length, "a"));
    socket.write("GET /now HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    expect(await all).toMatch(/^HTTP\/1\.1 404 .*\{"ok":true\}$/s);
    expect(bytes).toBe(length);
    // The turn of the last chunk may follow the answer.
    await until(() => chunks.every(({ buffer }) => (buffer as ArrayBuffer).detached), { timeoutMs: 60_000 });
  });

  test("of a crowd that is late together few connections end in one turn, and all end", async () => {
    const crowd: Socket[] = [];
    app.server.on("connection", (socket: Socket) => crowd.push(socket));
    const clients = Array.from({ length: 200 }, () => open(""));
    await until(() => crowd.length === clients.length, { timeoutMs: 60_000 });
    const error = Object.assign(new Error("late"), { code: "ERR_HTTP_REQUEST_TIMEOUT" });
    const most = { inOneTurn: 0, before: 0 };
    const count = () => {
      const ended = crowd.filter(({ destroyed }) => destroyed).length;
      most.inOneTurn = Math.max(most.inOneTurn, ended - most.before);
      most.before = ended;
      counting = setImmediate(count);
    };
    let counting = setImmediate(count);
    for (const socket of crowd) app.server.emit("clientError", error, socket);
    expect(await Promise.all(clients.map(({ all }) => all))).toEqual(clients.map(() => ""));
    clearImmediate(counting);
    expect(most.inOneTurn).toBeLessThanOrEqual(50);
  });

  test("what is not HTTP never writes into an answer that has begun", async () => {
    const { socket, all } = open("GET /begun HTTP/1.1\r\nHost: x\r\n\r\n");
    await entered.promise;
    socket.write("this is not HTTP\r\n\r\n");
    const text = await all;
    expect(text).toMatch(/begun$/);
    expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1);
  });

  test("requests on one connection are answered in their order", async () => {
    const one = "GET /now HTTP/1.1\r\nHost: x\r\n";
    const { all } = open(`${one}\r\n${one}\r\n${one}Connection: close\r\n\r\n`);
    expect((await all).match(/\{"ok":true\}/g)).toHaveLength(3);
  });

  test("what fails before its first byte is an error in our envelope, whatever it was to be", async () => {
    const failing = createHttpApp({ log: createLogger("silent", "test"), requestId: () => "the-id" });
    failing.get("/file", (_request, reply) => {
      const file = new Readable({ read: () => file.destroy(new Error("gone")) });
      reply.type("image/webp").header("cache-control", "immutable").header("etag", '"a"');
      return reply.header("content-length", 10).send(file);
    });
    const answer = await failing.inject("/file");
    expect(answer.statusCode).toBe(500);
    expect(answer.headers["content-type"]).toMatch(/^application\/json/);
    expect([answer.headers["cache-control"], answer.headers["etag"]]).toEqual([undefined, undefined]);
    expect(answer.json()).toMatchObject({ error: { type: "internal_error" } });
    await failing.close();
  });

  test("an unknown path of any length is named in a short message", async () => {
    const { statusCode, body } = await app.inject(`/${"a".repeat(5_000)}`);
    expect(statusCode).toBe(404);
    expect(JSON.parse(body).error.message.length).toBeLessThan(300);
  });

  test.each(METHODS.filter((method) => !["GET", "HEAD", "CONNECT"].includes(method)))(
    "%s of a path that has other methods is 405 with those, and of no path 404",
    async (method) => {
      const [known, unknown] = await Promise.all(
        ["/now", "/nowhere"].map(
          (path) => open(`${method} ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`).all,
        ),
      );
      expect(known).toMatch(/^HTTP\/1\.1 405 [^{]*\r\nallow: GET, HEAD\r\n[^{]*\{.*"method_not_allowed"/s);
      expect(unknown).toMatch(/^HTTP\/1\.1 404 [^{]*\{.*"not_found"/s);
    },
  );

  test("a WebSocket of a path that exists is 426, so that clients fall back at once", async () => {
    const routed = createHttpApp({ log: createLogger("silent", "test"), requestId: () => "the-id" });
    routed.post("/a", async () => "");
    const headers = { connection: "Upgrade", upgrade: "websocket" };
    const answers = ["/a", "/b"].map((url) => routed.inject({ method: "GET", url, headers }));
    const [known, unknown] = await Promise.all(answers);
    expect([known?.statusCode, unknown?.statusCode]).toEqual([426, 404]);
    expect(known?.json()).toMatchObject({ error: { code: "websocket_not_supported" } });
    expect(known?.headers["x-should-retry"]).toBe("false");
  });

  test("a path is under a route part for part", async () => {
    const routed = createHttpApp({ log: createLogger("silent", "test"), requestId: () => "the-id" });
    routed.get("/a/:id/b", async () => "");
    routed.get("/c/*", async () => "");
    const statusesOf = async (url: string) => [
      (await routed.inject({ method: "GET", url })).statusCode,
      (await routed.inject({ method: "PUT", url })).statusCode,
    ];
    for (const url of ["/a/1/b", "/a/1/b/", "/a/%2F/b", "/c/d", "/c/d/e", "/c/d/", "/c//"])
      expect([url, ...(await statusesOf(url))]).toEqual([url, 200, 405]);
    for (const url of ["/a/b", "/a/1/2/b", "/a/1/b//", "/c", "/c/", "/", "/ac/d"]) {
      expect([url, ...(await statusesOf(url))]).toEqual([url, 404, 404]);
    }
    expect((await statusesOf("/a//b"))[1]).toBe(404);
  });

  test("headers of a port are on each of its answers", async () => {
    const withHeaders = createHttpApp({
      log: createLogger("silent", "test"),
      requestId: () => "the-id",
      headers: { "strict-transport-security": "max-age=1" },
    });
    withHeaders.get("/now", async () => ({ ok: true }));
    await withHeaders.listen({ port: 0, host: "127.0.0.1" });
    const ownPort = port;
    port = (withHeaders.server.address() as AddressInfo).port;
    for (const [request, status] of [
      ["GET /now HTTP/1.1\r\nhost: x", 200],
      ["GET /nowhere HTTP/1.1\r\nhost: x", 404],
      ["GET /%zz HTTP/1.1\r\nhost: x", 404],
      ["GET /now HTTP/1.1", 400],
      ["CONNECT x:1 HTTP/1.1\r\nhost: x:1", 400],
      ["no HTTP", 400],
    ] as const) {
      const answer = await open(`${request}\r\nconnection: close\r\n\r\n`).all;
      expect(answer).toMatch(
        new RegExp(`^HTTP/1.1 ${status} .*\\r\\nstrict-transport-security: max-age=1\\r\\n`, "s"),
      );
    }
    port = ownPort;
    await withHeaders.close();
  });

  test("closing waits for a running answer and then for nothing else", async () => {
    const { all } = open("GET /begun HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n");
    await entered.promise;
    const closed = closeHttpApp(app, 60_000);
    released.resolve();
    await closed;
    expect(await all).toMatch(/begunended$/);
  });

  test("draining answers each connection once more and says that it was the last, then there is none", async () => {
    const waiting = open("");
    await new Promise((resolve) => waiting.socket.once("connect", resolve));
    const running = open("GET /begun HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n");
    await entered.promise;
    const drained = drainHttpApp(app, 3_600_000);
    waiting.socket.write("GET /now HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n");
    expect(await waiting.all).toMatch(/^HTTP\/1.1 200 OK\r\n[^{]*connection: close\r\n[^{]*\{"ok":true\}$/i);
    expect(await open("GET /now HTTP/1.1\r\nHost: x\r\n\r\n").all).toMatch(/connection: close\r\n/i);
    released.resolve();
    // It was answered before the announcement; its next answer is its last.
    running.socket.write("GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(await running.all).toMatch(/begunendedHTTP\/1.1 404 Not Found\r\n[^{]*connection: close\r\n/i);
    await drained;
  });

  test("draining ends with its time where somebody stays", async () => {
    const { all } = open("GET /begun HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n");
    await entered.promise;
    await drainHttpApp(app, 10);
    released.resolve();
    await closeHttpApp(app, 60_000);
    expect(await all).toMatch(/begunended$/);
  });

  test("closing cuts what still runs when the grace is over", async () => {
    const { all } = open("GET /begun HTTP/1.1\r\nHost: x\r\n\r\n");
    await entered.promise;
    await closeHttpApp(app, 10);
    expect(await all).toMatch(/begun$/);
  });
});
