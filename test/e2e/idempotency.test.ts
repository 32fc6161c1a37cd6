// Idempotency-Key through the whole router, with the official SDK among the clients. A repeat gets the first answer
// byte for byte, and the request is executed once and charged once, also if its client disconnects in between.
import { until } from "@gr/testing";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import OpenAI from "openai";
import { call, remainingCredits, simulatorBill } from "./http.ts";
import { keysOf } from "./operator.ts";
import { type Router, startRouter, topologiesByDepth } from "./topology.ts";

const PATIENCE = { timeoutMs: 60_000 };
const CHAT = "/v1/compat/chat/completions";
const RESPONSES = "/v1/compat/responses";
const IMAGES = "/v1/compat/images/generations";

const messages = [{ role: "user" as const, content: "Hello again" }];
const chat = { model: "sandbox/chat", messages };
const response = { model: "sandbox/chat", input: "Hello again" };
const image = { model: "sandbox/image", prompt: "a kite" };

describe.each(topologiesByDepth)("Idempotency-Key (%s)", (topology) => {
  let router: Router;
  let client: OpenAI;
  beforeAll(async () => {
    router = await startRouter(topology, { inProcess: true, env: { SIMULATOR_TOKEN_DELAY_MS: "5" } });
    client = new OpenAI({ apiKey: router.apiKey, baseURL: `${router.baseUrl}/v1/compat`, maxRetries: 0 });
  });
  afterAll(async () => {
    await router?.dispose();
  });

  let numbers = 0;
  function newKey(): string {
    numbers += 1;
    return `order ${numbers}`;
  }

  function open(path: string, body: object, key: string, signal?: AbortSignal): Promise<Response> {
    return fetch(`${router.baseUrl}${path}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${router.apiKey}`,
        "content-type": "application/json",
        "idempotency-key": key,
      },
      body: JSON.stringify(body),
      ...(signal === undefined ? {} : { signal }),
    });
  }
  async function read(path: string, body: object, key: string) {
    const answer = await open(path, body, key);
    const { status, headers } = answer;
    const replayed = headers.get("idempotency-replayed");
    return { status, replayed, type: headers.get("content-type"), text: await answer.text() };
  }

  /** Returns the cost of `work` for the account, in credits, and its number of items on the upstream's bill. */
  async function costs(work: () => Promise<unknown>) {
    const [credits, { items }] = [await remainingCredits(router), await simulatorBill(router)];
    await work();
    const billed = (await simulatorBill(router)).items.length - items.length;
    return { charged: credits - (await remainingCredits(router)), billed };
  }
  const NOTHING = { charged: 0n, billed: 0 };

  test.each<[string, string, object]>([
    ["a chat completion", CHAT, chat],
    ["a chat stream", CHAT, { ...chat, stream: true }],
    ["a response", RESPONSES, response],
    ["a response stream", RESPONSES, { ...response, stream: true }],
    ["an image by address", IMAGES, { ...image, response_format: "url" }],
    ["an image as base64", IMAGES, { ...image, response_format: "b64_json", n: 2 }],
  ])("%s is given again byte for byte, for nothing", async (_what, path, body) => {
    const key = newKey();
    let first: Awaited<ReturnType<typeof read>> | undefined;
    const paid = await costs(async () => {
      first = await read(path, body, key);
    });
    expect(first).toMatchObject({ status: 200, replayed: null });
    expect(paid.charged).toBeGreaterThan(0n);
    expect(paid.billed).toBe(1);
    const again = await costs(async () => {
      expect(await read(path, body, key)).toEqual({ ...first, replayed: "true" });
    });
    expect(again).toEqual(NOTHING);
  });

  test("a client that left in the middle of its stream gets all of it by asking again", async () => {
    const key = newKey();
    const body = { ...chat, messages: [{ role: "user", content: "#tokens=100" }], stream: true };
    const leaving = new AbortController();
    const left = await open(CHAT, body, key, leaving.signal);
    await left.body?.getReader().read();
    leaving.abort();
    let again: Awaited<ReturnType<typeof read>> | undefined;
    await until(async () => {
      again = await read(CHAT, body, key);
      return again.status === 200;
    }, PATIENCE);
    expect(again?.replayed).toBe("true");
    expect(again?.text).toMatch(/^(?::.*\n\n)?data: \{/);
    expect(again?.text).toMatch(/"usage":\{[^}]*"cost":.*\n\ndata: \[DONE\]\n\n$/s);
  });

  test("the official SDK gets its first answer again, whole, streamed and drawn", async () => {
    const headers = () => ({ headers: { "Idempotency-Key": newKey() } });
    async function twice<T>(ask: (options: ReturnType<typeof headers>) => Promise<T>): Promise<[T, T]> {
      const options = headers();
      return [await ask(options), await ask(options)];
    }
    const paid = await costs(async () => {
      const [whole, wholeAgain] = await twice((options) =>
        client.chat.completions.create(chat, options).withResponse(),
      );
      expect(wholeAgain.data).toEqual(whole.data);
      expect(wholeAgain.response.headers.get("idempotency-replayed")).toBe("true");
      const [chunks, chunksAgain] = await twice(async (options) => {
        const received: unknown[] = [];
        for await (const chunk of await client.chat.completions.create({ ...chat, stream: true }, options))
          received.push(chunk);
        return received;
      });
      expect(chunks.length).toBeGreaterThan(3);
      expect(chunksAgain).toEqual(chunks);
      const [picture, pictureAgain] = await twice((options) => client.images.generate(image, options));
      expect(pictureAgain).toEqual(picture);
      expect((await fetch(pictureAgain.data?.[0]?.url ?? "")).status).toBe(200);
    });
    expect(paid.billed).toBe(3);
  });

  test("another API key, and another person with a web token, has requests of its own under the same key", async () => {
    const minted = { key: router.managementKey, body: { name: "another" } };
    const other: string = (await call(router, "POST", "/v1/api-keys", minted)).body.key;
    const keys = await keysOf(router.dataDir);
    const { accountId } = router;
    const tokenOf = async (personId: string) => (await keys.issueWebToken({ accountId, personId })).token;
    const [anna, annaAgain, ben] = [await tokenOf("anna"), await tokenOf("anna"), await tokenOf("ben")];
    const key = newKey();
    const send = async (secret: string, path: string, body: object) => {
      const headers = { "idempotency-key": key };
      const answer = await call(router, "POST", path, { key: secret, body, headers });
      return {
        status: answer.status,
        replayed: answer.headers.get("idempotency-replayed"),
        body: answer.body,
      };
    };
    for (const [path, body] of [
      [CHAT, chat],
      [IMAGES, image],
    ] as const) {
      const first = new Map<string, object>();
      const paid = await costs(async () => {
        for (const secret of [router.apiKey, other, anna, ben]) {
          // Also another body under the same key is no conflict for another owner.
          const own = secret === ben ? { ...body, ...(path === CHAT ? { max_tokens: 5 } : { n: 2 }) } : body;
          const answer = await send(secret, path, own);
          expect(answer).toMatchObject({ status: 200, replayed: null });
          first.set(secret, answer.body);
        }
      });
      expect(paid.billed).toBe(4);
      const again = await costs(async () => {
        for (const [secret, sameAs] of [
          [router.apiKey, router.apiKey],
          [other, other],
          [annaAgain, anna],
        ] as const) {
          const expected = { status: 200, replayed: "true", body: first.get(sameAs) };
          expect(await send(secret, path, body)).toEqual(expected);
        }
        expect((await send(ben, path, body)).status).toBe(422);
      });
      expect(again).toEqual(NOTHING);
    }
  });
});
