// Requests with an Idempotency-Key: charged at most once, for any behaviour of the client, and replayed byte for byte.
// The key of a failed request that cost nothing can be used again.
import type { ServerResponse } from "node:http";
import { connect } from "node:net";
import { HoldState } from "@gr/proto/billing";
import { streamPieces, until } from "@gr/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { CALLER_HEADER, principal } from "./test/front-door.ts";
import { StreamReader } from "./test/read-stream.ts";
import { chat, idOf, type Rig, startRig } from "./test/rig.ts";
import { ScriptedUpstream, sendJson, startStream } from "./test/scripted-upstream.ts";

const PATIENCE = { timeoutMs: 60_000 };
type Path = "chat/completions" | "responses";
let upstream: ScriptedUpstream;
let rig: Rig;

beforeAll(async () => {
  upstream = await new ScriptedUpstream().start();
  rig = await startRig(upstream.url, { RESOLVE_INTERVAL_MS: "100" });
});
afterAll(async () => {
  await rig?.stop();
  await upstream?.stop();
});

let keys = 0;
function newKey(): string {
  keys += 1;
  return `key ${keys}`;
}
function ask(key: string, body: unknown, path: Path = "chat/completions", init: RequestInit = {}) {
  return rig.post(path, body, { ...init, headers: { "idempotency-key": key } });
}
async function read(answer: Promise<Response> | Response) {
  const response = await answer;
  const { headers, status } = response;
  return {
    id: idOf(response),
    status,
    text: await response.text(),
    replayed: headers.get("idempotency-replayed"),
    headers,
  };
}
/** Operations on the money of a request. */
const movesOf = (id: string) => rig.billing.callsOf(id).filter(({ kind }) => kind !== "readAnswer");
const kindsOf = (id: string) => movesOf(id).map(({ kind }) => kind);

const hello = chat("sandbox/chat", "hi");
const streamed = chat("sandbox/chat", "hi", { stream: true });
const respond = { model: "sandbox/chat", input: "hi", stream: true };
const WHOLE =
  '{"id":"gen-1", "choices":[{"message":{"content":"hé"}}],"usage":{"prompt_tokens":1,"completion_tokens":2,"cost":0.00123}}';
const token = (text: string) => `data: {"choices":[{"index":0,"delta":{"content":"${text}"}}]}\n\n`;
const USAGE =
  'data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12,"cost":0.00123}}\n\n';
const DONE = "data: [DONE]\n\n";
const CHAT = [": PROCESSING\n\n", token("a"), token("é"), USAGE, DONE, ": bye\n\n"];
/** Events of an upstream with a usage in every chunk. The last usage counts. */
const USAGES = [
  USAGE.replace("0.00123", "0.0004"),
  token("b"),
  USAGE.replace("0.00123", "0.0008"),
  USAGE,
  DONE,
];
const event = (type: string, fields: string) => `event: ${type}\ndata: {"type":"${type}",${fields}}\n\n`;
const RESPONSES = [
  event("response.created", '"response":{"id":"resp_1","usage":null}'),
  event("response.output_text.delta", '"delta":"a"'),
  event(
    "response.completed",
    '"response":{"id":"resp_1","error":null,"output":[],"usage":{"input_tokens":10,"output_tokens":2,"cost":0.00123}}',
  ),
  "data: [DO",
  "NE]\n\n",
];

const shapes: readonly [string, Path, unknown, () => void][] = [
  ["a whole answer", "chat/completions", hello, () => upstream.script((_, r) => sendJson(r, WHOLE))],
  ["a chat stream", "chat/completions", streamed, () => upstream.script(streamPieces(CHAT))],
  [
    "a chat stream of many usages",
    "chat/completions",
    streamed,
    () => upstream.script(streamPieces([...CHAT.slice(0, 2), ...USAGES])),
  ],
  ["a response stream", "responses", respond, () => upstream.script(streamPieces(RESPONSES))],
];

