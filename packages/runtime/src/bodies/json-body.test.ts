// Guarantees of JSON bodies: the values of JSON.parse, refusals before the end of the body, and short steps.
import { type AddressInfo, connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { closeHttpApp, createHttpApp } from "../http/http-app.ts";
import { anyone, registerRest, restRoute } from "../http/rest-api.ts";
import { createLogger } from "../process/logger.ts";
import { layoutOfLong, parseJsonBytes } from "./json-body.ts";
import type { ObjectLayout } from "./parse-in-slices.ts";

const MB = 1024 * 1024;

describe("a request", () => {
  let app: FastifyInstance;
  let layout: ObjectLayout | undefined;
  const chunks: Buffer[] = [];
  beforeAll(async () => {
    app = createHttpApp({ log: createLogger("silent", "test"), requestId: () => "id" });
    app.addHook("preParsing", (_request, _reply, payload, done) => {
      payload.on("data", (chunk: Buffer) => chunks.push(chunk));
      done();
    });
    const route = (path: string, bodyAs: "parsed" | "bytes") =>
      restRoute({
        method: "POST",
        path,
        access: anyone,
        summary: "Take a body",
        body: z.unknown(),
        bodyAs,
        bodyLimit: 6 * MB,
        responses: { 200: { description: "Taken" } },
        handle: async ({ body }) => {
          layout = layoutOfLong(body as Buffer);
          return { parsed: bodyAs === "parsed" ? body : parseJsonBytes(body as Buffer) };
        },
      });
    await registerRest(app, { routes: [route("/parsed", "parsed"), route("/bytes", "bytes")] });
    await app.listen({ host: "127.0.0.1", port: 0 });
  });
  afterAll(() => closeHttpApp(app, 0));

  const send = async (payload: string | Buffer, url: string) => {
    const headers = { "content-type": "application/json", host: "x" };
    const { statusCode, body } = await app.inject({ method: "POST", url, payload, headers });
    return { status: statusCode, body: JSON.parse(body) };
  };
  /** Sends the start of a body of 2 MB and no more. @returns the answer */
  const sendStart = (start: string): Promise<string> => {
    const socket = connect((app.server.address() as AddressInfo).port, "127.0.0.1");
    const head = `POST /parsed HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${2 * MB}`;
    socket.write(`${head}\r\n\r\n${start}`);
    return new Promise((resolve, reject) => {
      socket.once("error", reject);
      socket.once("data", (answer) => {
        resolve(answer.toString());
        socket.destroy();
      });
    });
  };

  const long = { text: `é"\\\n`.repeat(100_000), list: Array.from({ length: 20_000 }, (_, n) => ({ n })) };

  test.each(["/parsed", "/bytes"])(
    "with a long body is understood like one with a short: %s",
    async (url) => {
      expect((await send(JSON.stringify(long), url)).body).toEqual({ parsed: long });
      for (const broken of [JSON.stringify(long).slice(0, -1), `${JSON.stringify(long)}x`]) {
        const { status, body } = await send(broken, url);
        expect([status, body.error]).toMatchObject([400, { message: "The body is not valid JSON." }]);
      }
      const notText = Buffer.from(JSON.stringify(long));
      notText[20] = 0xff;
      expect((await send(notText, url)).status).toBe(400);
      expect((await send(`[${" ".repeat(6 * MB)}]`, url)).status).toBe(413);
    },
  );

  test("with a body of many MB is UTF-8 as a whole, wherever it is looked at in parts", async () => {
    const padded = (before: string) => Buffer.from(`"${before}${"😀".repeat(1.01 * MB)}"`);
    for (const before of ["", "x", "xx", "xxx"]) {
      const bytes = padded(before);
      expect((await send(bytes, "/bytes")).body).toEqual({ parsed: JSON.parse(bytes.toString()) });
    }
    // A character that is broken at the end of the first part, or on either side of it.
    for (const at of [4 * MB - 4, 4 * MB - 1, 4 * MB, 4 * MB + 1]) {
      const broken = padded("");
      broken[at] = 0x78;
      const { status, body } = await send(broken, "/bytes");
      expect([status, body.error]).toMatchObject([400, { message: "The body is not valid JSON." }]);
    }
  });

  test("with a long body has the layout of its object, so that nobody scans it again", async () => {
    await send(JSON.stringify(long), "/bytes");
    expect(layout?.members).toHaveLength(2);
    await send(JSON.stringify([long]), "/bytes");
    expect(layout).toBeUndefined();
  });

  test("with a long body from the network frees each chunk once it is copied", async () => {
    chunks.splice(0);
    const { port } = app.server.address() as AddressInfo;
    const answer = await fetch(`http://127.0.0.1:${port}/bytes`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(long),
    });
    expect(await answer.json()).toEqual({ parsed: long });
    expect(chunks.length).toBeGreaterThan(4);
    expect(chunks.filter(({ buffer }) => !(buffer as ArrayBuffer).detached)).toEqual([]);
  });

  test.each([
    ["nested too deep", "[".repeat(200), "nested more than 128"],
    ["with a field twice", '{"a":1,"a":2,', "twice"],
  ])("%s is refused before its body has come", async (_, start, why) => {
    const answer = await sendStart(start);
    expect(answer).toContain("HTTP/1.1 400");
    expect(answer).toContain(why);
  });
});

describe("parseJsonBytes", () => {
  test("reads whatever JSON.stringify writes, and never touches a prototype", () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        const text = JSON.stringify(value);
        if (text.includes('"__proto__"')) return;
        expect(parseJsonBytes(Buffer.from(text))).toEqual(JSON.parse(text));
      }),
    );
    for (const spelling of ['{"__proto__":1}', '{"a":{"\\u005f_proto__":1}}', '{"__proto\\u005f_":{}}']) {
      expect(() => parseJsonBytes(Buffer.from(spelling))).toThrow(/^The body has the field ".*__proto__"/);
    }
  });
});
