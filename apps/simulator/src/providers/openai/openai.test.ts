// OpenAI's text format: no cost anywhere, usage of streams on request, errors in OpenAI's shape.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import OpenAI from "openai";
import { type RunningSimulator, startSimulator } from "../../server.ts";
import { chat, payloadsOf, TestClient } from "../../test-client.ts";

const CHAT = "/openai/v1/chat/completions";

let simulator: RunningSimulator;
let client: TestClient;
let openai: OpenAI;

beforeAll(async () => {
  simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
  client = new TestClient(simulator.url);
  openai = new OpenAI({ baseURL: `${simulator.url}/openai/v1`, apiKey: "test", maxRetries: 0 });
});
afterAll(() => simulator.close());

describe("chat completions", () => {
  test("report usage but no cost, and are billed by it", async () => {
    const answer = await client.post(CHAT, chat("sandbox/chat", "hi"), { "x-request-id": "openai-1" });
    expect(answer.text).not.toContain("cost");
    expect(answer.headers.get("x-request-id")).toMatch(/^req_/);
    const { usage } = JSON.parse(answer.text);
    expect(await client.billed("openai-1")).toBe(
      500_000n * BigInt(usage.prompt_tokens) + 1_500_000n * BigInt(usage.completion_tokens),
    );
  });

  test("stream usage only when asked, in a last chunk without choices", async () => {
    type Chunk = { choices: object[]; usage?: object | null };
    const silent = await client.post(CHAT, chat("sandbox/chat", "hi", { stream: true }));
    expect(silent.text).not.toContain("usage");
    expect(silent.text.endsWith("data: [DONE]\n\n")).toBe(true);
    const asked = await client.post(
      CHAT,
      chat("sandbox/chat", "hi", { stream: true, stream_options: { include_usage: true } }),
    );
    const chunks = payloadsOf<Chunk>(asked.text);
    expect(chunks.slice(0, -1).every(({ usage }) => usage === null)).toBe(true);
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 5 } });
    expect(asked.text).not.toContain("cost");
  });

  test("are read by the openai package", async () => {
    const stream = await openai.chat.completions.create({
      model: "sandbox/chat",
      messages: [{ role: "user", content: "Is the sea blue?" }],
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = "";
    let tokens = 0;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      tokens = chunk.usage?.completion_tokens ?? tokens;
    }
    expect(text).toContain("Is the sea blue?");
    expect(tokens).toBeGreaterThan(0);
  });
});

describe("responses", () => {
  test("stream without [DONE] and without cost, and are read by the openai package", async () => {
    const { text } = await client.post("/openai/v1/responses", {
      model: "sandbox/chat",
      input: "hi",
      stream: true,
    });
    expect(text).not.toMatch(/DONE|cost/);
    expect(text.startsWith("event: response.created\n")).toBe(true);
    const response = await openai.responses.create({
      model: "sandbox/chat",
      instructions: "Be brief.",
      input: "Is the sea blue?",
    });
    expect(response.output_text).toContain("Is the sea blue?");
    expect(response.instructions).toBe("Be brief.");
    expect(response.usage?.input_tokens).toBe(Math.ceil((9 + 16) / 4) + 2 * 4);
  });

  test("know no earlier response", async () => {
    const { status, text } = await client.post("/openai/v1/responses", {
      model: "sandbox/chat",
      input: "hi",
      previous_response_id: "resp_1",
    });
    expect([status, JSON.parse(text).error.code]).toEqual([400, "previous_response_not_found"]);
  });
});

const PARAMS: Readonly<Record<string, string>> = {
  missing_required_parameter: "messages",
  invalid_type: "stream",
};

describe("errors", () => {
  test.each([
    [{ authorization: "" }, chat("sandbox/chat", "hi"), 401, null],
    [{ authorization: "Bearer invalid" }, chat("sandbox/chat", "hi"), 401, "invalid_api_key"],
    [{}, chat("no-such-model", "hi"), 404, "model_not_found"],
    [{}, { model: "sandbox/chat" }, 400, "missing_required_parameter"],
    [{}, chat("sandbox/chat", "hi", { stream: "yes" }), 400, "invalid_type"],
    [{}, "{", 400, null],
  ])("have OpenAI's shape (%#)", async (headers, body, status, code) => {
    const answer = await client.post(CHAT, body, headers);
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text).error).toEqual({
      message: expect.any(String),
      type: "invalid_request_error",
      // The captured answer for an unknown model has no such member.
      ...(code === "model_not_found" ? {} : { param: PARAMS[code ?? ""] ?? null }),
      code,
    });
  });

  test("an unknown path is named", async () => {
    const { status, text } = await client.post("/openai/v1/nope", {});
    expect([status, JSON.parse(text).error.message]).toEqual([404, "Invalid URL (POST /openai/v1/nope)"]);
  });
});