describe.each(shapes)("%s", (_name, path, body, script) => {
  test("is given again byte for byte, under its own request id, and charged once", async () => {
    script();
    const key = newKey();
    const first = await read(ask(key, body, path));
    const again = await read(ask(key, body, path));
    expect(first).toMatchObject({ status: 200, replayed: null });
    expect(again).toMatchObject({ status: 200, replayed: "true", text: first.text });
    expect(again.id).not.toBe(first.id);
    for (const name of ["content-type", "cache-control", "x-accel-buffering", "x-ratelimit-limit-requests"]) {
      expect([name, again.headers.get(name)]).toEqual([name, first.headers.get(name)]);
    }
    expect(kindsOf(first.id)).toEqual(["place", "keepAnswer", "capture"]);
    expect(movesOf(first.id)).toMatchObject([{}, ...twice({ cost: 1_230_000_000n, credits: 13n })]);
    expect(kindsOf(again.id)).toEqual([]);
    expect(upstream.requests).toHaveLength(1);
  });

  test("is byte for byte what a client without a key gets", async () => {
    script();
    const plain = await read(rig.post(path, body));
    expect((await read(ask(newKey(), body, path))).text).toBe(plain.text);
    expect(kindsOf(plain.id)).toEqual(["place", "capture"]);
  });

  test("that the upstream fails costs nothing, and its key is free for another try", async () => {
    const key = newKey();
    upstream.script((_, response) => sendJson(response, '{"error":{"message":"no"}}', 400));
    const failed = await read(ask(key, body, path));
    expect(failed.status).toBe(400);
    expect(kindsOf(failed.id)).toEqual(["place", "release"]);
    script();
    const again = await read(ask(key, body, path));
    expect(again).toMatchObject({ status: 200, replayed: null });
    expect(kindsOf(again.id)).toEqual(["place", "keepAnswer", "capture"]);
  });
});

function twice<T>(value: T): [T, T] {
  return [value, value];
}

test("the same key at the other endpoint is another request", async () => {
  const key = newKey();
  upstream.script((_, response) => sendJson(response, WHOLE));
  await read(ask(key, hello));
  upstream.script((_, response) =>
    sendJson(response, '{"output":[],"usage":{"input_tokens":1,"output_tokens":1,"cost":0.0001}}'),
  );
  const other = await read(ask(key, { model: "sandbox/chat", input: "hi" }, "responses"));
  expect(other).toMatchObject({ status: 200, replayed: null });
});

describe("a repeat of a request whose model is gone", () => {
  afterEach(() => rig.catalog.restore());
  const isListed = async () => (await read(rig.post("chat/completions", hello))).status === 200;
  const remove = async () => {
    rig.catalog.remove("sandbox/chat");
    await until(async () => !(await isListed()), PATIENCE);
  };
  beforeEach(async () => {
    upstream.script((_, response) => sendJson(response, WHOLE));
    await until(isListed, PATIENCE);
  });

  test.each(shapes)("is given %s again, byte for byte", async (_name, path, body, script) => {
    script();
    const key = newKey();
    const first = await read(ask(key, body, path));
    await remove();
    const sent = upstream.requests.length;
    const again = await read(ask(key, body, path));
    expect(again).toMatchObject({ status: 200, replayed: "true", text: first.text });
    expect(kindsOf(again.id)).toEqual([]);
    expect(upstream.requests).toHaveLength(sent);
  });

  test("is refused when it was not charged, when it is another one, and without its key", async () => {
    const key = newKey();
    await read(ask(key, hello));
    const failed = newKey();
    upstream.script((_, response) => sendJson(response, "{}", 400));
    await read(ask(failed, hello));
    await remove();
    const codeOf = async (answer: Promise<Response>) => JSON.parse((await read(answer)).text).error.code;
    expect(await codeOf(ask(failed, hello))).toBe("model_not_found");
    expect(await codeOf(rig.post("chat/completions", hello))).toBe("model_not_found");
    expect(await codeOf(ask(key, chat("sandbox/chat", "hi!")))).toBe("idempotency_mismatch");
  });
});

