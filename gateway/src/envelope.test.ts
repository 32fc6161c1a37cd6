// Guarantees of answers: each has a request id, and each error has our envelope, from every source and in every
// topology.
import { METHODS } from "node:http";
import { errorRow, errorTable, type Reason } from "@gr/proto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { call, errorOf } from "./test/call.ts";
import type { Seen } from "./test/fake-modules.ts";
import { sendRaw } from "./test/raw-http.ts";
import { type Ring, startRing, topologies } from "./test/ring.ts";

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const CHAT = "/v1/compat/chat/completions";
const reasons = Object.keys(errorTable) as Reason[];

describe.each(topologies)("answers, %s", (topology) => {
  let ring: Ring;
  let key: string;
  let managementKey: string;
  const url = (path: string) => `${ring.baseUrl}${path}`;

  beforeAll(async () => {
    ring = await startRing(topology);
    key = ring.keys.add("normal").secret;
    managementKey = ring.keys.add("management").secret;
  });
  afterAll(() => ring.stop());

  test.each(reasons)("%s reaches the client as its row of the error table says", async (reason) => {
    const answer = await call(url(CHAT), { key, body: { do: "fail", reason } });
    const row = errorRow(reason);
    expect(answer.status).toBe(row.status);
    expect(answer.body).toEqual({
      error: {
        message: `It failed: ${reason}.`,
        type: row.type,
        param: "model",
        ...(row.code === undefined ? {} : { code: row.code }),
      },
    });
    expect(answer.headers.get("content-type")).toMatch(/^application\/json/);
    expect(answer.headers.get("x-request-id")).toMatch(UUID_V7);
    expect(answer.headers.get("x-should-retry")).toBe(
      row.retry === undefined ? null : row.retry === "helps" ? "true" : "false",
    );
    expect(answer.headers.get("retry-after-ms")).toBe("1500");
    expect(answer.headers.get("retry-after")).toBe("2");
  });

  test("an unexpected error is a 500 that quotes the request id and tells nothing else", async () => {
    const answer = await call(url(CHAT), { key, body: { do: "crash" } });
    expect(answer.status).toBe(500);
    expect(errorOf(answer).type).toBe("internal_error");
    expect(errorOf(answer).message).toContain(answer.headers.get("x-request-id"));
    expect(JSON.stringify(answer.body)).not.toContain("inside");
  });

  test("the module works under the id that the client is told", async () => {
    const answer = await call(url("/v1/models"), { headers: { "x-request-id": "chosen-by-the-client" } });
    expect(answer.headers.get("x-request-id")).toMatch(UUID_V7);
    expect((answer.body as Seen).requestId).toBe(answer.headers.get("x-request-id"));
  });

  test.each([
    { path: "/", status: 404 },
    { path: "/nowhere", status: 404 },
    { path: "/v1", status: 404 },
    { path: "/v1/modelsx", status: 404 },
    { path: "/inside/secrets", status: 404 },
    { path: "/livez", status: 404 },
    { path: "/metrics", status: 404 },
    { path: "/openapi-paths.json", status: 404 },
    { path: "/v1/credits/nowhere", status: 404 },
    { path: "/v1/models/%zz", status: 404 },
    { path: "/v1/models/%ff", status: 404 },
    { path: `/v1/api-keys/${"a".repeat(501)}`, status: 404, method: "DELETE", management: true },
  ])("$path is not there", async ({ path, method = "GET", management, status }) => {
    const answer = await call(url(path), { key: management ? managementKey : key, method });
    expect(answer.status).toBe(status);
    expect(errorOf(answer)).toMatchObject({ type: "invalid_request_error", code: "not_found" });
    expect(answer.headers.get("x-request-id")).toMatch(UUID_V7);
  });

  test("a message shows the beginning of a long path only", async () => {
    const answer = await call(url(`/v1/modelsx/${"a".repeat(8_000)}`), { key });
    expect(answer.status).toBe(404);
    expect(errorOf(answer).message.length).toBeLessThan(300);
  });

  test.each([
    { method: "PUT", path: "/v1/credits", allow: "GET, HEAD" },
    { method: "POST", path: "/v1/models", allow: "GET, HEAD" },
    { method: "DELETE", path: "/v1/models/a/b", allow: "GET, HEAD" },
    { method: "GET", path: CHAT, allow: "POST" },
    { method: "PATCH", path: "/v1/compat/images/edits", allow: "POST" },
    { method: "POST", path: "/openapi.json", allow: "GET, HEAD" },
    { method: "QUERY", path: "/openapi.json", allow: "GET, HEAD" },
    { method: "QUERY", path: "/docs", allow: "GET, HEAD" },
    { method: "QUERY", path: "/v1/models", allow: "GET, HEAD" },
    { method: "QUERY", path: CHAT, allow: "POST" },
    { method: "PROPFIND", path: "/v1/credits", allow: "GET, HEAD" },
    { method: "PURGE", path: "/media/name", allow: "GET, HEAD" },
    { method: "QUERY", path: "/console/api/session", allow: "GET, HEAD" },
  ])("$method $path is answered with the methods that are allowed", async ({ method, path, allow }) => {
    const answer = await call(url(path), { key, method });
    expect(answer.status).toBe(405);
    expect(answer.headers.get("allow")).toBe(allow);
    expect(errorOf(answer)).toMatchObject({ type: "invalid_request_error", code: "method_not_allowed" });
  });

  test.each([
    { path: "/v1/credits/" },
    { path: "/v1/credits/?by_api_key=true" },
    { path: "/v1/models/" },
    { path: "/v1/models/a/b/" },
    { path: `${CHAT}/`, body: {} },
    { path: "/v1/api-keys/", as: "management" as const },
    { path: "/openapi.json/" },
    { path: "/docs/" },
  ])("$path with its slash at the end is the path without it", async ({ path, body, as }) => {
    const asked = { key: as === "management" ? managementKey : key, ...(body === undefined ? {} : { body }) };
    const [slash, plain] = await Promise.all(
      [path, path.replace(/\/(?=$|\?)/, "")].map((one) => call(url(one), asked)),
    );
    expect(slash?.status).toBe(200);
    expect([slash?.status, typeof slash?.body]).toEqual([plain?.status, typeof plain?.body]);
  });

  test("a slash at the end changes no refusal: 405, 401, and 404 for two slashes", async () => {
    const wrong = await call(url(`${CHAT}/`), { key, method: "GET" });
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "POST"]);
    expect((await call(url("/v1/credits/"))).status).toBe(401);
    expect((await call(url("/v1/credits//"), { key })).status).toBe(404);
    expect((await call(url("/nowhere/"), { key })).status).toBe(404);
  });

  test("every method that Node reads is not there on a path that is not", async () => {
    // Tunnels are refused before, and preflights are answered for all paths.
    const methods = METHODS.filter((method) => !["CONNECT", "OPTIONS"].includes(method));
    for (const method of methods) {
      const [answer] = await sendRaw(
        ring.baseUrl,
        `${method} /v1/nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
      );
      expect([method, answer?.status]).toEqual([method, 404]);
    }
  });

  test("HEAD is GET without a body", async () => {
    const answer = await call(url("/v1/models"), { method: "HEAD" });
    expect(answer.status).toBe(200);
    expect(answer.body).toBe("");
  });

  test.each([
    { what: "not JSON", body: "{", code: "invalid_json" },
    { what: "an empty body", body: "", code: "invalid_json" },
    { what: "invalid UTF-8", body: new Uint8Array([0x22, 0xff, 0x22]), code: "invalid_json" },
    { what: "a prototype", body: '{"__proto__":{"a":1}}', code: "invalid_json", param: "__proto__" },
    { what: "a wrong value", body: '{"do":"dance"}', code: "invalid_value", param: "do" },
    { what: "a wrong type", body: "[]", code: "invalid_value" },
  ])("a body with $what is a 400", async ({ body, code, param }) => {
    const headers = { "content-type": "application/json" };
    const answer = await call(url(CHAT), { key, body, headers });
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toMatchObject({ type: "invalid_request_error", code });
    expect(errorOf(answer).param).toBe(param);
  });

  test.each(["text/plain", "application/xml", "application/jsonp", "multipart/form-data; boundary=x"])(
    "content type %s is a 415",
    async (type) => {
      const answer = await call(url(CHAT), { key, body: "{}", headers: { "content-type": type } });
      expect(answer.status).toBe(415);
      expect(errorOf(answer).code).toBe("unsupported_media_type");
    },
  );

  test("a body above the route's limit is a 413, declared or not", async () => {
    const mint = url("/v1/api-keys");
    const name = (length: number) => ({ name: "n".repeat(length) });
    expect((await call(mint, { key: managementKey, body: name(200) })).status).toBe(201);
    const declared = await call(mint, { key: managementKey, body: name(3_000_000) });
    expect(declared.status).toBe(413);
    expect(errorOf(declared).code).toBe("body_too_large");
    const chunk = "n".repeat(65_536);
    const chunked = await sendRaw(
      ring.baseUrl,
      `POST /v1/api-keys HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${managementKey}\r\n` +
        "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" +
        `10000\r\n"${chunk.slice(1)}\r\n${`10000\r\n${chunk}\r\n`.repeat(19)}`,
    );
    expect(chunked.map(({ status }) => status)).toEqual([413]);
  });

  test("headers above 16 KB are a 431 in our envelope", async () => {
    const [answer] = await sendRaw(
      ring.baseUrl,
      `GET /v1/models HTTP/1.1\r\nHost: x\r\nA: ${"a".repeat(17_000)}\r\n\r\n`,
    );
    expect(answer?.status).toBe(431);
    expect(JSON.parse(answer?.body ?? "")).toMatchObject({ error: { code: "headers_too_large" } });
    expect(answer?.head).toMatch(/x-request-id: [0-9a-f-]{36}/);
  });

  test("requests are counted by prefix and outcome, whatever paths clients make up", async () => {
    await call(url("/v1/models/counted"));
    await call(url("/made/up/by/a/client"));
    const metrics = await ring.metrics();
    expect(metrics).toMatch(/http_requests_total\{route="\/v1\/models",status="2xx"\} [1-9]/);
    expect(metrics).toMatch(/http_requests_total\{route="other",status="4xx"\} [1-9]/);
    expect(metrics).toMatch(/http_request_duration_seconds_bucket\{le="0.005",route="\/v1\/models"\} \d/);
    expect(metrics).not.toContain("made");
  });
});

test.each([
  ["https://api.example.com", "max-age=31536000"],
  ["http://api.example.com", null],
])("an answer of %s says to browsers: %s", async (PUBLIC_BASE_URL, expected) => {
  const ring = await startRing("one process", { PUBLIC_BASE_URL });
  const { secret } = ring.keys.add("normal");
  for (const answer of [
    await call(`${ring.baseUrl}/docs`),
    await call(`${ring.baseUrl}/nowhere`),
    await call(`${ring.baseUrl}/v1/credits`),
    await call(`${ring.baseUrl}/v1/credits`, { key: secret }),
    await call(`${ring.baseUrl}/v1/models`, { method: "OPTIONS" }),
  ]) {
    expect(answer.headers.get("strict-transport-security")).toBe(expected);
  }
  const [refused] = await sendRaw(ring.baseUrl, "no HTTP\r\n\r\n");
  expect(refused?.head.includes("strict-transport-security")).toBe(expected !== null);
  await ring.stop();
});
