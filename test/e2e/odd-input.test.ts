// Random bad bodies, broken bytes and broken HTTP are refused, never with a failure of ours, and nothing is written.
// Odd input that is valid by the specification is not refused.
import { connect } from "node:net";
import { byDepth } from "@gr/testing/depth";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { abyss } from "./bad-values.ts";
import { brokenBytes, wrongBody } from "./body-grammar.ts";
import { bodyOf, type Endpoint, endpoints } from "./endpoints.ts";
import { type Answer, call } from "./http.ts";
import { complaintOf, expectNothingWritten } from "./refusal.ts";
import { type Router, startRouter } from "./topology.ts";

const UNLIMITED = {
  RATE_LIMIT_TEXT_PER_SECOND: "0",
  RATE_LIMIT_MEDIA_PER_SECOND: "0",
  RATE_LIMIT_OTHER_PER_SECOND: "0",
  RATE_LIMIT_ANONYMOUS_PER_SECOND: "0",
};
const BATCH = 25;
const GIVE_UP_MS = 10_000;
/** The long form has the random input alone. */
const IS_QUICK = byDepth({ quick: true, deep: false });
/** Together more than 3,000 bodies in the long form. */
const FUZZ = { numRuns: byDepth({ quick: 4, deep: 16 }), endOnFailure: true };

let router: Router;
/** A key without money: a valid request is 402 and changes nothing. */
let pennilessKey: string;
beforeAll(async () => {
  router = await startRouter("all-in-one", { inProcess: true, env: UNLIMITED });
  const body = { name: "penniless", spend_limit: 0 };
  pennilessKey = (await call(router, "POST", "/v1/api-keys", { key: router.managementKey, body })).body.key;
});
afterAll(async () => {
  await router?.dispose();
});

const keyOf = ({ management }: Endpoint) => (management === true ? router.managementKey : router.apiKey);

async function post(
  { path }: Pick<Endpoint, "path">,
  key: string,
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const response = await fetch(router.baseUrl + path, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    body: Buffer.isBuffer(body) ? new Uint8Array(body) : body,
  });
  const text = await response.text();
  const json = response.headers.get("content-type")?.includes("json") === true;
  return { status: response.status, headers: response.headers, body: json ? JSON.parse(text) : text };
}

describe("random input", () => {
  expectNothingWritten(() => router);

  test.each(endpoints)(
    "a body of $path with wrong fields is refused by the name of one of them",
    async (endpoint) => {
      const bodies = fc.array(wrongBody(endpoint), { minLength: BATCH, maxLength: BATCH });
      await fc.assert(
        fc.asyncProperty(bodies, async (batch) => {
          const complaints = await Promise.all(
            batch.map(async ({ text, names }) => {
              const answer = await post(endpoint, keyOf(endpoint), text);
              const complaint = complaintOf(answer, { status: [400, 404], names });
              return complaint === undefined ? [] : [`${text}: ${complaint}`];
            }),
          );
          expect(complaints.flat()).toEqual([]);
        }),
        FUZZ,
      );
    },
  );

  test.each(endpoints.filter(({ spends }) => spends))(
    "broken bytes at $path never break us",
    async (endpoint) => {
      const bodies = fc.array(brokenBytes(bodyOf(endpoint.valid)), { minLength: BATCH, maxLength: BATCH });
      await fc.assert(
        fc.asyncProperty(bodies, async (batch) => {
          const statuses = await Promise.all(
            batch.map(async (bytes) => [
              (await post(endpoint, pennilessKey, bytes)).status,
              bytes.toString("latin1"),
            ]),
          );
          expect(statuses.filter(([status]) => ![400, 402, 404].includes(Number(status)))).toEqual([]);
        }),
        FUZZ,
      );
    },
  );
});

/** Returns all received bytes until the router closes; with `end`, our side of the connection is closed at once. */
function sendRaw(router: Router, bytes: string, { end }: { end: boolean }): Promise<string> {
  const { hostname, port } = new URL(router.baseUrl);
  return new Promise((resolve) => {
    let answer = "";
    const socket = connect(Number(port), hostname, () => {
      if (end) socket.end(bytes, "latin1");
      else socket.write(bytes, "latin1");
    });
    socket.setTimeout(GIVE_UP_MS, () => socket.destroy());
    socket.on("data", (chunk) => {
      answer += chunk.toString("latin1");
    });
    // All bytes of a reset connection have arrived before.
    socket.on("error", (error) => socket.destroy(error));
    socket.on("close", () => resolve(answer));
  });
}

