// Guarantees of several upstreams: the next one is called only if the client has received nothing and the one before
// certainly bills nothing. The charge is the cost at the serving upstream, within the hold.
import { chargeOf } from "@gr/money";
import { HoldState } from "@gr/proto/billing";
import { freePort, ManualClock, until } from "@gr/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { chat, idOf, type Rig, startRig } from "./test/rig.ts";
import { type Script, ScriptedUpstream, sendJson, startStream } from "./test/scripted-upstream.ts";

const PATIENCE = { timeoutMs: 60_000 };
const FIRST_KEY = "sk-first-0123456789";
const hello = chat("shared/chat", "hi", { max_tokens: 100 });
const asStream = { ...hello, stream: true };
/** 10 tokens in and 2 out, at the second upstream's price. */
const SECOND_COST = 10n * 1_500_000n + 2n * 4_500_000n;
const answers: Script = (request, response) => {
  const { stream, model } = JSON.parse(request.body.toString());
  const usage = '"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}';
  if (stream !== true) {
    sendJson(response, `{"id":"x","model":"${model}","choices":[{"message":{"content":"ok"}}],${usage}}`);
    return;
  }
  startStream(response);
  const chunk = `data: {"id":"x","model":"${model}","choices":[{"index":0,"delta":{"content":"ok"}}]}\n\n`;
  response.end(`${chunk}data: {"id":"x","choices":[],${usage}}\n\ndata: [DONE]\n\n`);
};
const breaks: Script = (_, response) => {
  response.destroy();
};
const refuses =
  (status: number, headers: Record<string, string> = {}): Script =>
  (_, response) => {
    const body = JSON.stringify({ error: { message: "no", code: status } });
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(body);
  };

/** A page of a proxy in front of the upstream. */
const failsInFront: Script = (_, response) => void response.writeHead(502).end("<html>");

const refusalEvent = (code: number) =>
  `data: {"id":"x","error":{"message":"no","code":${code}},"choices":[]}\n\n`;
/** Refuses like gateways that have begun their stream with a comment. */
const refusesInStream =
  (code: number): Script =>
  (_, response) => {
    startStream(response);
    response.end(`: working\n\n${refusalEvent(code)}`);
  };

let first: ScriptedUpstream;
let second: ScriptedUpstream;
let clock: ManualClock;

const listOf = (fields: object = {}) => ({
  TEXT_UPSTREAMS: JSON.stringify([
    { name: "first", kind: "openai-compatible", base_url: first.url, ...fields },
    { name: "second", kind: "openai-compatible", base_url: second.url },
  ]),
  TEXT_UPSTREAM_KEYS: JSON.stringify({ first: FIRST_KEY }),
});

beforeAll(async () => {
  first = await new ScriptedUpstream().start();
  second = await new ScriptedUpstream().start();
  clock = new ManualClock(Date.now());
});
afterAll(async () => {
  await first?.stop();
  await second?.stop();
});
beforeEach(() => {
  first.script(answers);
  second.script(answers);
});

const movesOf = (rig: Rig, response: Response) =>
  rig.billing
    .callsOf(idOf(response))
    .map(({ kind, provider, cost }) => (kind === "nextAttempt" ? `${kind} ${provider} ${cost}` : kind));
/** Requests to each upstream since its last script. */
const asked = () => [first.requests.length, second.requests.length];

