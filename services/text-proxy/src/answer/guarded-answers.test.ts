// An upstream's JSON has the bounds of a client's: an answer that breaks them is a failure of the provider, and free.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { chat, idOf, type Rig, startRig } from "../test/rig.ts";
import { ScriptedUpstream, sendJson, startStream } from "../test/scripted-upstream.ts";

let upstream: ScriptedUpstream;
let rig: Rig;
beforeAll(async () => {
  upstream = await new ScriptedUpstream().start();
  rig = await startRig(upstream.url, { TEXT_UPSTREAM_KIND: "openai" });
});
afterAll(async () => {
  await rig?.stop();
  await upstream?.stop();
});

const USAGE = '"usage":{"prompt_tokens":10,"completion_tokens":2}';
const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
const answerWith = (extra: string) =>
  `{"id":"gen-1","choices":[{"message":{"content":"a"}}],${USAGE},"extra":${extra}}`;

describe("an answer in one piece", () => {
  test.each([
    ["is nested beyond its bounds", nested(50_000)],
    ["is nested beyond its bounds and long", nested(1_000_000)],
    ["has a name that no field may have", `{"__proto__":{}},"b":"${"x".repeat(300_000)}"`],
  ])("that %s is a failure of the provider, and free", async (_, extra) => {
    upstream.script((_request, response) => sendJson(response, answerWith(extra)));
    const response = await rig.post("chat/completions", chat("sandbox/chat", "hi"));
    expect(response.status).toBe(502);
    expect(rig.billing.callsOf(idOf(response)).map(({ kind }) => kind)).not.toContain("capture");
  });

  test("that is long for a good reason is passed on, byte for byte", async () => {
    const logprob = '{"token":"a","logprob":-0.1,"bytes":[97]}';
    const body = answerWith(`[${Array.from({ length: 40_000 }, () => logprob).join()}]`);
    upstream.script((_request, response) => sendJson(response, body));
    const response = await rig.post("chat/completions", chat("sandbox/chat", "hi"));
    expect(response.status).toBe(200);
    expect(JSON.parse(await response.text()).extra).toHaveLength(40_000);
  });
});

test("an event of a stream that is nested beyond its bounds ends it, and it is free", async () => {
  upstream.script((_request, response) => {
    startStream(response);
    response.end(`data: {"id":"g","choices":[],"error":${nested(50_000)}}\n\ndata: [DONE]\n\n`);
  });
  const response = await rig.post("chat/completions", chat("sandbox/chat", "hi", { stream: true }));
  const text = await response.text();
  expect(text).toContain('"finish_reason":"error"');
  expect(text).not.toContain("[[[");
  expect(rig.billing.callsOf(idOf(response)).map(({ kind }) => kind)).not.toContain("capture");
});
