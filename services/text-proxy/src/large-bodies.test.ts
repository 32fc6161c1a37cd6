// Large bodies: without credit, a client's body is not read.
import { RawUpload, until } from "@gr/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { principal } from "./test/front-door.ts";
import { chat, type Rig, startRig } from "./test/rig.ts";
import { ScriptedUpstream, sendJson } from "./test/scripted-upstream.ts";

const MIB = 1024 * 1024;
const { accountId, keyId } = principal;
const WHOLE =
  '{"id":"gen-1","choices":[{"message":{"content":"a"}}],"usage":{"prompt_tokens":1,"completion_tokens":2,"cost":0.00123}}';
const CHAT = "/v1/compat/chat/completions";

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
beforeEach(() => {
  upstream.script((_, response) => sendJson(response, WHOLE));
  rig.billing.cap(accountId, keyId, 1_000_000n);
});

const questions = () => rig.billing.calls.filter(({ kind }) => kind === "checkSpender").length;

describe("a key that may spend nothing", () => {
  beforeEach(() => rig.billing.cap(accountId, keyId, 0n));

  test.each([CHAT, "/v1/compat/responses"])("is refused before a byte of 20 MB is read: %s", async (path) => {
    const upload = new RawUpload(rig.url, { path, announced: 20 * MIB });
    expect(await upload.answer()).toMatchObject({
      status: 402,
      body: { error: { code: "spend_limit_exceeded" } },
    });
    upload.leave();
  });

  test("may send a free model 1 MiB, with a length or without", async () => {
    const asked = JSON.stringify(chat("free/chat", "hi"));
    const body = asked.padEnd(MIB);
    expect((await rig.post("chat/completions", body)).status).toBe(200);
    const upload = new RawUpload(rig.url, { path: CHAT });
    await upload.send(body);
    upload.end();
    expect((await upload.answer()).status).toBe(200);
    upload.leave();
  });

  test("is refused as soon as more has come than that, when no length was announced", async () => {
    const upload = new RawUpload(rig.url, { path: CHAT });
    await upload.send(" ".repeat(MIB + 1));
    expect((await upload.answer()).status).toBe(402);
    upload.leave();
  });
});

describe("a key that has less credit than a long text costs", () => {
  // 256 KiB of text cost 1,311.
  beforeEach(() => rig.billing.cap(accountId, keyId, 1_000n));
  const begin = (model: string) => `{"model":"${model}","messages":[{"role":"user","content":"`;

  test.each([19 * MIB, undefined])("is refused while the text arrives: length %s", async (announced) => {
    const upload = new RawUpload(rig.url, { path: CHAT, ...(announced && { announced }) });
    await upload.send(begin("sandbox/chat"));
    await upload.send("lorem ".repeat(MIB / 12));
    expect(await upload.answer()).toMatchObject({
      status: 402,
      body: { error: { code: "spend_limit_exceeded" } },
    });
    upload.leave();
  });

  test("may send as many bytes of pictures, which are no text, and of text to a free model", async () => {
    const url = `data:image/png;base64,${"A".repeat(2 * MIB)}`;
    const parts = [
      { type: "text", text: "hi" },
      { type: "image_url", image_url: { url } },
    ];
    const image = chat("sandbox/chat-vision", parts, { max_tokens: 10 });
    expect((await rig.post("chat/completions", image)).status).toBe(200);
    expect((await rig.post("chat/completions", chat("free/chat", "lorem ".repeat(MIB / 3)))).status).toBe(
      200,
    );
  });

  test("gets a quote for it", async () => {
    const body = JSON.stringify(chat("sandbox/chat", "lorem ".repeat(MIB / 8)));
    const answer = await fetch(`${rig.url}/v1/quote/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    expect(answer.status).toBe(200);
  });
});

test("a large request that was paid for is answered again to whoever can pay for nothing more", async () => {
  const body = JSON.stringify(chat("sandbox/chat", "hi")).padEnd(MIB + 1);
  const ask = () => rig.post("chat/completions", body, { headers: { "idempotency-key": "large" } });
  expect((await ask()).status).toBe(200);
  rig.billing.cap(accountId, keyId, 0n);
  const again = await ask();
  expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([200, "true"]);
});

test("nobody is asked about a body that is small", async () => {
  const before = questions();
  expect((await rig.post("chat/completions", chat("sandbox/chat", "hi"))).status).toBe(200);
  expect(questions()).toBe(before);
});

test("uploads that never end hold no more than their account's share of the room, until they leave", async () => {
  const small = await startRig(upstream.url, { TEXT_MAX_INPUT_BYTES: String(4 * MIB) });
  const begin = async (announced = MIB) => {
    const upload = new RawUpload(small.url, { path: CHAT, announced });
    await upload.send(`{"model":"${"a".repeat(MIB - 1_000)}`);
    return upload;
  };
  const uploads = await Promise.all(Array.from({ length: 12 }, () => begin()));
  const refusals: string[] = [];
  for (const each of uploads) {
    each.answer().then(
      ({ body }) => refusals.push(body.error.code),
      () => undefined,
    );
  }
  await until(async () => refusals.length >= 9, { timeoutMs: 60_000 });
  expect(new Set(refusals)).toEqual(new Set(["rate_limit_exceeded"]));
  const full = await begin(5 * MIB);
  expect((await full.answer()).status).toBe(503);
  for (const each of [...uploads, full]) each.leave();
  const ask = () => small.post("chat/completions", JSON.stringify(chat("sandbox/chat", "hi")).padEnd(MIB));
  await until(async () => (await ask()).status === 200, { timeoutMs: 60_000 });
  await small.stop();
});
