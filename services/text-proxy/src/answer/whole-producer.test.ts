// Non-streamed answers, over real HTTP: exact money, the upstream's request, every failure.
import { ReleaseReason } from "@gr/clients";
import { chargeOf, formatPicoUsd, PICO_PER_CREDIT } from "@gr/money";
import { HoldState } from "@gr/proto/billing";
import { freePort, until } from "@gr/testing";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { chat, idOf, type Rig, startRig } from "../test/rig.ts";
import { ScriptedUpstream, sendJson } from "../test/scripted-upstream.ts";

const PATIENCE = { timeoutMs: 60_000 };
let upstream: ScriptedUpstream;
let rig: Rig;
let openAi: Rig;

beforeAll(async () => {
  upstream = await new ScriptedUpstream().start();
  rig = await startRig(upstream.url);
  openAi = await startRig(upstream.url, { TEXT_UPSTREAM_KIND: "openai" });
});
afterAll(async () => {
  await Promise.all([rig?.stop(), openAi?.stop()]);
  await upstream?.stop();
});
const hello = chat("sandbox/chat", "hi");
const answer = (usage: string) => `{"id":"gen-1","choices":[{"message":{"content":"hé"}}],"usage":${usage}}`;
const usage = (cost: string) =>
  `{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12${cost === "" ? "" : `,"cost":${cost}`}}`;

describe("the answer", () => {
  test.each([
    "1e-7",
    "0.30000000000000004",
    '"0.00012"',
    "0",
    "1.00000000000000000001",
    "0.0001",
    "0.00010000001",
  ])("is the upstream's, byte for byte, with the charge for a cost of %s", async (cost) => {
    const body = ` \n${answer(usage(cost))}\n`;
    upstream.script((_, response) => sendJson(response, body));
    const response = await rig.post("chat/completions", chat("dear/chat", "hi"));
    const text = await response.text();
    const [, capture] = rig.billing.callsOf(idOf(response));
    const credits: bigint = chargeOf(capture?.cost ?? -1n);
    const charge = formatPicoUsd(credits * PICO_PER_CREDIT);
    expect(text).toBe(`${body.slice(0, -2)},"cost":${charge}}\n`);
    expect(capture?.credits).toBe(credits);
    expect(formatPicoUsd(capture?.cost ?? -1n).slice(0, 12)).toBe(
      ({ '"0.00012"': "0.00012", "1e-7": "0.0000001" }[cost] ?? cost).slice(0, 12),
    );
  });

  test("of an upstream that reports no cost says what its tokens cost", async () => {
    upstream.script((_, response) => sendJson(response, answer(usage(""))));
    const response = await openAi.post("chat/completions", hello);
    const cost = 10n * 500_000n + 2n * 1_500_000n;
    expect(await response.text()).toBe(
      answer(usage(formatPicoUsd(cost))).replace(/}$/, `,"cost":${formatPicoUsd(PICO_PER_CREDIT)}}`),
    );
    expect(openAi.billing.callsOf(idOf(response))[1]).toMatchObject({ kind: "capture", cost, credits: 1n });
  });

  test("without usage, to be looked up nowhere, is metered and never above the hold", async () => {
    upstream.script((_, response) =>
      sendJson(response, `{"choices":[{"message":{"content":"${"x".repeat(4_000)}"}}]}`),
    );
    const response = await openAi.post("chat/completions", { ...hello, max_tokens: 10 });
    const [place, capture] = openAi.billing.callsOf(idOf(response));
    const body = JSON.parse(await response.text());
    expect(body.usage.completion_tokens).toBeGreaterThan(1_000);
    expect(capture?.credits).toBe(place?.credits);
    expect(body.cost).toBe(Number(capture?.credits) / 10_000);
  });

  test("of a free model is charged nothing and still has its hold", async () => {
    upstream.script((_, response) => sendJson(response, answer(usage("0"))));
    const response = await rig.post("chat/completions", chat("free/chat", "hi"));
    expect(JSON.parse(await response.text()).cost).toBe(0);
    expect(rig.billing.callsOf(idOf(response)).map(({ kind, credits }) => [kind, credits])).toEqual([
      ["place", 0n],
      ["capture", 0n],
    ]);
  });
});

