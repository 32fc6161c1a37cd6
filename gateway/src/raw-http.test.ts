// Guarantees for odd HTTP over a raw socket: one request gets one answer, or a refusal in our envelope.
// No spelling of a path is authenticated as one route and served as another.
import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { rowOf } from "./routes.ts";
import { NO_CREDIT, type Seen } from "./test/fake-modules.ts";
import { sendRaw } from "./test/raw-http.ts";
import { type Ring, startRing, topologies } from "./test/ring.ts";

const POST = "POST /v1/auth/test HTTP/1.1\r\nHost: x\r\n";
const GET = "GET /v1/models HTTP/1.1\r\n";

describe.each(topologies)("raw HTTP, %s", (topology) => {
  let ring: Ring;
  let normal: string;
  let management: string;

  beforeAll(async () => {
    ring = await startRing(topology);
    normal = ring.keys.add("normal").secret;
    management = ring.keys.add("management").secret;
  });
  afterAll(() => ring.stop());

  test.each([
    [
      "length and chunks",
      `${POST}Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n`,
    ],
    ["two lengths", `${POST}Content-Length: 6\r\nContent-Length: 5\r\n\r\n123456`],
    ["the same length twice", `${POST}Content-Length: 5\r\nContent-Length: 5\r\n\r\n12345`],
    ["chunks, then identity", `${POST}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`],
    ["an unknown coding", `${POST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
    ["a space before a colon", `${POST}Content-Length : 5\r\n\r\n12345`],
    ["a folded header", `${GET}Host: x\r\nA: b\r\n c\r\n\r\n`],
    ["bare line feeds", "GET /v1/models HTTP/1.1\nHost: x\n\n"],
    ["a signed length", `${POST}Content-Length: +5\r\n\r\n12345`],
    ["a hexadecimal chunk size", `${POST}Transfer-Encoding: chunked\r\n\r\n0x5\r\n12345\r\n0\r\n\r\n`],
    [
      "a line feed in a chunk extension",
      `${POST}Transfer-Encoding: chunked\r\n\r\n5;a\nb\r\n12345\r\n0\r\n\r\n`,
    ],
    ["no Host", `${GET}\r\n`],
    ["two Hosts", `${GET}Host: a\r\nHost: b\r\n\r\n`],
    ["the same Host twice", `${GET}Host: x\r\nhOST: x\r\n\r\n`],
    ["a full URL as target", "GET http://evil/v1/models HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["a target without a slash", "GET v1/models HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["an asterisk as target", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["a tunnel", "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n"],
    ["a fragment", "GET /v1/models#/../api-keys HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["a NUL", `${GET}Host: x\r\nA: b\0c\r\n\r\n`],
    ["no HTTP at all", "hello\r\n\r\n"],
    ["another HTTP version", "GET /v1/models HTTP/3.7\r\nHost: x\r\n\r\n"],
    ["TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"],
  ])("%s: one refusal and nothing more", async (_name, bytes) => {
    const before = ring.keys.lookUps;
    const answers = await sendRaw(ring.baseUrl, bytes);
    // A request with a valid head may be refused for its missing key before its body is found to be broken.
    expect(answers).toHaveLength(1);
    const [answer] = answers;
    expect([400, 401]).toContain(answer?.status);
    expect(JSON.parse(answer?.body ?? "")).toMatchObject({ error: { message: expect.any(String) } });
    expect(answer?.head).toMatch(/x-request-id: [0-9a-f-]{36}/i);
    expect(ring.keys.lookUps).toBe(before);
  });

  test("HEAD that is not valid is answered without a body", async () => {
    const [answer] = await sendRaw(ring.baseUrl, "HEAD /v1/models HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n");
    expect(answer).toMatchObject({ status: 400, body: "" });
    expect(answer?.head).toMatch(/content-length: [1-9]/i);
  });

  test("two Authorization headers are refused, whichever of them is right", async () => {
    for (const [first, second] of [
      [normal, "x"],
      ["x", normal],
      [normal, normal],
    ]) {
      const [answer] = await sendRaw(
        ring.baseUrl,
        `GET /v1/credits HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${first}\r\nauthorization: Bearer ${second}\r\n\r\n`,
      );
      expect(answer?.status).toBe(401);
    }
  });

  test.each(["Content-Type", "Idempotency-Key"])("two %s headers are refused, alike or not", async (name) => {
    for (const [first, second] of [
      ["application/json", "application/json"],
      ["application/json", "text/plain"],
      ["application/json", ""],
    ]) {
      const answers = await sendRaw(
        ring.baseUrl,
        `POST /v1/compat/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${normal}\r\n` +
          `${name}: ${first}\r\n${name.toUpperCase()}: ${second}\r\nContent-Length: 2\r\n\r\n{}`,
      );
      expect(answers.map(({ status }) => status)).toEqual([400]);
      const { error } = JSON.parse(answers[0]?.body ?? "") as { error: object };
      expect(error).toMatchObject({
        code: "invalid_http",
        param: name,
        message: expect.stringContaining(name),
      });
    }
  });

  test("a client cannot have its identity dropped or replaced through Connection", async () => {
    const [answer] = await sendRaw(
      ring.baseUrl,
      `GET /v1/credits HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${normal}\r\n` +
        "Connection: close, x-gr-principal, authorization, x-request-id\r\nX-Gr-Principal: forged\r\n\r\n",
    );
    expect(answer?.status).toBe(200);
    expect((JSON.parse(answer?.body ?? "") as Seen).principal).toMatchObject({ kind: "normal" });
  });

  test("an expectation is no reason to answer outside the envelope", async () => {
    const head = `POST /v1/auth/test HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${normal}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n`;
    const [unknown] = await sendRaw(ring.baseUrl, `${head}Expect: miracles\r\n\r\n{}`);
    expect(unknown?.status).toBe(200);
    const proceed = await sendRaw(ring.baseUrl, `${head}Expect: 100-continue\r\n\r\n{}`);
    expect(proceed.map(({ status }) => status)).toEqual([100, 200]);
  });

  describe("whoever waits for a word before sending a body", () => {
    const IMAGES = "/v1/compat/images/generations";
    const BODY = `{"prompt":"${"a".repeat(3 * 1024 * 1024)}"}`;
    const waiting = (secret: string, path: string, length: number, more = "") =>
      `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${length}\r\nExpect: 100-continue\r\n${more}\r\n`;

    test.each([2, BODY.length])("is not told to go on without a key, at %s bytes", async (length) => {
      const answers = await sendRaw(ring.baseUrl, waiting("gr_live_nobody", IMAGES, length));
      expect(answers.map(({ status }) => status)).toEqual([401]);
    });

    test("is not told to go on when there is no credit for the body", async () => {
      const answers = await sendRaw(
        ring.baseUrl,
        waiting(normal, IMAGES, BODY.length, `Idempotency-Key: ${NO_CREDIT}\r\n`),
      );
      expect(answers.map(({ status }) => status)).toEqual([402]);
    });

    test.each(["{}", BODY])("is told once, and its body arrives whole (%#)", async (body) => {
      const answers = await sendRaw(ring.baseUrl, waiting(normal, IMAGES, body.length) + body);
      expect(answers.map(({ status }) => status)).toEqual([100, 200]);
      expect(JSON.parse(answers[1]?.body ?? "")).toMatchObject({ bytes: body.length });
    });

    test("hears the word although it has sent nothing yet", async () => {
      const { hostname, port } = new URL(ring.baseUrl);
      const socket = connect(Number(port), hostname);
      socket.write(waiting(normal, IMAGES, BODY.length));
      const [word] = await once(socket, "data");
      expect(String(word)).toBe("HTTP/1.1 100 Continue\r\n\r\n");
      socket.destroy();
    });
  });

  test.each([
    "/v1/%61pi-keys",
    "/v1/api%2Dkeys",
    "/%761/credits",
    "/v1%2Fcredits",
    "/v1/models%2F..%2Fapi-keys",
    "/V1/credits",
    "/v1/Credits",
    "//v1/credits",
    "/v1//credits",
    "/v1/credits;a",
    "/inside/../v1/credits",
  ])("%s is not another name of a route", async (path) => {
    for (const secret of [normal, management]) {
      const [answer] = await sendRaw(
        ring.baseUrl,
        `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\nConnection: close\r\n\r\n`,
      );
      expect([400, 404]).toContain(answer?.status);
    }
  });

  test("however a path is spelt, the route that serves it lies under the row that let the caller in", async () => {
    const piece = fc.constantFrom(
      ..."v1 models auth test api-keys credits media compat images generations . .. %2e %2E%2e ..%2f %2f %5c \\ ; ? # %00 a b%2Fc".split(
        " ",
      ),
    );
    const prefix = fc.constantFrom("/v1/auth", "/v1/models", "/media", "/v1/credits", "/v1/api-keys", "");
    const rest = fc.array(fc.tuple(fc.constantFrom("/", "//", ""), piece), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(prefix, rest, fc.boolean(), async (start, pieces, asManager) => {
        const target = `${start}${pieces.flat().join("")}` || "/";
        const secret = asManager ? management : normal;
        const [answer] = await sendRaw(
          ring.baseUrl,
          `GET ${target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\nConnection: close\r\n\r\n`,
        );
        expect([200, 400, 401, 404, 405]).toContain(answer?.status);
        if (answer?.status !== 200) return;
        const { route, principal } = JSON.parse(answer.body) as Seen;
        const row = rowOf(target, "GET");
        expect(row).toBeDefined();
        expect(rowOf(route, "GET")).toBe(row);
        const wanted = { management: "management", normal: "normal", optional: "normal", public: undefined };
        const kind = (principal as { kind: string } | null)?.kind;
        expect(kind).toBe(wanted[row?.access ?? "public"]);
      }),
      { numRuns: 150 },
    );
  });
});