describe("of two upstreams", () => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await startRig("", listOf(), clock);
  });
  afterAll(() => rig?.stop());
  // Ends every cool-down.
  beforeEach(() => clock.advance(120_000));

  test("the first answers, under its own name for the model and with its own key", async () => {
    const response = await rig.post("chat/completions", hello);
    expect(await response.json()).toMatchObject({ model: "one" });
    expect(asked()).toEqual([1, 0]);
    expect(first.requests[0]?.headers.authorization).toBe(`Bearer ${FIRST_KEY}`);
    expect(movesOf(rig, response)).toEqual(["place", "capture"]);
  });

  test.each([401, 402, 403, 404, 429, 503])(
    "the second answers when the first refuses with %i, and is what is billed and charged",
    async (status) => {
      first.script(refuses(status));
      const response = await rig.post("chat/completions", hello);
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ model: "two" });
      expect(asked()).toEqual([1, 1]);
      expect(second.requests[0]?.headers.authorization).toBeUndefined();
      expect(movesOf(rig, response)).toEqual(["place", "nextAttempt second 0", "capture"]);
      expect(rig.billing.callsOf(idOf(response)).at(-1)).toMatchObject({
        cost: SECOND_COST,
        credits: chargeOf(SECOND_COST),
      });
    },
  );

  test("the second streams when the first refuses", async () => {
    first.script(refuses(429));
    const response = await rig.post("chat/completions", asStream);
    expect(await response.text()).toMatch(/"model":"two".*data: \[DONE\]\n\n$/s);
    expect(asked()).toEqual([1, 1]);
  });

  test.each<[string, Script, number]>([
    ["an error of its own format with 500", refuses(500), 502],
    ["a page with 502", (_, response) => void response.writeHead(502).end("<html>"), 502],
    ["a broken connection", breaks, 502],
    ["an answer that is none", (_, response) => sendJson(response, "[]"), 502],
    ["a refusal of the request itself", refuses(400), 400],
  ])("the second is not asked after %s", async (_what, script, status) => {
    first.script(script);
    for (const body of [hello, asStream]) {
      const response = await rig.post("chat/completions", body);
      expect(response.status).toBe(status);
      await response.text();
    }
    expect(asked()).toEqual([2, 0]);
  });

  test("the second is not asked when the stream of the first breaks off", async () => {
    first.script((_, response) => {
      startStream(response);
      response.write('data: {"id":"x","choices":[{"index":0,"delta":{"content":"o"}}]}\n\n', () =>
        response.destroy(),
      );
    });
    const response = await rig.post("chat/completions", asStream);
    expect(await response.text()).toContain('"finish_reason":"error"');
    expect(asked()).toEqual([1, 0]);
  });

  test.each([401, 402, 403, 404, 429, 503])(
    "the second streams when the first refuses with %i in the first event of a stream, and nothing of it is seen",
    async (code) => {
      first.script(refusesInStream(code));
      const response = await rig.post("chat/completions", asStream);
      const text = await response.text();
      expect(text).toMatch(/"model":"two".*data: \[DONE\]\n\n$/s);
      expect(text).not.toContain("error");
      expect(asked()).toEqual([1, 1]);
      expect(movesOf(rig, response)).toEqual(["place", "nextAttempt second 0", "capture"]);
    },
  );

  test("a refusal in the first event of both streams ends the answer with its error, and costs nothing", async () => {
    first.script(refusesInStream(429));
    second.script(refusesInStream(503));
    const response = await rig.post("chat/completions", asStream);
    expect(await response.text()).toMatch(/"finish_reason":"error".*overloaded/s);
    await until(() => rig.billing.state(idOf(response)) === HoldState.RELEASED, PATIENCE);
    expect(rig.billing.callsOf(idOf(response)).at(-1)?.cost).toBe(0n);
  });

  test.each<[string, string]>([
    ["says that it failed", refusalEvent(500)],
    ["refuses the request itself", refusalEvent(400)],
    [
      "refuses after a word",
      `data: {"id":"x","choices":[{"delta":{"content":"o"}}]}\n\n${refusalEvent(429)}`,
    ],
    [
      "has used something",
      refusalEvent(429).replace("{", `{"usage":{"prompt_tokens":1,"completion_tokens":1},`),
    ],
  ])("the second is not asked when a stream %s", async (_what, event) => {
    first.script((_, response) => {
      startStream(response);
      response.end(event);
    });
    expect(await (await rig.post("chat/completions", asStream)).text()).toContain('"finish_reason":"error"');
    expect(asked()).toEqual([1, 0]);
  });

  test("a key of ours that both refuse is 502 for the client, and an alarm for each", async () => {
    const count = async (upstream: string) =>
      Number(
        new RegExp(`text_upstream_key_refused_total\\{upstream="${upstream}"\\} (\\d+)`).exec(
          await rig.metrics(),
        )?.[1] ?? 0,
      );
    const before = [await count("first"), await count("second")];
    first.script(refuses(401));
    second.script(refuses(402));
    const response = await rig.post("chat/completions", hello);
    expect(response.status).toBe(503);
    expect(JSON.stringify(await response.json())).not.toContain(FIRST_KEY);
    expect([await count("first"), await count("second")]).toEqual(before.map((earlier) => earlier + 1));
    expect(rig.billing.state(idOf(response))).toBe(HoldState.RELEASED);
  });

  test("the one that says when to come back is the last choice until then", async () => {
    first.script(refuses(429, { "retry-after": "20" }));
    await rig.post("chat/completions", hello);
    first.script(answers);
    expect(await (await rig.post("chat/completions", hello)).json()).toMatchObject({ model: "two" });
    expect(asked()).toEqual([0, 2]);
    second.script(refuses(503));
    expect(await (await rig.post("chat/completions", hello)).json()).toMatchObject({ model: "one" });
    clock.advance(20_000);
    second.script(answers);
    expect(await (await rig.post("chat/completions", hello)).json()).toMatchObject({ model: "one" });
    expect(asked()[1]).toBe(0);
  });

  test.each([
    [429, 1_000],
    [503, 1_000],
    [401, 30_000],
    [402, 30_000],
  ])(
    "the one that refuses with %i in the first event of its stream is the last choice for %i ms",
    async (code, ms) => {
      first.script(refusesInStream(code));
      await (await rig.post("chat/completions", asStream)).text();
      first.script(answers);
      second.script(answers);
      expect(await (await rig.post("chat/completions", hello)).json()).toMatchObject({ model: "two" });
      clock.advance(ms);
      expect(await (await rig.post("chat/completions", hello)).json()).toMatchObject({ model: "one" });
      expect(asked()).toEqual([1, 1]);
    },
  );

  test("the hold is enough for the dearer one", async () => {
    const many = { ...hello, max_tokens: 10_000 };
    const [place] = rig.billing.callsOf(idOf(await rig.post("chat/completions", many)));
    expect(place?.credits).toBeGreaterThan(chargeOf(10_000n * 4_500_000n));
  });
});