describe("what goes upstream", () => {
  test("has our headers alone, whatever the client sends", async () => {
    upstream.script((_, response) => sendJson(response, answer(usage("0.001"))));
    const response = await rig.post("chat/completions", hello, {
      headers: {
        authorization: "Bearer gr_live_of_the_client",
        cookie: "a=b",
        "x-forwarded-for": "1.2.3.4",
        "x-request-id": "mine",
        "http-referer": "https://example.com",
        "x-anything": "1",
        "accept-encoding": "gzip",
      },
    });
    const [arrived] = upstream.requests;
    const names = arrived?.rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
    expect(names?.sort()).toEqual([
      "accept",
      "accept-encoding",
      "authorization",
      "connection",
      "content-length",
      "content-type",
      "host",
      "x-request-id",
    ]);
    expect(arrived?.headers).toMatchObject({
      authorization: "Bearer sk-upstream-key-0123456789",
      "accept-encoding": "identity",
      "x-request-id": idOf(response),
    });
    expect(arrived?.path).toBe("/api/v1/chat/completions");
  });

  test("is the client's body, with the model's name there and the tier that is priced", async () => {
    upstream.script((_, response) => sendJson(response, '{"output":[],"usage":null}'));
    const text = '{ "input":"h\\u00e9" , "model":"renamed/chat", "metadata":{"a":1e2} }';
    await openAi.post("responses", text);
    expect(upstream.requests[0]?.path).toBe("/api/v1/responses");
    const sent = text.replace("renamed/chat", "sandbox/chat").replace(/ \}$/, ',"service_tier":"default" }');
    expect(upstream.requests[0]?.body.toString()).toBe(sent);
  });
});

describe("a request that is refused places no hold", () => {
  test.each([
    ["unknown model", chat("no/such", "hi"), 404, { code: "model_not_found", param: "model" }],
    ["image model", chat("sandbox/image", "hi"), 400, { code: "wrong_endpoint", param: "model" }],
    [
      "image for a text model",
      chat("sandbox/chat", [{ type: "image_url" }]),
      400,
      { code: "vision_not_supported" },
    ],
    ["model of another upstream", chat("elsewhere/chat", "hi"), 503, { code: "provider_unavailable" }],
    ["bad field", chat("sandbox/chat", 7), 400, { code: "invalid_value", param: "messages[0].content" }],
    ["broken JSON", "{", 400, { code: "invalid_json" }],
  ])("%s", async (_case, body, status, error) => {
    upstream.script((_, response) => sendJson(response, answer(usage("0.001"))));
    const response = await rig.post("chat/completions", body);
    expect(response.status).toBe(status);
    expect(JSON.parse(await response.text()).error).toMatchObject(error);
    expect(rig.billing.callsOf(idOf(response))).toEqual([]);
    expect(upstream.requests).toHaveLength(0);
  });

  test("another content type", async () => {
    for (const type of ["text/plain", "application/x-www-form-urlencoded"]) {
      const response = await rig.post("chat/completions", hello, { headers: { "content-type": type } });
      expect(response.status).toBe(415);
      expect(rig.billing.callsOf(idOf(response))).toEqual([]);
    }
  });

  test("a body above 20 MB; one just below is sent on", async () => {
    upstream.script((_, response) => sendJson(response, answer(usage("0.001"))));
    const large = await rig.post("chat/completions", chat("sandbox/chat", "x".repeat(20 * 1024 * 1024)));
    expect(large.status).toBe(413);
    const fits = await rig.post("chat/completions", chat("sandbox/chat", "x".repeat(20 * 1024 * 1024 - 200)));
    expect(fits.status).toBe(200);
  });
});