describe("a client that leaves", () => {
  test("in the middle of its stream gets all of it by asking again", async () => {
    const released = Promise.withResolvers<void>();
    upstream.script(async (_, response) => {
      startStream(response);
      response.write(CHAT[0] + token("a"));
      await released.promise;
      response.end(CHAT.slice(2).join(""));
    });
    const key = newKey();
    const leaving = new AbortController();
    const response = await ask(key, streamed, "chat/completions", { signal: leaving.signal });
    await response.body?.getReader().read();
    leaving.abort();
    released.resolve();
    await until(() => rig.billing.state(idOf(response)) === HoldState.CAPTURED, PATIENCE);
    expect(await read(ask(key, streamed))).toMatchObject({
      status: 200,
      replayed: "true",
      text: CHAT.join(""),
    });
    expect(upstream.requests).toHaveLength(1);
  });

  test("before its whole answer comes gets it by asking again", async () => {
    const arrived = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    upstream.script(async (_, response) => {
      arrived.resolve();
      await released.promise;
      sendJson(response, WHOLE);
    });
    const key = newKey();
    const leaving = new AbortController();
    const left = ask(key, hello, "chat/completions", { signal: leaving.signal }).catch(() => "left");
    await arrived.promise;
    leaving.abort();
    expect(await left).toBe("left");
    released.resolve();
    await until(() => rig.billing.openHolds.length === 0, PATIENCE);
    const again = await read(ask(key, hello));
    expect(again).toMatchObject({ status: 200, replayed: "true" });
    expect(JSON.parse(again.text)).toMatchObject({ id: "gen-1", cost: 0.0013 });
  });
});

