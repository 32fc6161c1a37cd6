// Each fault has the effect of its name, in both formats, with the bill in README.md.
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { request } from "undici";
import { Bill } from "./bill/bill.ts";
import { type RunningSimulator, startSimulator } from "./server.ts";
import { chat, costsIn, payloadsOf, TestClient, withFolder } from "./test-client.ts";

const CHAT = "/openrouter/api/v1/chat/completions";
const RESPONSES = "/openrouter/api/v1/responses";
/** "hi" is one token, its message four. */
const INPUT_COST = 5n * 500_000n;
const OUTPUT_PRICE = 1_500_000n;

let simulator: RunningSimulator;
let client: TestClient;
let number = 0;

beforeAll(async () => {
  simulator = await startSimulator({ host: "127.0.0.1", port: 0, tokenDelayMs: 1 });
  client = new TestClient(simulator.url);
});
afterAll(() => simulator.close());

function freshId(): Record<"x-request-id", string> {
  number++;
  return { "x-request-id": `fault-${number}` };
}

async function total(): Promise<string> {
  return (await client.bill()).total_pico_usd;
}

/** Sends bytes and returns all received text up to the connection's end. */
async function exchange(bytes: string): Promise<string> {
  const { hostname, port } = new URL(simulator.url);
  const socket = connect(Number(port), hostname);
  socket.write(bytes);
  let received = "";
  for await (const chunk of socket) received += String(chunk);
  return received;
}

describe("sandbox/chat-error", () => {
  test("fails with 500 before the first byte, in the format's shape, and bills nothing", async () => {
    const before = await total();
    for (const stream of [false, true]) {
      const there = await client.post(CHAT, chat("sandbox/chat-error", "hi", { stream }));
      expect([there.status, JSON.parse(there.text).error.code]).toEqual([500, 500]);
      const here = await client.post("/openai/v1/responses", {
        model: "sandbox/chat-error",
        input: "hi",
        stream,
      });
      expect([here.status, JSON.parse(here.text).error.type]).toEqual([500, "server_error"]);
    }
    expect(await total()).toBe(before);
  });
});

describe("a hanging model", () => {
  test.each([
    [CHAT, chat("sandbox/chat-hang", "hi")],
    [RESPONSES, { model: "sandbox/chat-hang", input: "hi", stream: true }],
    ["/openai/v1/images/generations", { model: "sandbox/image-hang", prompt: "hi" }],
  ])("at %s never answers, ends with its client, and bills nothing", async (path, body) => {
    const before = await total();
    const leave = new AbortController();
    const answer = client.open(path, body, freshId(), leave.signal);
    expect(await Promise.race([answer.then(() => "answered"), sleep(100, "silent")])).toBe("silent");
    leave.abort();
    await expect(answer).rejects.toThrow();
    expect(await total()).toBe(before);
  });

  test("is let go when the simulator stops", async () => {
    const other = await startSimulator({ host: "127.0.0.1", port: 0 });
    const answer = new TestClient(other.url).open(CHAT, chat("sandbox/chat-hang", "hi"));
    const failed = expect(answer).rejects.toThrow();
    await sleep(1_000);
    await other.close();
    await failed;
  });
});

