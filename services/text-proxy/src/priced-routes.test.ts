// A request is sent only to upstreams with a price for its fields. Without any, it is refused with the field's name
// before anything is held or sent. An operator can let unknown fields pass.
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { chat, idOf, type Rig, startRig } from "./test/rig.ts";
import { type Script, ScriptedUpstream, sendJson } from "./test/scripted-upstream.ts";

const answer: Script = (_, response) => {
  const usage = '"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12,"cost":0.00002}';
  sendJson(response, `{"id":"x","choices":[{"message":{"content":"ok"}}],${usage}}`);
};

let first: ScriptedUpstream;
let second: ScriptedUpstream;
let rig: Rig;
const upstreams = (more: object = {}) => ({
  TEXT_UPSTREAMS: JSON.stringify([
    { name: "first", kind: "openai", base_url: first.url, ...more },
    { name: "second", kind: "openrouter", base_url: second.url },
    { name: "default", kind: "openai-compatible", base_url: first.url, ...more },
  ]),
});
beforeAll(async () => {
  [first, second] = await Promise.all([new ScriptedUpstream().start(), new ScriptedUpstream().start()]);
  rig = await startRig("", upstreams());
});
afterAll(async () => {
  await rig?.stop();
  await Promise.all([first?.stop(), second?.stop()]);
});
beforeEach(() => {
  first.script(answer);
  second.script(answer);
});

const ask = (fields: object, model = "shared/chat", at = rig) =>
  at.post("chat/completions", chat(model, "hi", { max_tokens: 10, ...fields }));

test("an upstream without a price for a field is left out", async () => {
  expect((await ask({})).status).toBe(200);
  expect([first.requests.length, second.requests.length]).toEqual([1, 0]);
  expect((await ask({ x_future: 1 })).status).toBe(200);
  expect([first.requests.length, second.requests.length]).toEqual([1, 1]);
});

test("a field that no upstream has a price for is a 400 that names it, and nothing is held or sent", async () => {
  for (const path of ["compat", "quote"]) {
    const response = await fetch(`${rig.url}/v1/${path}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(chat("shared/chat", "hi", { service_tier: "priority" })),
    });
    const { error } = (await response.json()) as { error: { param: string; message: string } };
    expect([response.status, error.param]).toEqual([400, "service_tier"]);
    expect(error.message).toContain('asks for the service tier "priority"');
    expect(rig.billing.callsOf(idOf(response))).toEqual([]);
  }
  expect([first.requests.length, second.requests.length]).toEqual([0, 0]);
});

test("unknown fields pass at an upstream whose operator lets them", async () => {
  const response = await ask({ x_future: 1 }, "sandbox/chat");
  const { error } = (await response.json()) as { error: { param: string; message: string } };
  expect([response.status, error.param]).toEqual([400, "x_future"]);
  expect(error.message).toContain("pass_unknown_fields");
  const lenient = await startRig("", upstreams({ pass_unknown_fields: true }));
  try {
    expect((await ask({ x_future: 1 }, "sandbox/chat", lenient)).status).toBe(200);
  } finally {
    await lenient.stop();
  }
});
