// Guarantees of the log of text requests: each request with a hold has one line, with its attempts, its meters and its
// ending. A refused request has none, and no line has a word of a prompt or an answer.
import { TextApi } from "@gr/clients";
import { until } from "@gr/testing";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { chat, idOf, type Rig, startRig } from "./test/rig.ts";
import { ScriptedUpstream, sendJson, startStream } from "./test/scripted-upstream.ts";

const SECRET = "the words of the prompt";
const usage = {
  prompt_tokens: 10,
  completion_tokens: 4,
  total_tokens: 14,
  prompt_tokens_details: { cached_tokens: 3 },
  completion_tokens_details: { reasoning_tokens: 2 },
};

let first: ScriptedUpstream;
let second: ScriptedUpstream;
let rig: Rig;

beforeAll(async () => {
  first = await new ScriptedUpstream().start();
  second = await new ScriptedUpstream().start();
  rig = await startRig("", {
    TEXT_UPSTREAMS: JSON.stringify([
      { name: "first", kind: "openai-compatible", base_url: first.url },
      { name: "second", kind: "openai-compatible", base_url: second.url },
    ]),
  });
});
afterAll(async () => {
  await rig?.stop();
  await first?.stop();
  await second?.stop();
});
beforeEach(() => {
  first.script((_, response) => void response.writeHead(404).end());
});

async function lineOf(response: Response) {
  await response.text();
  const find = () => rig.billing.textLines.find(({ requestId }) => requestId === idOf(response));
  await until(() => find() !== undefined, { timeoutMs: 60_000 });
  const line = find();
  expect(JSON.stringify(line, (_, value) => (typeof value === "bigint" ? `${value}` : value))).not.toMatch(
    /the words|the answer/,
  );
  return line;
}

const attempts = (outcome: string, last = "delivered") => [
  { provider: "first", upstreamModel: "one", outcome },
  { provider: "second", upstreamModel: "two", outcome: last },
];

test("an answer in one piece that the second upstream gave", async () => {
  second.script((_, response) => {
    const choices = [{ message: { content: "the answer" }, finish_reason: "length" }];
    sendJson(response, JSON.stringify({ id: "x", choices, usage }));
  });
  const line = await lineOf(
    await rig.post("chat/completions", chat("shared/chat", SECRET, { user: "anna \u0041" })),
  );
  expect(line).toMatchObject({
    ...{ model: "shared/chat", api: TextApi.CHAT, stream: false, userTag: "anna A", finishReason: "length" },
    usage: { inputTokens: 10n, outputTokens: 4n, cachedInputTokens: 3n, reasoningTokens: 2n },
    attempts: attempts("refused"),
    errorReason: "",
  });
  expect(line?.firstByteMs).toBeUndefined();
  expect(line?.tookMs).toBeGreaterThanOrEqual(0n);
  expect(Number(line?.beganAt)).toBeLessThanOrEqual(Date.now());
});

test.each([
  [
    "with its usage in an event apart",
    `{"finish_reason":"stop","delta":{}}]}\n\ndata: {"choices":[],"usage":`,
  ],
  ["with its usage in the event that ends it", `{"finish_reason":"stop","delta":{}}],"usage":`],
])("a stream %s", async (_what, end) => {
  second.script((_request, response) => {
    startStream(response);
    response.write(
      'data: {"id":"x","choices":[{"delta":{"content":"the answer"},"finish_reason":null}]}\n\n',
    );
    response.end(`data: {"id":"x","choices":[${end}${JSON.stringify(usage)}}\n\ndata: [DONE]\n\n`);
  });
  const line = await lineOf(
    await rig.post("chat/completions", chat("shared/chat", SECRET, { stream: true })),
  );
  expect(line).toMatchObject({
    ...{ stream: true, finishReason: "stop", userTag: "", usage: { outputTokens: 4n } },
    attempts: attempts("refused"),
  });
  expect(line?.firstByteMs).toBeGreaterThanOrEqual(0n);
});

test.each([
  ["completed", {}, "completed"],
  ["incomplete", { incomplete_details: { reason: "max_output_tokens" } }, "max_output_tokens"],
])("a response that is %s", async (status, details, finishReason) => {
  const counts = { input_tokens: 10, output_tokens: 4, total_tokens: 14 };
  second.script((request, response) => {
    const answer = { id: "r", status, output: [], usage: counts, ...details };
    if (!request.body.includes('"stream":true')) return sendJson(response, JSON.stringify(answer));
    startStream(response);
    response.write(`data: {"type":"response.created","response":{"id":"r"}}\n\n`);
    response.end(`data: ${JSON.stringify({ type: `response.${status}`, response: answer })}\n\n`);
  });
  for (const stream of [false, true]) {
    const response = await rig.post("responses", { model: "shared/chat", input: SECRET, stream });
    expect(await lineOf(response)).toMatchObject({ api: TextApi.RESPONSES, stream, finishReason });
  }
});

test("a failure, with what its caller was told", async () => {
  second.script((_, response) => void response.writeHead(404).end());
  expect(await lineOf(await rig.post("chat/completions", chat("shared/chat", SECRET)))).toMatchObject({
    attempts: attempts("refused", "refused"),
    errorReason: "provider_error",
    errorMessage: expect.stringContaining("failed"),
  });
});

test("a request that was refused before anything was sent has no line", async () => {
  const before = rig.billing.textLines.length;
  const refused = await rig.post("chat/completions", chat("unknown/chat", SECRET));
  expect(refused.status).toBe(404);
  second.script((_, response) => void response.writeHead(404).end());
  await lineOf(await rig.post("chat/completions", chat("shared/chat", SECRET)));
  expect(rig.billing.textLines.length).toBe(before + 1);
});