describe("broken HTTP", () => {
  if (!IS_QUICK) return;

  const body = '{"model":"sandbox/image","prompt":"a"}';
  const head = (more: string) =>
    `POST /v1/compat/images/generations HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${router.apiKey}\r\ncontent-type: application/json\r\n${more}\r\n`;
  const length = body.length;
  expectNothingWritten(() => router);

  test.each([
    ["a length beyond the body", `content-length: ${length + 1}\r\n`, body],
    ["a length short of the body", `content-length: ${length - 1}\r\nconnection: close\r\n`, body],
    ["a negative length", "content-length: -1\r\n", body],
    ["a length that is no number", "content-length: 0x26\r\n", body],
    ["two lengths", `content-length: ${length}\r\ncontent-length: 5\r\n`, body],
    [
      "a length and chunks",
      `content-length: ${length}\r\ntransfer-encoding: chunked\r\n`,
      `26\r\n${body}\r\n0\r\n\r\n`,
    ],
    ["a chunk that is shorter than it says", "transfer-encoding: chunked\r\n", `ff\r\n${body}\r\n0\r\n\r\n`],
    ["a chunk without a size", "transfer-encoding: chunked\r\n", `zz\r\n${body}\r\n0\r\n\r\n`],
    ["chunks that break off", "transfer-encoding: chunked\r\n", `26\r\n${body}`],
    ["another transfer encoding", "transfer-encoding: gzip\r\n", body],
    ["a header without a colon", "content-length\r\n", body],
    ["a NUL in a header", `idempotency-key: a\0b\r\ncontent-length: ${length}\r\n`, body],
    ["a second Host", `host: y\r\ncontent-length: ${length}\r\n`, body],
    ["20 KB of headers", `x: ${"a".repeat(20_000)}\r\ncontent-length: ${length}\r\n`, body],
    ["no body", "", ""],
  ])("%s is refused or cut off, and writes nothing", async (_what, more, rest) => {
    const answer = await sendRaw(router, head(more) + rest, { end: true });
    expect(answer).toMatch(/^$|^HTTP\/1\.1 4\d\d /);
    expect((await call(router, "POST", "/v1/auth/test")).status).toBe(200);
  });
});