test("clients that the port cuts, since they read nothing, are charged once and get their answers by asking again", async () => {
  const port = await startRig(upstream.url, { ANSWER_STALL_MS: "300" });
  // More than kernels buffer for a client that reads nothing, and small enough to be stored.
  const text = "x".repeat(7 * 1024 * 1024);
  const answer = WHOLE.replace("hé", text);
  upstream.script((_, response) => sendJson(response, answer));
  const wanted = [1, 2, 3, 4].map(newKey);
  const body = JSON.stringify(hello);
  const sockets = wanted.map((key) => {
    const socket = connect(Number(new URL(port.url).port), "127.0.0.1").pause();
    socket.on("error", () => socket.destroy());
    socket.write(
      `POST /v1/compat/chat/completions HTTP/1.1\r\nhost: x\r\nidempotency-key: ${key}\r\n` +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    return socket;
  });
  await until(() => port.billing.openHolds.length === 0 && upstream.requests.length === 4, PATIENCE);
  // A client that does not read detects the disconnection at its next write.
  await until(() => {
    for (const socket of sockets) if (!socket.destroyed) socket.write("\r\n");
    return sockets.every(({ destroyed }) => destroyed);
  }, PATIENCE);
  for (const key of wanted) {
    const again = await port.post("chat/completions", hello, { headers: { "idempotency-key": key } });
    expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([200, "true"]);
    expect(((await again.json()) as { choices: unknown }).choices).toEqual([{ message: { content: text } }]);
  }
  expect(upstream.requests).toHaveLength(4);
  await port.stop();
});

describe("a claimed stream", () => {
  test("keeps no comments of ours", async () => {
    const released = Promise.withResolvers<void>();
    upstream.script(async (_, response) => {
      startStream(response);
      await released.promise;
      response.end(CHAT.join(""));
    });
    // A rig of its own: the other tests compare streams, which must not contain comments that depend on time.
    const lively = await startRig(upstream.url, { TEXT_KEEP_ALIVE_MS: "20" });
    try {
      const init = { headers: { "idempotency-key": newKey() } };
      const response = await lively.post("chat/completions", streamed, init);
      const reader = new StreamReader(response);
      await until(() => reader.text.includes(": keep-alive\n\n"), PATIENCE);
      released.resolve();
      await until(() => reader.done, PATIENCE);
      expect(lively.billing.keptOf(idOf(response))).toEqual({
        contentType: "text/event-stream; charset=utf-8",
        body: CHAT.join(""),
      });
    } finally {
      await lively.stop();
    }
  });

  test("is charged only when the upstream has ended it, with whatever follows its last event", async () => {
    const released = Promise.withResolvers<void>();
    upstream.script(
      streamPieces(CHAT.slice(0, 5), async (response) => {
        await released.promise;
        response.end(": bye\n\n");
      }),
    );
    const response = await ask(newKey(), streamed);
    const id = idOf(response);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(kindsOf(id)).toEqual(["place"]);
    released.resolve();
    expect(await response.text()).toBe(CHAT.join(""));
    expect(kindsOf(id)).toEqual(["place", "keepAnswer", "capture"]);
  });

  test("whose connection breaks after its last event is whole", async () => {
    upstream.script(streamPieces(CHAT.slice(0, 5), (response) => response.destroy()));
    const key = newKey();
    const first = await read(ask(key, streamed));
    expect(first.text).toBe(CHAT.slice(0, 5).join(""));
    expect(await read(ask(key, streamed))).toMatchObject({ replayed: "true", text: first.text });
  });

  test("that breaks is not kept and not charged; its key is free", async () => {
    upstream.generations = (_, response) => sendJson(response, '{"data":{"total_cost":0.001}}');
    upstream.script(streamPieces(CHAT.slice(0, 3), (response) => response.destroy()));
    const key = newKey();
    const broken = await read(ask(key, streamed));
    expect(broken.text).toContain('"finish_reason":"error"');
    await until(() => rig.billing.state(broken.id) === HoldState.RELEASED, PATIENCE);
    expect(kindsOf(broken.id)).toEqual(["place", "release"]);
    upstream.script(streamPieces(CHAT));
    expect(await read(ask(key, streamed))).toMatchObject({ replayed: null, text: CHAT.join("") });
  });
});

describe("an answer larger than 8 MiB", () => {
  const filler = "x".repeat(1024 * 1024);
  test.each([
    ["whole", hello, () => sendLarge],
    [
      "as a stream",
      streamed,
      () => streamPieces([...Array.from({ length: 9 }, () => token(filler)), USAGE, DONE]),
    ],
  ])("(%s) is charged and sent, and cannot be given again", async (_how, body, script) => {
    upstream.script(script());
    const key = newKey();
    const first = await read(ask(key, body));
    expect(first.status).toBe(200);
    expect(first.text.length).toBeGreaterThan(8 * 1024 * 1024);
    // A text of this size also needs more than its first hold.
    expect(kindsOf(first.id).filter((kind) => kind !== "extend")).toEqual(["place", "capture"]);
    const again = await read(ask(key, body));
    expect(again.status).toBe(409);
    expect(JSON.parse(again.text).error).toMatchObject({ code: "idempotency_not_replayable" });
    expect(again.headers.get("x-should-retry")).toBe("false");
    expect(upstream.requests).toHaveLength(1);
  });

  function sendLarge(_: unknown, response: ServerResponse): void {
    sendJson(response, WHOLE.replace("hé", filler.repeat(9)));
  }
});

describe("another API key of the account, under the same Idempotency-Key", () => {
  const OTHER = { [CALLER_HEADER]: `${principal.accountId}/0190c0de-0000-7000-8000-0000000000ff` };
  const askAsOther = (key: string, body: unknown) =>
    read(rig.post("chat/completions", body, { headers: { "idempotency-key": key, ...OTHER } }));

  test.each([
    ["the same body", hello],
    ["another body", chat("sandbox/chat", "ho")],
  ])("has a request of its own with %s, and both get their own answers again", async (_what, body) => {
    let count = 0;
    upstream.script((_, response) => {
      count += 1;
      sendJson(response, WHOLE.replace("gen-1", `gen-${count}`));
    });
    const key = newKey();
    const first = await read(ask(key, hello));
    const second = await askAsOther(key, body);
    expect([first, second].map(({ status, replayed }) => [status, replayed])).toEqual([
      [200, null],
      [200, null],
    ]);
    expect(second.text).not.toBe(first.text);
    expect([kindsOf(first.id), kindsOf(second.id)].map((kinds) => kinds.at(-1))).toEqual([
      "capture",
      "capture",
    ]);
    expect(await read(ask(key, hello))).toMatchObject({ text: first.text, replayed: "true" });
    expect(await askAsOther(key, body)).toMatchObject({ text: second.text, replayed: "true" });
    expect(count).toBe(2);
  });

  test("is not held up while the first one runs", async () => {
    const waiting: ServerResponse[] = [];
    upstream.script((_, response) => {
      waiting.push(response);
      if (waiting.length === 2) for (const each of waiting) sendJson(each, WHOLE);
    });
    const key = newKey();
    const first = read(ask(key, hello));
    await until(() => waiting.length === 1, PATIENCE);
    expect((await askAsOther(key, hello)).status).toBe(200);
    expect((await first).status).toBe(200);
  });
});
