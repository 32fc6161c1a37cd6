// Images under an Idempotency-Key, in both topologies and with the official SDK: made once, charged once, answered as
// often as the client asks.
import { randomUUID } from "node:crypto";
import { creditsOf } from "@gr/money";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import OpenAI from "openai";
import { call, remainingCredits, simulatorBill } from "./http.ts";
import { type Router, startRouter, topologies } from "./topology.ts";

const PATH = "/v1/compat/images/generations";
const kite = { model: "sandbox/image", prompt: "a kite" };
const PRICE = creditsOf("0.01");

describe.each(topologies)("images under an Idempotency-Key (%s)", (topology) => {
  let router: Router;
  beforeAll(async () => {
    const env = { RATE_LIMIT_MEDIA_PER_SECOND: "0", RATE_LIMIT_OTHER_PER_SECOND: "0" };
    router = await startRouter(topology, { sharedPostgres: true, env });
  });
  afterAll(async () => {
    await router?.dispose();
  });

  const mint = async (body: object): Promise<{ id: string; key: string }> =>
    (await call(router, "POST", "/v1/api-keys", { key: router.managementKey, body })).body;

  /** The answer's bytes. */
  async function send(body: object | FormData, idempotencyKey: string, apiKey = router.apiKey) {
    const form = body instanceof FormData;
    const response = await fetch(router.baseUrl + PATH, {
      method: "POST",
      headers: {
        authorization: `Bearer ${apiKey}`,
        "idempotency-key": idempotencyKey,
        ...(form ? {} : { "content-type": "application/json" }),
      },
      body: form ? body : JSON.stringify(body),
    });
    const replayed = response.headers.get("idempotency-replayed");
    return { status: response.status, replayed, text: await response.text() };
  }
  const codeOf = ({ text }: { text: string }): unknown => JSON.parse(text).error?.code;

  /** Images made and credits charged since it was called. */
  async function meter() {
    const [bill, credits] = [await simulatorBill(router), await remainingCredits(router)];
    return async () => ({
      made: (await simulatorBill(router)).items.length - bill.items.length,
      charged: credits - (await remainingCredits(router)),
    });
  }

  test.each(["url", "b64_json"])(
    "%s is answered again byte for byte, made and charged once",
    async (format) => {
      const spent = await meter();
      const key = randomUUID();
      const body = { ...kite, response_format: format, n: 2 };
      const first = await send(body, key);
      expect(first).toMatchObject({ status: 200, replayed: null });
      const form = new FormData();
      for (const [name, value] of Object.entries(body)) form.append(name, String(value));
      for (const again of [body, { ...body, size: "auto" }, form]) {
        expect(await send(again, key)).toEqual({ ...first, replayed: "true" });
      }
      expect(await spent()).toEqual({ made: 1, charged: 2n * PRICE });
    },
  );

  test("b64_ephemeral was not kept, so it is not answered again, and not made again either", async () => {
    const spent = await meter();
    const key = randomUUID();
    const body = { ...kite, response_format: "b64_ephemeral" };
    expect((await send(body, key)).status).toBe(200);
    const again = await send(body, key);
    expect([again.status, codeOf(again)]).toEqual([409, "idempotency_not_replayable"]);
    expect(await spent()).toEqual({ made: 1, charged: PRICE });
  });

  test("20 at once are one image and one charge; whoever is not answered is told to wait", async () => {
    const spent = await meter();
    const key = randomUUID();
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(kite, key)));
    const made = answers.filter(({ status, replayed }) => status === 200 && replayed === null);
    expect(made).toHaveLength(1);
    for (const answer of answers.filter((each) => each !== made[0])) {
      if (answer.status === 200) expect(answer.text).toBe(made[0]?.text);
      else expect([answer.status, codeOf(answer)]).toEqual([409, "idempotency_in_progress"]);
    }
    expect(await send(kite, key)).toEqual({ ...made[0], replayed: "true" });
    expect(await spent()).toEqual({ made: 1, charged: PRICE });
  });

  test("another request under the key is 422 and makes nothing; at another path the key is another", async () => {
    const key = randomUUID();
    expect((await send(kite, key)).status).toBe(200);
    const spent = await meter();
    const other = await send({ ...kite, prompt: "a kit" }, key);
    expect([other.status, codeOf(other)]).toEqual([422, "idempotency_mismatch"]);
    expect(await spent()).toEqual({ made: 0, charged: 0n });
    const headers = { "idempotency-key": key };
    const edits = await call(router, "POST", "/v1/compat/images/edits", { body: kite, headers });
    expect([edits.status, edits.headers.get("idempotency-replayed")]).toEqual([200, null]);
    expect(await spent()).toEqual({ made: 1, charged: PRICE });
  });

  test("a failure is free and leaves the key free: the next request under it runs", async () => {
    const spent = await meter();
    const key = randomUUID();
    for (const model of ["sandbox/image-error", "sandbox/image-blocked", "sandbox/image-error"]) {
      expect((await send({ ...kite, model }, key)).status).toBeGreaterThanOrEqual(400);
    }
    expect((await spent()).charged).toBe(0n);
    expect(await send(kite, key)).toMatchObject({ status: 200, replayed: null });
    expect(await send(kite, key)).toMatchObject({ status: 200, replayed: "true" });
    expect((await spent()).charged).toBe(PRICE);
  });

  test("an answer that is paid for is given again when nothing is left to spend, but not to a deleted key", async () => {
    const minted = await mint({ name: "spent", spend_limit: 0.01 });
    const key = randomUUID();
    const first = await send(kite, key, minted.key);
    expect(first.status).toBe(200);
    expect((await send(kite, randomUUID(), minted.key)).status).toBe(402);
    expect(await send(kite, key, minted.key)).toEqual({ ...first, replayed: "true" });
    await call(router, "DELETE", `/v1/api-keys/${minted.id}`, { key: router.managementKey });
    const refused = await send(kite, key, minted.key);
    expect([refused.status, codeOf(refused)]).toEqual([401, "invalid_api_key"]);
    // A key's requests are its account's.
    expect(await send(kite, key)).toEqual({ ...first, replayed: "true" });
  });

  test("with the openai SDK: two calls under one key are one picture", async () => {
    const spent = await meter();
    const client = new OpenAI({
      apiKey: router.apiKey,
      baseURL: `${router.baseUrl}/v1/compat`,
      maxRetries: 0,
    });
    const headers = { "Idempotency-Key": randomUUID() };
    const ask = () => client.images.generate(kite, { headers }).withResponse();
    const [first, second] = [await ask(), await ask()];
    expect(second.data).toEqual(first.data);
    expect(first.response.headers.get("idempotency-replayed")).toBeNull();
    expect(second.response.headers.get("idempotency-replayed")).toBe("true");
    expect((await fetch(second.data.data?.[0]?.url ?? "")).status).toBe(200);
    await expect(client.images.generate({ ...kite, n: 2 }, { headers })).rejects.toMatchObject({
      status: 422,
      code: "idempotency_mismatch",
    });
    expect(await spent()).toEqual({ made: 1, charged: PRICE });
  });
});