test("the second answers when the first cannot be connected to", async () => {
  const nowhere = `http://127.0.0.1:${await freePort()}/v1`;
  const rig = await startRig("", listOf({ base_url: nowhere }));
  try {
    const response = await rig.post("chat/completions", hello);
    expect(await response.json()).toMatchObject({ model: "two" });
    expect(movesOf(rig, response)).toEqual(["place", "nextAttempt second 0", "capture"]);
  } finally {
    await rig.stop();
  }
});

describe("after an upstream that nobody bills us for", () => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await startRig("", listOf({ billed: false, first_byte_ms: 300 }));
  });
  afterAll(() => rig?.stop());

  test.each<[string, Script]>([
    ["a broken connection", breaks],
    ["an error of its own format with 500", refuses(500)],
    ["a page with 502", failsInFront],
    ["an answer that is none", (_, response) => sendJson(response, "[]")],
    ["a first byte that does not come in its time", () => undefined],
    [
      "a stream that breaks off before anything of it is passed on",
      (_, response) => {
        startStream(response);
        response.write(": working\n\n", () => response.destroy());
      },
    ],
  ])("the second is asked after %s", async (_what, script) => {
    first.script(script);
    for (const body of [hello, asStream]) {
      const response = await rig.post("chat/completions", body);
      expect(response.status).toBe(200);
      expect(await response.text()).toContain('"model":"two"');
      expect(movesOf(rig, response)).toEqual(["place", "nextAttempt second 0", "capture"]);
    }
    expect(asked()).toEqual([2, 2]);
  });
});

describe("after an upstream that has answered", () => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await startRig("", listOf({ billed: false }));
  });
  afterAll(() => rig?.stop());

  test("the second is not asked when the request itself is refused, nor when its stream has begun", async () => {
    first.script(refuses(400));
    expect((await rig.post("chat/completions", hello)).status).toBe(400);
    first.script((_, response) => {
      startStream(response);
      response.write('data: {"id":"x","choices":[{"index":0,"delta":{"content":"o"}}]}\n\n', () =>
        response.destroy(),
      );
    });
    const response = await rig.post("chat/completions", asStream);
    expect(await response.text()).toContain('"finish_reason":"error"');
    await until(() => rig.billing.state(idOf(response)) === HoldState.RELEASED, PATIENCE);
    expect(rig.billing.callsOf(idOf(response)).at(-1)?.cost).toBe(0n);
    expect(second.requests).toEqual([]);
  });
});

describe("an upstream that fails again and again", () => {
  let rig: Rig;
  const once = () => rig.post("chat/completions", hello);
  beforeEach(async () => {
    const limits = { TEXT_BREAKER_FAILURES: "2", TEXT_BREAKER_PAUSE_MS: "5000" };
    rig = await startRig("", { ...listOf(), ...limits }, clock);
  });
  afterEach(() => rig.stop());

  test("is not asked for a while, then by one request, and again by all when that was answered", async () => {
    first.script(failsInFront);
    for (const time of [1, 2]) expect([time, (await once()).status]).toEqual([time, 502]);
    first.script(answers);
    expect(await (await once()).json()).toMatchObject({ model: "two" });
    expect(await rig.metrics()).toContain('text_upstream_breakers_open{upstream="first"} 1');
    clock.advance(5_000);
    let released: () => void = () => undefined;
    first.script((request, response) => {
      released = () => void answers(request, response);
    });
    const probe = once();
    await until(() => first.requests.length === 1, PATIENCE);
    expect(await (await once()).json()).toMatchObject({ model: "two" });
    released();
    expect(await (await probe).json()).toMatchObject({ model: "one" });
    first.script(answers);
    expect(await (await once()).json()).toMatchObject({ model: "one" });
    expect(await rig.metrics()).toContain('text_upstream_breakers_open{upstream="first"} 0');
  });

  test("and so does the other: both are asked all the same, and a quote has its price", async () => {
    first.script(failsInFront);
    second.script(failsInFront);
    for (let time = 0; time < 4; time += 1) expect((await once()).status).toBe(502);
    expect(asked()).toEqual([2, 2]);
    first.script(answers);
    const quote = await fetch(`${rig.url}/v1/quote/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(hello),
    });
    expect(quote.status).toBe(200);
    expect(await quote.json()).toMatchObject({ model: "shared/chat", cost: expect.any(Number) });
    expect(await (await once()).json()).toMatchObject({ model: "one" });
    expect(await rig.metrics()).toContain('text_upstream_breakers_open{upstream="first"} 0');
    expect(await rig.metrics()).toContain('text_upstream_breakers_open{upstream="second"} 1');
  });

  test("because of what clients ask of it is asked all the same", async () => {
    first.script(refuses(400));
    for (let time = 0; time < 4; time += 1) expect((await once()).status).toBe(400);
    expect(asked()).toEqual([4, 0]);
  });
});
