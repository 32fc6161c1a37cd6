// Guarantees of saved prompts and answers: of keys that save them only, whole, also of a stream and of a cut one. A billing that
// fails or has no room changes no answer.
import { until } from "@gr/testing";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { SAVES_HEADER } from "./test/front-door.ts";
import { chat, idOf, type Rig, startRig } from "./test/rig.ts";
import { ScriptedUpstream, sendJson, startStream } from "./test/scripted-upstream.ts";

const usage = { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 };
const SAVES = { headers: { [SAVES_HEADER]: "1" } };
const MOST = 1024 * 1024;

let upstream: ScriptedUpstream;
let rig: Rig;
beforeAll(async () => {
  upstream = await new ScriptedUpstream().start();
  rig = await startRig(upstream.url);
});
afterAll(async () => {
  await rig?.stop();
  await upstream?.stop();
});

const answerWith = (content: string) =>
  upstream.script((_, response) =>
    sendJson(response, JSON.stringify({ id: "x", choices: [{ message: { content } }], usage })),
  );

async function savedOf(response: Response) {
  await response.text();
  const find = () => rig.billing.savedTexts.find(({ requestId }) => requestId === idOf(response));
  await until(() => find() !== undefined, { timeoutMs: 60_000 });
  const saved = find();
  const parse = (bytes?: Uint8Array) => bytes && JSON.parse(Buffer.from(bytes).toString());
  return { ...saved, prompt: parse(saved?.prompt), answer: parse(saved?.answer), sent: saved?.prompt };
}

test("a key that saves nothing leaves nothing, and its log has a line all the same", async () => {
  answerWith("the answer");
  const silent = await rig.post("chat/completions", chat("sandbox/chat", "the words"));
  await silent.text();
  // The queue keeps the order, so an entry of the first request would be there with the second.
  answerWith("another");
  const saved = await savedOf(await rig.post("chat/completions", chat("sandbox/chat", "saved"), SAVES));
  expect(saved.answer.choices[0].message.content).toBe("another");
  await until(() => rig.billing.textLines.some(({ requestId }) => requestId === idOf(silent)), {
    timeoutMs: 60_000,
  });
  expect(rig.billing.savedTexts.map(({ requestId }) => requestId)).not.toContain(idOf(silent));
});

test("prompt and answer are the bytes of the client, with the charge", async () => {
  answerWith("the answer");
  const body = `{"model":"sandbox/chat", "messages":[{"role":"user","content":"the wörds"}] }`;
  const response = await rig.post("chat/completions", body, SAVES);
  const received = await response.clone().json();
  const saved = await savedOf(response);
  expect(Buffer.from(saved.sent ?? []).toString()).toBe(body);
  expect(saved.answer).toEqual(received);
  expect([saved.promptBytes, Number(saved.answerBytes)]).toEqual([
    BigInt(Buffer.byteLength(body)),
    Buffer.byteLength(JSON.stringify(received)),
  ]);
});

test("a stream is saved as an answer in one piece", async () => {
  upstream.script((_, response) => {
    startStream(response);
    for (const piece of ["the ", "answer"]) {
      response.write(
        `data: {"id":"x","model":"m","choices":[{"index":0,"delta":{"content":"${piece}"}}]}\n\n`,
      );
    }
    response.write(`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n`);
    response.end(`data: {"choices":[],"usage":${JSON.stringify(usage)}}\n\ndata: [DONE]\n\n`);
  });
  const body = chat("sandbox/chat", "the words", { stream: true });
  const saved = await savedOf(await rig.post("chat/completions", body, SAVES));
  expect(saved.answer).toMatchObject({
    ...{ object: "chat.completion", id: "x", model: "m" },
    choices: [{ index: 0, message: { role: "assistant", content: "the answer" }, finish_reason: "stop" }],
    usage: { completion_tokens: 4 },
  });
});

test("a failed request has its prompt alone", async () => {
  upstream.script((_, response) => void response.writeHead(500).end());
  const saved = await savedOf(await rig.post("chat/completions", chat("sandbox/chat", "the words"), SAVES));
  expect([saved.prompt.messages[0].content, saved.answer, saved.answerBytes]).toEqual([
    ...["the words", undefined],
    0n,
  ]);
});

test("a part above 1 MiB is not saved, and its size is", async () => {
  answerWith("the answer");
  const long = chat("sandbox/chat", "x".repeat(MOST));
  const saved = await savedOf(await rig.post("chat/completions", long, SAVES));
  expect([saved.prompt, Number(saved.promptBytes) > MOST]).toEqual([undefined, true]);
  expect(saved.answer.choices[0].message.content).toBe("the answer");
});