describe("odd but valid", () => {
  if (!IS_QUICK) return;

  const string = (text: string) => JSON.stringify(text);
  const [generations, , , , chat, responses, keys] = endpoints;

  async function accepted(
    endpoint: Endpoint | undefined,
    fields: Readonly<Record<string, string | undefined>>,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    if (endpoint === undefined) throw new Error("there is such an endpoint");
    const answer = await post(endpoint, keyOf(endpoint), bodyOf({ ...endpoint.valid, ...fields }), headers);
    expect([answer.status, answer.status < 300 ? "" : answer.body]).toEqual([
      endpoint.management === true ? 201 : 200,
      "",
    ]);
    return answer;
  }

  test.each([
    [{ quality: "null", size: "null", response_format: '"b64_ephemeral"', output_format: "null", n: "null" }],
    [{ image: "null", "image[]": "[]", mask: '""', "mask[]": "null" }],
    [{ prompt: string("\u{1F98A}".repeat(20_000)) }],
    [{ prompt: '"\\u0000 \\ud800 \u202e\u0627\u0644 __proto__ </svg>"' }],
    [{ n: "1e0" }],
    [{ n: "1.0", size: '"auto"', quality: '"high"' }],
    [{ user: "1", seed: "1e400", style: "null", constructor: "{}", extra: abyss }],
  ])("image %#", async (fields) => {
    await accepted(generations, fields);
  });

  test.each([
    [{ stream: "null", stream_options: "null", temperature: "null", n: "null" }],
    [{ max_tokens: "1e1", n: "1.0", user: '"\\ud800"', metadata: '{"a":"\\u0000"}' }],
    [
      {
        messages:
          '[{"role":"developer","content":[]},{"role":"assistant","content":null},{"role":"user","content":""}]',
      },
    ],
    [
      {
        messages: '[{"role":"user","content":[{"type":"text","text":"a"},{"a":1}],"name":"\u202e"}]',
      },
    ],
    [{ extra: abyss }],
  ])("chat %#", async (fields) => {
    await accepted(chat, fields);
  });

  test.each([
    [{ input: '""' }],
    [{ input: '[{"role":"anyone","content":"a"}]', stream: "null", temperature: "1e0" }],
    [{ input: '[{"type":"reasoning","x":1},{"role":"user","content":[{"type":"input_text","text":"a"}]}]' }],
  ])("responses %#", async (fields) => {
    await accepted(responses, fields);
  });

  test.each([
    [{ spend_limit: "0" }, { spend_limit: 0 }],
    [{ spend_limit: "-0" }, { spend_limit: 0 }],
    [{ spend_limit: "1e2" }, { spend_limit: 100 }],
    [{ spend_limit: "0.1" }, { spend_limit: 0.1 }],
    [
      { spend_limit: "1e-4", spend_limit_period: '"day"' },
      { spend_limit: 0.0001, spend_limit_period: "day" },
    ],
    [
      { spend_limit: "1.50000", spend_limit_period: "null" },
      { spend_limit: 1.5, spend_limit_period: null },
    ],
    [{ spend_limit: "100000000000" }, { spend_limit: 100_000_000_000 }],
    [{ spend_limit: "1e21" }, { spend_limit: 100_000_000_000 }],
    [{ spend_limit: "0.30000000000000004" }, { spend_limit: 0.3 }],
    [
      { spend_limit: "null", spend_limit_period: "null", expires_at: "null" },
      { spend_limit: null, expires_at: null },
    ],
    [{ expires_at: '"2099-01-01T00:00:00+14:00"' }, { expires_at: "2098-12-31T10:00:00.000Z" }],
    [{ expires_at: '"2099-01-01T00:00:00.123456789-12:00"' }, { expires_at: "2099-01-01T12:00:00.123Z" }],
    [{ expires_at: '"2099-01-01"' }, { expires_at: "2099-01-01T00:00:00.000Z" }],
    [{ expires_at: '"2096-02-29T00:00Z"' }, { expires_at: "2096-02-29T00:00:00.000Z" }],
    [{ expires_at: '"9999-12-31T23:59:59.999Z"' }, { expires_at: "9999-12-31T23:59:59.999Z" }],
    [{ name: string("\u{1F98A}".repeat(200)) }, { name: "\u{1F98A}".repeat(200) }],
    [{ name: '" __proto__\\u202e\\t"' }, { name: " __proto__\u202e\t" }],
    [
      { is_management: "null", max_budget: "null" },
      { is_management: false, spend_limit: null },
    ],
  ])("key %#", async (fields, expected) => {
    const { body } = await accepted(keys, fields);
    expect(body).toMatchObject(expected);
    const { status } = await call(router, "DELETE", `/v1/api-keys/${body.id}`, { key: router.managementKey });
    expect(status).toBe(200);
  });

  test.each([
    { "content-type": "application/json; charset=utf-8" },
    { "content-type": "Application/JSON" },
    { "idempotency-key": "k".repeat(255) },
    { "idempotency-key": 'a "b" \\ ~' },
    { "x-unknown": "\u00ff" },
  ])("header %j", async (headers) => {
    await accepted(generations, {}, headers);
  });

  test.each([
    "/v1/models?limit=1&unknown=1",
    "/v1/models?limit=007",
    "/v1/models?limit=99999999999999999999",
    "/v1/models?name=&provider=",
    "/v1/models?name=%00&provider=%F0%9F%98%80",
    "/v1/models?type=video&free=false&sort=date&limit=3",
    "/v1/credits?by_api_key=false&x[]=1",
  ])("GET %s", async (path) => {
    expect((await call(router, "GET", path)).status).toBe(200);
  });

  test("POST /v1/auth/test looks at no body", async () => {
    for (const body of ["{", "[]", "\0"])
      expect((await call(router, "POST", "/v1/auth/test", { body })).status).toBe(200);
  });
});