describe("a failure costs the customer nothing", () => {
  const failed = (cost = 0n) => ({ kind: "release", reason: ReleaseReason.FAILED, cost });

  test.each([
    ["an error with status 200", '{"error":{"message":"no","code":502},"choices":[]}', 0n],
    ["no choices", '{"choices":[]}', 0n],
    ["no choices, yet a bill", `{"choices":[],"usage":${usage("0.002")}}`, 2_000_000_000n],
    ["a choice that failed", '{"choices":[{"finish_reason":"error","message":{"content":""}}]}', 0n],
  ])("%s is a 502 and frees the hold", async (_case, body, cost) => {
    upstream.script((_, response) => sendJson(response, body));
    const response = await rig.post("chat/completions", hello);
    expect(response.status).toBe(502);
    expect(response.headers.get("x-should-retry")).toBe("false");
    expect(rig.billing.callsOf(idOf(response))[1]).toMatchObject(failed(cost));
  });

  test.each([
    ["HTML", "<html>"],
    ["truncated JSON", answer(usage("0.001")).slice(0, -3)],
    ["an array", "[]"],
    ["more than 32 MB", `{"choices":["${"x".repeat(33 * 1024 * 1024)}"]}`],
  ])("%s is a 502; the hold waits for the look-up", async (_case, body) => {
    upstream.script((_, response) => sendJson(response, body));
    const response = await rig.post("chat/completions", hello);
    expect(response.status).toBe(502);
    expect(rig.billing.state(idOf(response))).toBe(HoldState.OPEN);
  });

  test.each([
    [400, 400, "rejected_by_provider"],
    [403, 503, "provider_unavailable"],
    [404, 502, "provider_error"],
    [429, 503, "provider_unavailable"],
    [500, 502, "provider_error"],
    [504, 504, "provider_timeout"],
  ])("an upstream's %i is a %i and frees the hold", async (status, answered, code) => {
    const words = { error: { message: "your key sk-upstream-key-0123456789 is odd", code: status } };
    upstream.script((_, response) => sendJson(response, JSON.stringify(words), status));
    const response = await rig.post("chat/completions", hello);
    expect(response.status).toBe(answered);
    const text = await response.text();
    expect(JSON.parse(text).error.code).toBe(code);
    expect(text).not.toContain("0123456789");
    expect(rig.billing.callsOf(idOf(response))[1]).toMatchObject(failed());
  });

  test("a bill in an error answer is our cost, whatever its status", async () => {
    const usage = { prompt_tokens: 7, completion_tokens: 0, cost: 0.005 };
    const body = {
      error: { message: "rejected by content moderation", code: "content_policy_violation" },
      usage,
    };
    upstream.script((_, response) => sendJson(response, JSON.stringify(body), 400));
    const response = await rig.post("chat/completions", hello);
    expect(response.status).toBe(400);
    expect(rig.billing.callsOf(idOf(response))[1]).toMatchObject(failed(5_000_000_000n));
  });

  const alarms = async () =>
    Number(/text_upstream_key_refused_total\{upstream="default"\} (\d+)/.exec(await rig.metrics())?.[1] ?? 0);

  test.each([
    [401, "no", 401, 1],
    ["insufficient_quota", "no", 200, 1],
    [402, "no", 200, 1],
    [500, "no", 200, 0],
  ])("a refusal of our own account (%s, %s) in an answer with status %i raises the alarm", async (...row) => {
    const [code, message, status, raised] = row;
    const before = await alarms();
    const body = JSON.stringify({ error: { message, code } });
    upstream.script((_, response) => sendJson(response, body, status));
    await rig.post("chat/completions", hello);
    expect((await alarms()) - before).toBe(raised);
  });

  test("no answer in time is a 504, never sent again, and the hold stays open", async () => {
    upstream.script(() => undefined);
    const immediate = await startRig(upstream.url, { TEXT_HEADERS_TIMEOUT_MS: "1000" });
    try {
      const response = await immediate.post("chat/completions", hello);
      expect(response.status).toBe(504);
      expect(JSON.parse(await response.text()).error.code).toBe("provider_timeout");
      expect(response.headers.get("x-should-retry")).toBe("false");
      expect(upstream.requests).toHaveLength(1);
      expect(immediate.billing.state(idOf(response))).toBe(HoldState.OPEN);
    } finally {
      await immediate.stop();
    }
  });

  test("a connection that breaks is a 502, never sent again, and the hold stays open", async () => {
    upstream.script((_, response) => {
      response.destroy();
    });
    const response = await rig.post("chat/completions", hello);
    expect(response.status).toBe(502);
    expect(JSON.parse(await response.text()).error.code).toBe("provider_error");
    expect(upstream.requests).toHaveLength(1);
    expect(rig.billing.state(idOf(response))).toBe(HoldState.OPEN);
  });

  test("an upstream that cannot be connected to is a 503, and the hold is freed as not sent", async () => {
    const lonely = await startRig(`http://127.0.0.1:${await freePort()}/v1`);
    try {
      for (const stream of [false, true]) {
        const response = await lonely.post("chat/completions", { ...hello, stream });
        expect(response.status).toBe(503);
        expect(response.headers.get("x-should-retry")).toBe("true");
        const [, release] = lonely.billing.callsOf(idOf(response));
        expect(release).toMatchObject({ kind: "release", reason: ReleaseReason.NOT_SENT, cost: 0n });
      }
    } finally {
      await lonely.stop();
    }
  });
});

test("a client that leaves while the upstream works is charged the true cost", async () => {
  const answered = Promise.withResolvers<void>();
  upstream.script(async (_, response) => {
    await answered.promise;
    sendJson(response, answer(usage("0.001")));
  });
  const leaving = new AbortController();
  const pending = rig.post("chat/completions", hello, { signal: leaving.signal });
  await until(() => upstream.requests.length === 1, PATIENCE);
  const id = String(upstream.requests[0]?.headers["x-request-id"]);
  leaving.abort();
  await expect(pending).rejects.toThrow();
  answered.resolve();
  await until(() => rig.billing.state(id) === HoldState.CAPTURED, PATIENCE);
  expect(rig.billing.callsOf(id)[1]).toMatchObject({ kind: "capture", cost: 1_000_000_000n, credits: 10n });
});