describe("sandbox/chat-reset", () => {
  test("breaks a stream after three tokens and bills them", async () => {
    const id = freshId();
    const body = JSON.stringify(chat("sandbox/chat-reset", "hi", { stream: true }));
    // A plain socket: when a connection breaks, HTTP clients drop their unread data.
    const text = await exchange(
      `POST ${CHAT} HTTP/1.1\r\nhost: test\r\nauthorization: Bearer test\r\ncontent-type: application/json\r\n` +
        `x-request-id: ${id["x-request-id"]}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    expect(payloadsOf(text)).toHaveLength(1 + 3);
    expect(text).not.toContain("[DONE]");
    expect(text.endsWith("0\r\n\r\n")).toBe(false);
    expect(await client.billed(id["x-request-id"])).toBe(INPUT_COST + 3n * OUTPUT_PRICE);
    await expect(
      client.post(RESPONSES, { model: "sandbox/chat-reset", input: "hi", stream: true }),
    ).rejects.toThrow();
  });

  test("breaks a whole answer before its first byte and bills three tokens", async () => {
    for (const path of [CHAT, "/openai/v1/chat/completions"]) {
      const id = freshId();
      await expect(client.post(path, chat("sandbox/chat-reset", "hi"), id)).rejects.toThrow();
      expect(await client.billed(id["x-request-id"])).toBe(INPUT_COST + 3n * OUTPUT_PRICE);
    }
  });

  test("tells the look-up that it was cut off", async () => {
    const id = freshId();
    await expect(client.post(CHAT, chat("sandbox/chat-reset", "hi"), id)).rejects.toThrow();
    const found = await client.get(`/openrouter/api/v1/generation?id=${id["x-request-id"]}`);
    expect(JSON.parse(found.text).data).toMatchObject({ cancelled: true, native_tokens_completion: 3 });
  });
});

describe("sandbox/chat-no-usage", () => {
  test("answers without any usage, is billed, and can be looked up", async () => {
    for (const [path, body] of [
      [CHAT, chat("sandbox/chat-no-usage", "hi")],
      [CHAT, chat("sandbox/chat-no-usage", "hi", { stream: true })],
      [RESPONSES, { model: "sandbox/chat-no-usage", input: "hi" }],
      [RESPONSES, { model: "sandbox/chat-no-usage", input: "hi", stream: true }],
    ] as const) {
      const id = freshId();
      const answer = await client.post(path, body, id);
      expect(answer.status).toBe(200);
      expect(costsIn(answer.text)).toEqual([]);
      expect(answer.text).not.toMatch(/"usage":\{/);
      expect(answer.text).toContain("hi");
      const billed = await client.billed(id["x-request-id"]);
      expect(billed).toBeGreaterThan(INPUT_COST);
      const found = await client.get(`/openrouter/api/v1/generation?id=${id["x-request-id"]}`);
      expect(JSON.parse(found.text).data.native_tokens_prompt).toBe(5);
    }
  });
});

describe("a word in the message", () => {
  const tools = [{ type: "function", function: { name: "f" } }];

  test("does to any model what fault models do", async () => {
    const before = await total();
    const failed = await client.post(CHAT, chat("sandbox/chat", "please #fail"));
    expect(failed.status).toBe(500);
    const limited = await client.post(RESPONSES, { model: "sandbox/chat", input: "#429" });
    expect([limited.status, limited.headers.get("retry-after")]).toEqual([429, "1"]);
    const leave = new AbortController();
    const hanging = client.open(CHAT, chat("sandbox/chat", "#hang"), freshId(), leave.signal);
    expect(await Promise.race([hanging.then(() => "answered"), sleep(100, "silent")])).toBe("silent");
    leave.abort();
    await expect(hanging).rejects.toThrow();
    expect(await total()).toBe(before);
    expect((await client.post(CHAT, chat("sandbox/chat", "#no-usage"))).text).not.toMatch(/"usage":\{/);
  });

  test("breaks a connection after so many tokens, of a call too, and these are billed", async () => {
    const id = freshId();
    await expect(client.post(CHAT, chat("sandbox/chat", "#reset=7", { stream: true }), id)).rejects.toThrow();
    expect(await client.billed(id["x-request-id"])).toBe(6n * 500_000n + 7n * OUTPUT_PRICE);
    const other = freshId();
    await expect(client.post(CHAT, chat("sandbox/chat", "#reset=1", { tools }), other)).rejects.toThrow();
    expect(await client.billed(other["x-request-id"])).toBe(6n * 500_000n + OUTPUT_PRICE);
  });

  test("makes arguments of calls and values for schemas that are no JSON", async () => {
    const call = JSON.parse((await client.post(CHAT, chat("sandbox/chat", "#bad-json", { tools }))).text);
    const { arguments: args } = call.choices[0].message.tool_calls[0].function;
    expect(() => JSON.parse(args)).toThrow();
    const format = { response_format: { type: "json_object" } };
    const value = JSON.parse((await client.post(CHAT, chat("sandbox/chat", "#bad-json", format))).text);
    expect(() => JSON.parse(value.choices[0].message.content)).toThrow();
  });
});

describe("a client that leaves", () => {
  test("mid-stream is billed for the tokens made so far, once", async () => {
    const id = freshId();
    const leave = new AbortController();
    const body = chat("sandbox/chat", "hi #tokens=16000", { stream: true });
    const response = await client.open(CHAT, body, id, leave.signal);
    const reader = response.body?.getReader();
    for (let read = 0; read < 3; read++) await reader?.read();
    leave.abort();
    const billed = await client.billed(id["x-request-id"]);
    expect(billed).toBeGreaterThan(INPUT_COST);
    expect(billed).toBeLessThan(INPUT_COST + 16_000n * OUTPUT_PRICE);
    await sleep(50);
    expect(await client.billed(id["x-request-id"])).toBe(billed);
  });

  test("is billed also when the simulator stops under it", () =>
    withFolder(async (dataDir) => {
      const other = await startSimulator({ host: "127.0.0.1", port: 0, tokenDelayMs: 60_000, dataDir });
      const there = new TestClient(other.url);
      const response = await there.open(CHAT, chat("sandbox/chat", "hi", { stream: true }));
      const ended = expect(response.text()).rejects.toThrow();
      await other.close();
      await ended;
      const bill = await Bill.open(dataDir);
      expect(bill.items).toMatchObject([{ outputTokens: 1, cancelled: true }]);
      expect(bill.total).toBe(INPUT_COST + OUTPUT_PRICE);
      bill.close();
    }));
});

describe("a slow reader", () => {
  test("holds the tokens back instead of filling the memory", async () => {
    const fast = await startSimulator({ host: "127.0.0.1", port: 0, tokenDelayMs: 0 });
    const there = new TestClient(fast.url);
    // With two choices and the log probabilities of 20 other tokens beside each token, a whole answer is longer than
    // the kernel's buffers (33 MB and 4 MB). The pace of its reader alone therefore decides its progress.
    const long = { stream: true, logprobs: true, top_logprobs: 20, n: 2 };
    const opened = await Promise.all(
      Array.from({ length: 3 }, (_, index) =>
        request(`${fast.url}${CHAT}`, {
          method: "POST",
          headers: {
            authorization: "Bearer test",
            "content-type": "application/json",
            "x-request-id": `slow-${index}`,
          },
          body: JSON.stringify(chat("sandbox/chat", "hi #tokens=16000", long)),
        }),
      ),
    );
    await sleep(300);
    // A stream without a reader stops far below its end, and so is not billed.
    expect((await there.bill()).items).toEqual([]);
    const [first, ...others] = opened;
    const whole = await first?.body.text();
    expect(whole).toContain("[DONE]");
    expect(whole?.length).toBeGreaterThan(38_000_000);
    for (const { body } of others) body.destroy();
    for (let index = 0; index < 3; index++) {
      const billed = await there.billed(`slow-${index}`);
      if (index > 0) expect(billed).toBeLessThan(INPUT_COST + 32_000n * OUTPUT_PRICE);
    }
    await fast.close();
  });
});

test("200 streams at once and thousands of requests on few connections are all answered and billed", async () => {
  const before = (await client.bill()).items.length;
  const streams = await Promise.all(
    Array.from({ length: 200 }, () => client.post(CHAT, chat("sandbox/chat", "hi", { stream: true }))),
  );
  expect(streams.filter(({ text }) => text.endsWith("data: [DONE]\n\n"))).toHaveLength(200);
  for (let round = 0; round < 40; round++) {
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => client.post(CHAT, chat("sandbox/chat", "hi"))),
    );
    expect(answers.every(({ status }) => status === 200)).toBe(true);
  }
  expect((await client.bill()).items.length - before).toBe(2200);
});
