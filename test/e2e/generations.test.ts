// The log of generations through the whole router: an asynchronous video is polled, fetched, listed and deleted.
// Its cost equals the provider's bill, and other accounts cannot see it.
import { until } from "@gr/testing";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { call, remainingCredits, simulatorBill } from "./http.ts";
import { type Router, startRouter, topologiesByDepth } from "./topology.ts";

describe.each(topologiesByDepth)("the log of generations (%s)", (topology) => {
  let router: Router;
  beforeAll(async () => {
    const env = { RATE_LIMIT_OTHER_PER_SECOND: "100000" };
    router = await startRouter(topology, { inProcess: true, env });
  });
  afterAll(async () => {
    await router?.dispose();
  });

  test("an asynchronous video is found, paid for once, fetched and deleted, by its key only", async () => {
    const before = await remainingCredits(router);
    const accepted = await call(router, "POST", "/v1/compat/videos/generations", {
      headers: { prefer: "respond-async" },
      body: { model: "sandbox/video", prompt: "a lighthouse at dawn" },
    });
    expect([accepted.status, accepted.body.status]).toEqual([202, "running"]);
    const path = accepted.headers.get("location") ?? "";
    const look = (key = router.apiKey) => call(router, "GET", path, { key });
    await until(async () => (await look()).body.status === "succeeded", { timeoutMs: 60_000 });
    const { body: entry } = await look();
    expect(entry).toMatchObject({ kind: "video", model: "sandbox/video", error: null, deleted: false });
    const charged = before - (await remainingCredits(router));
    expect(charged).toBe(BigInt(Math.round(entry.cost * 10_000)));
    expect((await simulatorBill(router)).items).toHaveLength(1);

    const [{ url }] = entry.data;
    const file = await fetch(url);
    expect([file.status, file.headers.get("content-type")]).toEqual([200, "video/mp4"]);
    await file.arrayBuffer();
    const list = await call(router, "GET", "/v1/generations?kind=video&limit=1");
    const { price, ...listed } = entry;
    expect(price).toMatchObject({ charged: entry.cost.toFixed(4), lines: [{ unit: "second" }] });
    expect(list.body).toMatchObject({ object: "list", data: [listed], has_more: false, last_id: entry.id });

    const minted = { key: router.managementKey, body: { name: "another" } };
    const { key: foreign } = (await call(router, "POST", "/v1/api-keys", minted)).body;
    expect((await look(foreign)).status).toBe(404);
    expect((await call(router, "DELETE", path, { key: foreign })).status).toBe(404);
    expect((await call(router, "GET", "/v1/generations", { key: foreign })).body.data).toEqual([]);
    expect((await look(router.managementKey)).status).toBe(401);

    expect((await call(router, "DELETE", path)).body).toEqual({ id: entry.id, deleted: true });
    const gone = await fetch(url);
    expect(gone.status).toBe(404);
    await gone.arrayBuffer();
    expect((await look()).body).toMatchObject({ deleted: true, data: [], cost: entry.cost });
    expect(before - (await remainingCredits(router))).toBe(charged);
  });

  test("prompt and answer are saved for a key that saves them, and of no other key", async () => {
    const mint = async (name: string, fields: object) => {
      const minted = { key: router.managementKey, body: { name, ...fields } };
      return (await call(router, "POST", "/v1/api-keys", minted)).body.key as string;
    };
    const ask = async (key: string, stream: boolean) => {
      const messages = [{ role: "user", content: "a lighthouse" }];
      const body = { model: "sandbox/chat", messages, stream };
      const answer = await call(router, "POST", "/v1/compat/chat/completions", { key, body });
      return { id: answer.headers.get("x-request-id") ?? "", answer: answer.body };
    };
    const [saving, silent] = [await mint("saves", { saves_texts: true }), await mint("saves nothing", {})];
    const unsaved = await ask(silent, false);
    const streamed = await ask(saving, true);
    const whole = await ask(saving, false);
    const read = (id: string, key: string) => call(router, "GET", `/v1/generations/${id}/text`, { key });
    await until(async () => (await read(whole.id, saving)).status === 200, { timeoutMs: 60_000 });
    const { body } = await read(whole.id, saving);
    expect(body).toMatchObject({
      prompt: { model: "sandbox/chat", messages: [{ role: "user", content: "a lighthouse" }] },
      answer: { choices: whole.answer.choices, cost: whole.answer.cost },
    });
    const { body: stream } = await read(streamed.id, saving);
    expect(stream.answer.choices[0].message.content).not.toBe("");
    expect(stream.answer.choices[0].finish_reason).toBe("stop");
    expect((await read(whole.id, silent)).status).toBe(404);
    // The entries of later requests are saved, so that of an earlier one would be, too.
    expect((await read(unsaved.id, silent)).status).toBe(404);
    await call(router, "DELETE", `/v1/generations/${whole.id}`, { key: saving });
    expect((await read(whole.id, saving)).status).toBe(404);
    expect((await read(streamed.id, saving)).status).toBe(200);
  });

  test("a text request is found under its id, with what it cost and why, by its key only", async () => {
    const answer = await call(router, "POST", "/v1/compat/chat/completions", {
      body: { model: "sandbox/chat", user: "anna", messages: [{ role: "user", content: "a lighthouse" }] },
    });
    const id = answer.headers.get("x-request-id") ?? "";
    const look = (key = router.apiKey) => call(router, "GET", `/v1/generations/${id}`, { key });
    // Its hold is there at once, its line a moment later.
    expect((await look()).body).toMatchObject({ id, status: "succeeded", cost: answer.body.cost });
    await until(async () => (await look()).body.usage != null, { timeoutMs: 60_000 });
    const { body: entry } = await look();
    const { prompt_tokens: input, completion_tokens: output, cost } = answer.body.usage;
    expect(entry).toMatchObject({
      ...{ kind: "text", model: "sandbox/chat", api: "chat", stream: false, user: "anna", error: null },
      ...{ finish_reason: "stop", upstream_cost: String(cost), cost: answer.body.cost },
      usage: { input_tokens: input, output_tokens: output },
      unit_prices: { input_tokens: "0.0000005", output_tokens: "0.0000015" },
      attempts: [{ outcome: "delivered", model: "sandbox/chat" }],
    });
    expect(JSON.stringify(entry)).not.toContain("lighthouse");
    expect(entry.price).toMatchObject({ charged: entry.cost.toFixed(4), lines: [{}, {}] });
    const list = await call(router, "GET", "/v1/generations?kind=text");
    expect(list.body).toMatchObject({ data: [{ id, cost: entry.cost }], has_more: false });
    const image = { body: { model: "sandbox/image", prompt: "a kite" } };
    const { headers } = await call(router, "POST", "/v1/compat/images/generations", image);
    const all = (await call(router, "GET", "/v1/generations?limit=2")).body;
    expect(all.data.map(({ kind }: { kind: string }) => kind)).toEqual(["image", "text"]);
    expect(all.first_id).toBe(headers.get("x-request-id"));
    const next = (await call(router, "GET", `/v1/generations?limit=1&after=${all.first_id}`)).body;
    expect(next.data).toEqual([all.data[1]]);
    const minted = { key: router.managementKey, body: { name: "yet another" } };
    const { key: foreign } = (await call(router, "POST", "/v1/api-keys", minted)).body;
    expect((await look(foreign)).status).toBe(404);
    expect((await call(router, "GET", "/v1/generations?kind=text", { key: foreign })).body.data).toEqual([]);
  });

  test("a bare name of a model is accepted, and the log has its whole id", async () => {
    const image = { body: { model: "image", prompt: "a kite" } };
    const response = await call(router, "POST", "/v1/compat/images/generations", image);
    const quoted = await call(router, "POST", "/v1/quote/images/generations", image);
    expect([response.status, quoted.status]).toEqual([200, 200]);
    const chat = { body: { model: "chat", messages: [{ role: "user", content: "hi" }] } };
    const answered = await call(router, "POST", "/v1/compat/chat/completions", chat);
    expect(answered.status).toBe(200);
    for (const [{ headers }, model] of [
      [response, "sandbox/image"],
      [answered, "sandbox/chat"],
    ] as const) {
      const { body } = await call(router, "GET", `/v1/generations/${headers.get("x-request-id")}`);
      expect(body.model).toBe(model);
    }
  });
});
