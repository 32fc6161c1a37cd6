// Guarantee against one account that fails at will: no request of another account fails because of it, with a single
// route as with two. Failures of several accounts, and of the upstream itself, move the requests to another route.
import { freePort } from "@gr/testing";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { chat } from "./test/rig.ts";
import { type Script, sendJson, startStream } from "./test/scripted-upstream.ts";
import { ACCOUNTS, TwoUpstreams } from "./test/two-upstreams.ts";

const [A, B, C] = ACCOUNTS;
const FAILURES = 2;
const MODEL = "shared/chat";
const FAILING = "a prompt that fails";

/** Possible failures of a prompt at a working upstream. */
const failures: readonly (readonly [string, Script])[] = [
  [
    "an error in the format of the provider with 500",
    (_, response) => sendJson(response, '{"error":{"message":"no","code":500}}', 500),
  ],
  ["a page with 502", (_, response) => void response.writeHead(502).end("<html>")],
  ["a reset before the first byte", (_, response) => void response.destroy()],
  [
    "a reset in the middle of a stream",
    (_, response) => {
      startStream(response);
      response.write('data: {"id":"x","choices":[{"index":0,"delta":{"content":"o"}}]}\n\n', () =>
        response.destroy(),
      );
    },
  ],
  ["a hang", () => undefined],
];

/** Answers, but for prompts that fail. */
const worksBut =
  (fails: Script): Script =>
  (request, response) => {
    if (request.body.includes(FAILING)) return fails(request, response);
    const usage = '"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}';
    const { model } = JSON.parse(request.body.toString());
    sendJson(response, `{"id":"x","model":"${model}","choices":[{"message":{"content":"ok"}}],${usage}}`);
  };

const upstreams = new TwoUpstreams(
  { kind: "openai-compatible", first_byte_ms: 300 },
  { TEXT_BREAKER_FAILURES: String(FAILURES), TEXT_BREAKER_PAUSE_MS: "3600000" },
);
const { first, second } = upstreams;

const ask = (account: string | undefined, prompt: string, stream = false) =>
  upstreams.ask(account, chat(MODEL, prompt, { max_tokens: 100, stream }));

const isOpen = async (upstream: string) =>
  (await upstreams.rig.metrics()).includes(`text_upstream_breakers_open{upstream="${upstream}"} 1`);

describe.each([1, 2])("at a model with %i routes", (routes) => {
  beforeEach(() => upstreams.start(...[first.url, second.url].slice(0, routes)));

  test.each(failures)("another account is served after %s of one account", async (_what, fails) => {
    first.script(worksBut(fails));
    second.script(worksBut(fails));
    // In turns, so that the second request after a failure is also tested.
    for (let round = 0; round < 3; round += 1) {
      await Promise.all(Array.from({ length: 2 * FAILURES }, (_, at) => ask(A, FAILING, at % 2 > 0)));
      for (let time = 0; time < 2; time += 1) expect((await ask(B, "hello")).status).toBe(200);
    }
  });
});

test("the own errors of an upstream move no request as long as one account has them, and move all when two have them", async () => {
  await upstreams.start(first.url, second.url);
  const [[, proper] = []] = failures;
  first.script(worksBut(proper ?? (() => undefined)));
  second.script(worksBut(() => undefined));
  for (let time = 0; time < 3 * FAILURES; time += 1) expect((await ask(A, FAILING)).status).toBe(502);
  expect(await isOpen("first")).toBe(false);
  expect((await ask(B, FAILING)).status).toBe(502);
  expect(await isOpen("first")).toBe(true);
  expect(JSON.parse((await ask(C, "hello")).text)).toMatchObject({ model: "two" });
});

test("an upstream that cannot be reached is passed over after failures of one account", async () => {
  await upstreams.start(`http://127.0.0.1:${await freePort()}/v1`, second.url);
  second.script(worksBut(() => undefined));
  for (let time = 0; time < FAILURES; time += 1) expect((await ask(A, "hello")).status).toBe(200);
  expect(await isOpen("first")).toBe(true);
  const moved = await upstreams.rig.metrics();
  expect((await ask(A, "hello")).status).toBe(200);
  const fellBack = (metrics: string) => /^text_requests_fell_back_total (\d+)$/m.exec(metrics)?.[1];
  expect(fellBack(await upstreams.rig.metrics())).toBe(fellBack(moved));
});

test("a failing upstream is still asked when it is the last route that a request has", async () => {
  await upstreams.start(first.url, second.url);
  const page: Script = (_, response) => void response.writeHead(502).end("<html>");
  first.script(page);
  for (let time = 0; time < FAILURES; time += 1) await ask(A, "hello");
  expect(await isOpen("first")).toBe(true);
  first.script(worksBut(page));
  second.script((_, response) => sendJson(response, '{"error":{"message":"later","code":429}}', 429));
  expect(JSON.parse((await ask(B, "hello")).text)).toMatchObject({ model: "one" });
  expect(await isOpen("first")).toBe(false);
});
