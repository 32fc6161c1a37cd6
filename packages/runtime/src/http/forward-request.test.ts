// Requests handed on to another process: byte for byte, once, and with honest errors.
import { once } from "node:events";
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { FastifyInstance } from "fastify";
import { systemClock } from "../process/clock.ts";
import { createLogger } from "../process/logger.ts";
import { PRINCIPAL_HEADER, readPrincipal } from "../rpc/principal.ts";
import { closeHttpApp, createHttpApp } from "./http-app.ts";
import { mountRemote } from "./rest-mount.ts";

const SECRET = "a secret for tests that is long enough";

describe("a forwarded request", () => {
  let module: Server;
  let app: FastifyInstance;
  let gateway: string;
  let answer: (request: IncomingMessage, response: ServerResponse) => void;
  let received: IncomingMessage[];
  /** For a request with the header x-wait: its arrival, and its client's disconnect. */
  let held: PromiseWithResolvers<void>;
  let left: PromiseWithResolvers<void>;

  beforeAll(async () => {
    module = createServer((request, response) => {
      received.push(request);
      answer(request, response);
    });
    await new Promise<void>((resolve) => module.listen(0, "127.0.0.1", resolve));
    app = createHttpApp({ log: createLogger("silent", "test"), requestId: () => "the-id" });
    app.addHook("onRequest", async (request, reply) => {
      if (request.headers["x-wait"] === undefined) return;
      held.resolve();
      await once(reply.raw, "close");
      left.resolve();
    });
    const baseUrl = `http://127.0.0.1:${(module.address() as AddressInfo).port}/`;
    const points = [{ prefix: "/v1/things" }, { prefix: "/v1/quick", longestSilenceMs: 200 }];
    await mountRemote(app, points, { module: "things", baseUrl, secret: SECRET, clock: systemClock });
    await mountRemote(app, [{ prefix: "/v1/gone" }], {
      module: "gone",
      baseUrl: "http://127.0.0.1:1",
      secret: SECRET,
      clock: systemClock,
    });
    gateway = await app.listen({ port: 0, host: "127.0.0.1" });
  });
  beforeEach(() => {
    received = [];
    held = Promise.withResolvers();
    left = Promise.withResolvers();
  });
  afterAll(async () => {
    await closeHttpApp(app, 0);
    module.closeAllConnections();
    await new Promise((resolve) => module.close(resolve));
  });
  const post = (body: RequestInit["body"] = "{}", headers = {}) =>
    fetch(`${gateway}/v1/things`, {
      method: "POST",
      body: body ?? null,
      headers: { "content-type": "application/json", ...headers },
      ...(body instanceof ReadableStream ? { duplex: "half" } : {}),
    });

  test("keeps its path, query, method and body as they were", async () => {
    let body = "";
    answer = (request, response) => {
      request.on("data", (chunk) => {
        body += chunk;
      });
      request.on("end", () => response.writeHead(201, { "x-own": "1" }).end("made"));
    };
    const response = await fetch(`${gateway}/v1/things/a%2Fb;c/%E2%82%AC?q=%20&q=&&x=/../`, {
      method: "PUT",
      body: '{ "a" :1}',
      headers: { "content-type": "application/json; charset=utf-8", "idempotency-key": "k" },
    });
    expect([response.status, response.headers.get("x-own"), await response.text()]).toEqual([
      201,
      "1",
      "made",
    ]);
    expect(received[0]?.url).toBe("/v1/things/a%2Fb;c/%E2%82%AC?q=%20&q=&&x=/../");
    expect(received[0]?.method).toBe("PUT");
    expect(body).toBe('{ "a" :1}');
    expect(received[0]?.headers).toMatchObject({
      "content-type": "application/json; charset=utf-8",
      "idempotency-key": "k",
      "x-request-id": "the-id",
    });
    const token = String(received[0]?.headers[PRINCIPAL_HEADER]);
    expect(readPrincipal([SECRET], "things", token, systemClock)).toBeNull();
  });

  test("its path is the client's own, whatever characters are in it", async () => {
    answer = (_request, response) => response.end();
    for (const path of [
      '/v1/things/a|b"c<d>{e}`^',
      "/v1/things//a///",
      "/v1/things/a..b",
      "/v1/things/%00%7f",
    ]) {
      received = [];
      const answered = Promise.withResolvers<number | undefined>();
      httpRequest(gateway, { path }, (response) => {
        response.resume();
        answered.resolve(response.statusCode);
      }).end();
      expect(await answered.promise).toBe(200);
      expect(received[0]?.url).toBe(path);
    }
  });

  test("its answer keeps what describes it and loses what describes a connection", async () => {
    answer = (_request, response) => {
      response.writeHead(206, {
        "content-range": "bytes 0-1/9",
        etag: '"e"',
        "set-cookie": ["a=1", "b=2"],
        "keep-alive": "timeout=1",
        "proxy-connection": "x",
        "x-request-id": "the-id",
      });
      response.end("ab");
    };
    const response = await fetch(`${gateway}/v1/things`);
    expect(response.status).toBe(206);
    expect(response.headers.get("content-range")).toBe("bytes 0-1/9");
    expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    expect(response.headers.get("proxy-connection")).toBeNull();
    expect(response.headers.get("keep-alive")).not.toBe("timeout=1");
    expect(response.headers.get("x-request-id")).toBe("the-id");
  });

  test.each([
    { method: "GET", status: 304 },
    { method: "GET", status: 204 },
    { method: "HEAD", status: 200 },
    { method: "GET", status: 302 },
  ])("$method answered with $status has no body and ends", async ({ method, status }) => {
    answer = (_request, response) => response.writeHead(status, { location: "/elsewhere" }).end();
    const response = await fetch(`${gateway}/v1/things`, { method, redirect: "manual" });
    expect([response.status, await response.text()]).toEqual([status, ""]);
  });

  test("the first bytes of an upload arrive before the last are sent", async () => {
    const first = Promise.withResolvers<string>();
    let length = 0;
    answer = (request, response) => {
      request.once("data", (chunk) => first.resolve(String(chunk)));
      request.on("data", (chunk) => {
        length += chunk.length;
      });
      request.on("end", () => response.end(String(length)));
    };
    const body = new ReadableStream({
      async start(controller) {
        controller.enqueue(new TextEncoder().encode("first"));
        await first.promise;
        controller.enqueue(new Uint8Array(1024 * 1024));
        controller.close();
      },
    });
    const response = await post(body);
    expect(await first.promise).toBe("first");
    expect(await response.text()).toBe(String(1024 * 1024 + 5));
    expect(received[0]?.headers["transfer-encoding"]).toBe("chunked");
  });

  test("an answer that comes before the end of an upload reaches the client", async () => {
    answer = (_request, response) => response.writeHead(413).end("too large");
    const response = await post(new Uint8Array(30 * 1024 * 1024));
    expect([response.status, await response.text()]).toEqual([413, "too large"]);
  });

  test("the body of a GET is not sent on", async () => {
    answer = (request, response) => response.end(`${request.headers["content-length"]}`);
    const text = await new Promise((resolve) => {
      const request = httpRequest(
        `${gateway}/v1/things`,
        { headers: { "content-length": 2 } },
        (response) => {
          response.once("data", (chunk) => resolve(String(chunk)));
        },
      );
      request.end("{}");
    });
    expect(text).toBe("undefined");
  });

  test.each([
    ["answers 503", (_request: IncomingMessage, response: ServerResponse) => response.writeHead(503).end()],
    ["closes the connection", (request: IncomingMessage) => request.socket.destroy()],
  ])("is sent once, also when the module %s", async (_name, behaviour) => {
    answer = behaviour;
    for (const method of ["GET", "POST"]) {
      received = [];
      await fetch(`${gateway}/v1/things`, { method });
      expect(received).toHaveLength(1);
    }
  });

  test("a connection that is lost after sending leaves the outcome of a change unknown", async () => {
    answer = (request) => request.socket.destroy();
    const change = await post();
    expect(change.status).toBe(500);
    expect(change.headers.get("x-should-retry")).toBe("false");
    expect(await change.json()).toMatchObject({ error: { code: "outcome_unknown" } });
    const look = await fetch(`${gateway}/v1/things`);
    expect(look.status).toBe(503);
    expect(look.headers.get("x-should-retry")).toBe("true");
  });

  test("a module that cannot be reached was not given the request", async () => {
    const response = await fetch(`${gateway}/v1/gone`, { method: "POST", body: "{}" });
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ error: { code: "service_unavailable" } });
    expect(response.headers.get("retry-after")).toBe("1");
  });

  test("a module that stays silent for too long is given up, before its answer and within it", async () => {
    answer = () => undefined;
    const look = await fetch(`${gateway}/v1/quick`);
    expect([look.status, await look.json()]).toMatchObject([503, { error: { code: "service_unavailable" } }]);
    const change = await fetch(`${gateway}/v1/quick`, { method: "DELETE" });
    expect([change.status, await change.json()]).toMatchObject([500, { error: { code: "outcome_unknown" } }]);
    answer = (_request, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("half");
    };
    await expect(fetch(`${gateway}/v1/quick`).then((response) => response.text())).rejects.toThrow();
  });

  test("an answer that breaks off is cut at the client too", async () => {
    answer = (request, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("half", () => request.socket.destroy());
    };
    const response = await fetch(`${gateway}/v1/things`);
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
  });

  test("a client that does not read holds the module back", async () => {
    const PIECE = Buffer.alloc(1024 * 1024);
    const ENOUGH = 256;
    let written = 0;
    const heldBack = Promise.withResolvers<void>();
    answer = (_request, response) => {
      const write = () => {
        for (written += 1; response.write(PIECE); written += 1);
        if (written >= ENOUGH) heldBack.reject(new Error("everything was taken from the module"));
        const held = setTimeout(heldBack.resolve, 300);
        response.once("drain", () => {
          clearTimeout(held);
          write();
        });
      };
      write();
    };
    const { reader, signal } = await new Promise<{ reader: IncomingMessage; signal: () => void }>(
      (resolve) => {
        const request = httpRequest(`${gateway}/v1/things`, (response) => {
          resolve({ reader: response, signal: () => request.destroy() });
        });
        request.end();
      },
    );
    await heldBack.promise;
    expect(reader.readableFlowing).toBeNull();
    signal();
  });

  test("a client that leaves, before or within the answer, ends the request at the module", async () => {
    for (const head of [false, true]) {
      const arrived = Promise.withResolvers<void>();
      const left = Promise.withResolvers<void>();
      answer = (_request, response) => {
        response.once("close", () => left.resolve());
        if (head) response.write("begun");
        arrived.resolve();
      };
      const client = new AbortController();
      const call = fetch(`${gateway}/v1/things`, { method: "POST", body: "{}", signal: client.signal });
      await arrived.promise;
      if (head) await call;
      client.abort();
      await left.promise;
      if (!head) await expect(call).rejects.toThrow();
    }
  });

  test("a client that has left before its request is handed on reaches no module", async () => {
    answer = (_request, response) => response.end();
    const client = httpRequest(`${gateway}/v1/things`, { headers: { "x-wait": "yes" } });
    client.on("error", () => undefined);
    client.end();
    await held.promise;
    client.destroy();
    await left.promise;
    await fetch(`${gateway}/v1/things`);
    expect(received).toHaveLength(1);
  });

  test("requests at the same time are not mistaken for each other", async () => {
    answer = (request, response) => response.end(request.url);
    const paths = Array.from({ length: 50 }, (_, index) => `/v1/things/${index}?n=${index}`);
    const answers = paths.map(async (path) => (await fetch(`${gateway}${path}`)).text());
    expect(await Promise.all(answers)).toEqual(paths);
  });

  test("a client that leaves in the middle of its upload ends the request at the module", async () => {
    const arrived = Promise.withResolvers<void>();
    const left = Promise.withResolvers<void>();
    answer = (request) => {
      request.once("data", () => arrived.resolve());
      request.once("close", () => left.resolve());
    };
    const client = httpRequest(`${gateway}/v1/things`, { method: "POST" });
    client.on("error", () => undefined);
    client.write("begun");
    await arrived.promise;
    client.destroy();
    await left.promise;
  });
});
