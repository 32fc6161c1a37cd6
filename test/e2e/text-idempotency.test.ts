// Idempotency-Key on the text paths as clients see it, in both topologies: a repeated request is answered from what
// the first one got, charged once and sent upstream once, whatever its client did in between.
import { DepositStatus } from "@gr/proto/billing";
import { KeyKind } from "@gr/proto/keys";
import { until } from "@gr/testing";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import OpenAI from "openai";
import { call, remainingCredits, simulatorBill } from "./http.ts";
import { billingOf, keysOf } from "./operator.ts";
import { type Router, startRouter, topologies } from "./topology.ts";

const PATIENCE = { timeoutMs: 60_000 };
const CHAT = "/v1/compat/chat/completions";
const RESPONSES = "/v1/compat/responses";

describe.each(topologies)("Idempotency-Key on text (%s)", (topology) => {
  let router: Router;
  beforeAll(async () => {
    router = await startRouter(topology, { sharedPostgres: true, env: { SIMULATOR_TOKEN_DELAY_MS: "5" } });
  });
  afterAll(async () => {
    await router?.dispose();
  });

  let numbers = 0;
  function newKey(): string {
    numbers += 1;
    return `order ${numbers}`;
  }
  const chat = (prompt: string, more: object = {}) => ({
    model: "sandbox/chat",
    messages: [{ role: "user", content: prompt }],
    ...more,
  });

  async function ask(
    idempotencyKey: string,
    body: object,
    { path = CHAT, key = router.apiKey, signal }: { path?: string; key?: string; signal?: AbortSignal } = {},
  ) {
    const response = await fetch(`${router.baseUrl}${path}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "idempotency-key": idempotencyKey,
      },
      body: JSON.stringify(body),
      ...(signal === undefined ? {} : { signal }),
    });
    return { response, replayed: response.headers.get("idempotency-replayed") };
  }
  async function read(asked: ReturnType<typeof ask>) {
    const { response, replayed } = await asked;
    const id = response.headers.get("x-request-id");
    return { status: response.status, replayed, id, text: await response.text(), headers: response.headers };
  }

  /** What `work` costs the account and what it makes the upstream bill. */
  async function costs(work: () => Promise<unknown>) {
    const [credits, { items }] = [await remainingCredits(router), await simulatorBill(router)];
    await work();
    const after = (await simulatorBill(router)).items;
    return {
      charged: credits - (await remainingCredits(router)),
      upstreamCalls: after.length - items.length,
    };
  }
  const NOTHING = { charged: 0n, upstreamCalls: 0 };

  /** An account of its own with one key and so much credit. */
  async function newAccount(credits: bigint) {
    const keys = await keysOf(router.dataDir);
    const { accountId } = await keys.createAccount({ name: "Another" });
    await (await billingOf(router.dataDir)).putDeposit({
      depositId: crypto.randomUUID(),
      accountId,
      credits,
      status: DepositStatus.COMPLETED,
      source: "test",
    });
    const { secret } = await keys.mintKey({ accountId, name: "Its key", kind: KeyKind.NORMAL });
    return secret;
  }

  test.each<[string, string, object]>([
    ["a chat completion", CHAT, chat("whole")],
    ["a chat stream", CHAT, chat("streamed", { stream: true })],
    ["a response", RESPONSES, { model: "sandbox/chat", input: "whole" }],
    ["a response stream", RESPONSES, { model: "sandbox/chat", input: "streamed", stream: true }],
  ])("%s is given again byte for byte, under its own request id, for nothing", async (_what, path, body) => {
    const key = newKey();
    const first = await read(ask(key, body, { path }));
    expect(first).toMatchObject({ status: 200, replayed: null });
    const cost = await costs(async () => {
      const again = await read(ask(key, body, { path }));
      expect(again).toMatchObject({ status: 200, replayed: "true", text: first.text });
      expect(again.id).not.toBe(first.id);
      expect(again.headers.get("content-type")).toBe(first.headers.get("content-type"));
    });
    expect(cost).toEqual(NOTHING);
  });

  test("a client that left in the middle of its stream gets all of it by asking again", async () => {
    const key = newKey();
    const body = chat("left early #tokens=100", { stream: true });
    const leaving = new AbortController();
    const { response } = await ask(key, body, { signal: leaving.signal });
    const reader = response.body?.getReader();
    await reader?.read();
    leaving.abort();
    let again: Awaited<ReturnType<typeof read>> | undefined;
    await until(async () => {
      again = await read(ask(key, body));
      return again.status === 200;
    }, PATIENCE);
    expect(again?.replayed).toBe("true");
    expect(again?.text).toMatch(/^(?::.*\n\n)?data: \{/);
    expect(again?.text).toMatch(/"usage":\{[^}]*"cost":.*\n\ndata: \[DONE\]\n\n$/s);
    expect(await costs(() => read(ask(key, body)))).toEqual(NOTHING);
  });

  test("the key with another body is refused", async () => {
    const key = newKey();
    await read(ask(key, chat("one")));
    const cost = await costs(async () => {
      const other = await read(ask(key, chat("other")));
      expect(other.status).toBe(422);
      expect(JSON.parse(other.text).error).toMatchObject({
        type: "invalid_request_error",
        code: "idempotency_mismatch",
        param: "Idempotency-Key",
      });
    });
    expect(cost).toEqual(NOTHING);
  });

  test("the key of a running request is refused until it has ended", async () => {
    const key = newKey();
    const body = chat("running #tokens=600", { stream: true });
    const { response } = await ask(key, body);
    const refused = await read(ask(key, body));
    expect(refused.status).toBe(409);
    expect(JSON.parse(refused.text).error.code).toBe("idempotency_in_progress");
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    const text = await response.text();
    expect(await read(ask(key, body))).toMatchObject({ status: 200, replayed: "true", text });
  });

  test("the key at the other endpoint, or of another account, is another request", async () => {
    const key = newKey();
    const other = await newAccount(10_000n);
    expect(await read(ask(key, chat("mine")))).toMatchObject({ status: 200, replayed: null });
    const atResponses = await read(ask(key, { model: "sandbox/chat", input: "mine" }, { path: RESPONSES }));
    expect(atResponses).toMatchObject({ status: 200, replayed: null });
    expect(await read(ask(key, chat("mine"), { key: other }))).toMatchObject({ status: 200, replayed: null });
  });

  test("another key of the same account has the same requests", async () => {
    const key = newKey();
    const { body: minted } = await call(router, "POST", "/v1/api-keys", {
      key: router.managementKey,
      body: { name: "second" },
    });
    const first = await read(ask(key, chat("shared")));
    const second = await read(ask(key, chat("shared"), { key: minted.key }));
    expect(second).toMatchObject({ status: 200, replayed: "true", text: first.text });
  });

  test("fifty requests at once with one key are one charge and one upstream call", async () => {
    const key = newKey();
    let answers: Awaited<ReturnType<typeof read>>[] = [];
    const cost = await costs(async () => {
      answers = await Promise.all(Array.from({ length: 50 }, () => read(ask(key, chat("fifty")))));
    });
    const [first, ...more] = answers.filter(({ status, replayed }) => status === 200 && replayed === null);
    expect(more).toEqual([]);
    for (const { status, replayed, text } of answers) {
      if (status === 200) expect(text).toBe(first?.text);
      else expect({ status, replayed }).toEqual({ status: 409, replayed: null });
    }
    const charge = BigInt(Math.round(JSON.parse(first?.text ?? "{}").cost * 10_000));
    expect(cost).toEqual({ charged: charge, upstreamCalls: 1 });
    expect(charge).toBeGreaterThan(0n);
  });

  test("a failed request costs nothing and leaves its key free, also for another body", async () => {
    const key = newKey();
    const failing = { ...chat("fails"), model: "sandbox/chat-error" };
    const before = await remainingCredits(router);
    expect((await read(ask(key, failing))).status).toBe(502);
    // A failure that may have been billed is looked up before its key is free.
    await until(async () => (await read(ask(key, failing))).status === 502, PATIENCE);
    expect(await remainingCredits(router)).toBe(before);
    const other = chat("works now");
    let works: Awaited<ReturnType<typeof read>> | undefined;
    await until(async () => {
      works = await read(ask(key, other));
      return works.status === 200;
    }, PATIENCE);
    expect(works?.replayed).toBeNull();
    expect(await read(ask(key, other))).toMatchObject({ replayed: "true", text: works?.text });
  });

  test("a key that was deleted gets nothing again", async () => {
    const { body: minted } = await call(router, "POST", "/v1/api-keys", {
      key: router.managementKey,
      body: { name: "short-lived" },
    });
    const key = newKey();
    const asked = { key: minted.key };
    expect((await read(ask(key, chat("deleted"), asked))).status).toBe(200);
    await call(router, "DELETE", `/v1/api-keys/${minted.id}`, { key: router.managementKey });
    expect((await read(ask(key, chat("deleted"), asked))).status).toBe(401);
  });

  test("an account that has spent everything still gets what it paid for", async () => {
    const body = chat("last one", { max_tokens: 50 });
    const secret = await newAccount(10n);
    const key = newKey();
    const first = await read(ask(key, body, { key: secret }));
    expect(first.status).toBe(200);
    await until(async () => (await read(ask(newKey(), body, { key: secret }))).status === 402, PATIENCE);
    expect(await read(ask(key, body, { key: secret }))).toMatchObject({ replayed: "true", text: first.text });
  });

  test("a key that is no key is refused by name, for nothing", async () => {
    const cost = await costs(async () => {
      const refused = await read(ask("k".repeat(256), chat("long key")));
      expect(refused.status).toBe(400);
      expect(JSON.parse(refused.text).error).toMatchObject({ param: "Idempotency-Key" });
    });
    expect(cost).toEqual(NOTHING);
  });

  test("the official SDK gets its first answer again, whole and as a stream", async () => {
    const client = new OpenAI({
      apiKey: router.apiKey,
      baseURL: `${router.baseUrl}/v1/compat`,
      maxRetries: 0,
    });
    const messages = [{ role: "user" as const, content: "Hello from the SDK" }];
    const headers = { "Idempotency-Key": newKey() };
    const whole = () => client.chat.completions.create({ model: "sandbox/chat", messages }, { headers });
    const first = await whole();
    const again = await whole().withResponse();
    expect(again.data).toEqual(first);
    expect(again.response.headers.get("idempotency-replayed")).toBe("true");
    const perClient = client.withOptions({ defaultHeaders: { "Idempotency-Key": newKey() } });
    const stream = async () => {
      const chunks: unknown[] = [];
      for await (const chunk of await perClient.chat.completions.create({
        model: "sandbox/chat",
        messages,
        stream: true,
      }))
        chunks.push(chunk);
      return chunks;
    };
    const chunks = await stream();
    expect(chunks.length).toBeGreaterThan(3);
    expect(await costs(async () => expect(await stream()).toEqual(chunks))).toEqual(NOTHING);
  });
});
