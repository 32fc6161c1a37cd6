// Guarantee against an upstream that bills more than requests pay. After one such bill, the account sends no further
// request there. After bills of two accounts, or one bill far above its hold, no account does. Refused requests have no hold.
import { TextProxyService } from "@gr/proto/text";
import { beforeEach, expect, test } from "@jest/globals";
import { chat } from "./test/rig.ts";
import { sendJson, startStream } from "./test/scripted-upstream.ts";
import { ACCOUNTS, TwoUpstreams } from "./test/two-upstreams.ts";

/** Holds at most 0.0047 USD: 0.03 USD more are a loss, and not yet ten holds. */
const LONG = { max_tokens: 1_000 };
const upstreams = new TwoUpstreams({ kind: "openrouter" });
const { first, second } = upstreams;
/** USD, of each answer of the first upstream. */
let cost: number;

beforeEach(() => {
  const usage = (usd: number) =>
    `"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12,"cost":${usd}}`;
  const answer = (usd: number) => `{"id":"x","choices":[{"message":{"content":"ok"}}],${usage(usd)}}`;
  first.script((request, response) => {
    if (!request.body.includes('"stream":true')) return sendJson(response, answer(cost));
    startStream(response);
    const delta = '{"id":"x","choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}]}';
    response.end(`data: ${delta}\n\ndata: {"id":"x","choices":[],${usage(cost)}}\n\ndata: [DONE]\n\n`);
  });
  second.script((_, response) => sendJson(response, answer(0.000_001)));
});
const ask = (account: string | undefined, more: object = {}) =>
  upstreams.ask(account, chat("shared/chat", "hello", { ...LONG, ...more }));
const gauge = async () =>
  Number(
    /^text_routes_closed_by_losses\{provider="first"\} (\d+)$/m.exec(await upstreams.rig.metrics())?.[1],
  );
const holds = () => upstreams.rig.billing.calls.filter(({ kind }) => kind === "place").length;

test.each([false, true])("losses of one account leave the route to others, streams: %s", async (stream) => {
  await upstreams.start(first.url);
  expect(await gauge()).toBe(0);
  const [a, b, c] = ACCOUNTS;
  cost = 0.03;
  expect((await ask(a, { stream })).status).toBe(200);
  expect(await gauge()).toBe(1);
  const before = { asked: first.requests.length, holds: holds() };
  const refused = await ask(a);
  expect(refused.status).toBe(503);
  expect(JSON.parse(refused.text)).toMatchObject({ error: { code: "provider_unavailable" } });
  expect({ asked: first.requests.length, holds: holds() }).toEqual(before);
  expect((await ask(b, { stream })).status).toBe(200);
  expect((await ask(c)).status).toBe(503);
  const operator = upstreams.rig.running.dial("text-proxy", TextProxyService);
  const [closed] = (await operator.listClosedRoutes({})).routes;
  expect(closed).toMatchObject({ provider: "first", upstreamModel: "one", accountId: "" });
  expect(await operator.reopenRoute({ provider: "first", upstreamModel: "one" })).toMatchObject({
    reopened: true,
  });
  expect(await gauge()).toBe(0);
  cost = 0.000_001;
  expect((await ask(c)).status).toBe(200);
  // The charges are at most the holds, and each bill is in the books.
  const captures = upstreams.rig.billing.calls.filter(({ kind }) => kind === "capture");
  expect(captures.map((each) => each.cost)).toEqual([30_000_000_000n, 30_000_000_000n, 1_000_000n]);
});

test.each([
  [500, 500_000_000_000_000n],
  [40_500, 10_000_000_000_000_000n],
])("one bill of %i USD closes the route for all, and the next route serves", async (usd, booked) => {
  await upstreams.start(first.url, second.url);
  const [a, b] = ACCOUNTS;
  cost = usd;
  expect((await ask(a)).status).toBe(200);
  const asked = first.requests.length;
  for (const account of [a, b]) expect((await ask(account)).status).toBe(200);
  expect(first.requests.length).toBe(asked);
  const [bill] = upstreams.rig.billing.calls.filter(({ kind }) => kind === "capture");
  expect(bill?.cost).toBe(booked);
  expect(upstreams.rig.billing.charged).toBeLessThan(1_000n);
});
