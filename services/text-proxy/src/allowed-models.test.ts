// Guarantees of allow-lists on the routes of text: a refused model places no hold and reaches no upstream, and a refused
// provider is never asked, also not after the failure of an allowed one.
import { expect, test } from "@jest/globals";
import { ALLOWED_HEADER } from "./test/front-door.ts";
import { chat, idOf } from "./test/rig.ts";
import { type Script, sendJson, startStream } from "./test/scripted-upstream.ts";
import { TwoUpstreams } from "./test/two-upstreams.ts";

const upstreams = new TwoUpstreams({ kind: "openai-compatible" });
const { first, second } = upstreams;

const answers: Script = (request, response) => {
  const { stream, model } = JSON.parse(request.body.toString());
  const usage = '"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}';
  if (stream !== true) {
    sendJson(response, `{"id":"x","model":"${model}","choices":[{"message":{"content":"ok"}}],${usage}}`);
    return;
  }
  startStream(response);
  response.end(`data: {"id":"x","choices":[],${usage}}\n\ndata: [DONE]\n\n`);
};
const refuses: Script = (_, response) => {
  response.writeHead(429, { "content-type": "application/json" }).end('{"error":{"message":"no"}}');
};

async function start(): Promise<void> {
  first.script(answers);
  second.script(answers);
  await upstreams.start(first.url, second.url);
}

const asked = () => [first.requests.length, second.requests.length];

async function post(path: string, body: object, lists: object) {
  const { rig } = upstreams;
  const response = await fetch(`${rig.url}/v1/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", [ALLOWED_HEADER]: JSON.stringify(lists) },
    body: JSON.stringify(body),
  });
  const moves = rig.billing.callsOf(idOf(response)).map(({ kind }) => kind);
  return { status: response.status, body: JSON.parse(await response.text()), moves };
}

const hello = chat("shared/chat", "hi", { max_tokens: 100 });
const items = { model: "shared/chat", input: "hi", max_output_tokens: 100 };
const ROUTES = [
  ["compat/chat/completions", hello],
  ["compat/chat/completions", { ...hello, stream: true }],
  ["compat/responses", items],
  ["quote/chat/completions", hello],
  ["quote/responses", items],
] as const;

test.each(ROUTES)(
  "%s refuses a model that the key does not allow, before any hold (%#)",
  async (path, body) => {
    await start();
    for (const lists of [{ models: ["shared/chat-mini", "sandbox/*"] }, { providers: ["default"] }]) {
      const refused = await post(path, body, lists);
      expect(refused).toMatchObject({
        status: 403,
        body: { error: { type: "forbidden", code: "model_not_allowed", param: "model" } },
        moves: [],
      });
    }
    expect(asked()).toEqual([0, 0]);
  },
);

test("the id after the resolution of a bare name is compared", async () => {
  await start();
  // "chat" is the bare name of several models, "chat-error" of one.
  const body = chat("chat-error", "hi", { max_tokens: 100 });
  expect(await post("quote/chat/completions", body, { models: ["chat-error"] })).toMatchObject({
    status: 403,
    body: { error: { message: 'The API key does not allow the model "sandbox/chat-error".' } },
  });
  // The model has no upstream here: the list allows it.
  const allowed = await post("quote/chat/completions", body, { models: ["sandbox/chat-e*"] });
  expect(allowed).toMatchObject({ status: 503, body: { error: { code: "provider_unavailable" } } });
});

test.each([
  [{ models: ["shared/*"] }, [1, 0]],
  [{ providers: ["first"] }, [1, 0]],
  [{ providers: ["second"] }, [0, 1]],
])("%j sends the request to the upstreams %j", async (lists, calls) => {
  await start();
  expect((await post("compat/chat/completions", hello, lists)).status).toBe(200);
  expect(asked()).toEqual(calls);
});

test("no fail-over leads to a provider that the key does not allow", async () => {
  await start();
  first.script(refuses);
  const free = await post("compat/chat/completions", hello, { models: ["shared/*"] });
  expect([free.status, asked()]).toEqual([200, [1, 1]]);
  await upstreams.rig.stop();
  await start();
  first.script(refuses);
  const bound = await post("compat/chat/completions", hello, { providers: ["first"] });
  expect([bound.status, asked()]).toEqual([503, [1, 0]]);
  expect(bound.moves.at(-1)).toBe("release");
});

test("a quote is the price at the allowed providers", async () => {
  await start();
  const costs = [];
  for (const lists of [{}, { providers: ["first"] }, { providers: ["second"] }]) {
    costs.push((await post("quote/chat/completions", hello, lists)).body.cost);
  }
  const [all, atFirst, atSecond] = costs;
  expect(all).toBe(atSecond);
  expect(atFirst).toBeLessThan(atSecond);
});
