// The list is reliable: each listed model can be requested, at its listed price.
import { randomUUID } from "node:crypto";
import { chargeOf, creditsOf, PICO_PER_CREDIT, parsePicoUsd } from "@gr/money";
import { DepositStatus } from "@gr/proto/billing";
import { byDepth } from "@gr/testing/depth";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import sharp from "sharp";
import { call } from "./http.ts";
import { billingOf } from "./operator.ts";
import { type Router, startRouter, topologiesByDepth } from "./topology.ts";

/** Models that fail on purpose. */
const FAULTS = /^sandbox\/(image|video)-(error|blocked|hang)$/;

const AT_ONCE = 8;

interface Listed {
  readonly id: string;
  readonly type: "image" | "video";
  readonly capabilities: readonly string[];
  readonly pricing: { unit: string; default_request: string; highest: string };
}

const defaultPrice = ({ pricing }: Listed) => Number(pricing.default_request);

/**
 * The price of each model is tested beside its provider (test/prices). Of models with the same way through the router, the quick form makes
 * the cheapest one, whose pictures and videos are small.
 */
const chosen = byDepth<(models: readonly Listed[]) => readonly Listed[]>({
  quick: (models) => [
    ...new Map(
      models
        .toSorted((one, other) => defaultPrice(other) - defaultPrice(one))
        .map((model) => [`${model.type} ${model.pricing.unit} ${model.capabilities.join()}`, model]),
    ).values(),
  ],
  deep: (models) => models,
});

describe.each(topologiesByDepth)("the list of models (%s)", (topology) => {
  let router: Router;
  beforeAll(async () => {
    router = await startRouter(topology, { inProcess: true });
    // One of each costs more than the demo account has.
    const billing = await billingOf(router.dataDir);
    await billing.putDeposit({
      depositId: randomUUID(),
      accountId: router.accountId,
      credits: 1_000_000n,
      status: DepositStatus.COMPLETED,
      source: "test",
    });
  });
  afterAll(async () => {
    await router?.dispose();
  });

  test("has no model that cannot be made, and each costs what the list says, and us no more", async () => {
    const { body } = await call(router, "GET", "/v1/models", { key: null });
    const models = (body.data as Listed[]).filter(({ id }) => !FAULTS.test(id));
    expect(models.map(({ id }) => id)).toEqual(
      expect.arrayContaining(["openai/gpt-image-2", "sandbox/image", "sandbox/image-free", "sandbox/video"]),
    );
    const picture = await sharp({ create: { width: 8, height: 8, channels: 3, background: "#c00" } })
      .png()
      .toBuffer();
    const image = `data:image/png;base64,${picture.toString("base64")}`;
    const check = async ({ id, type, capabilities, pricing }: Listed) => {
      const needed = capabilities.some((ability) => ability.startsWith("text-to-")) ? {} : { image };
      const answer = await call(router, "POST", `/v1/compat/${type}s/generations`, {
        body: { model: id, prompt: "a lighthouse at noon", ...needed },
      });
      expect({ id, status: answer.status }).toEqual({ id, status: 200 });
      const charge = creditsOf(String(answer.body.cost));
      const listed = parsePicoUsd(pricing.default_request) ?? -1n;
      if (pricing.unit !== "metered") expect({ id, charge }).toEqual({ id, charge: chargeOf(listed) });
      // The usage is charged, and the list has its upper bound.
      else
        expect([id, charge > 0n && charge <= chargeOf(parsePicoUsd(pricing.highest) ?? 0n)]).toEqual([
          id,
          true,
        ]);
      const bill = `${router.simulatorUrl}/bill/${answer.headers.get("x-request-id")}`;
      const { pico_usd: billed } = (await (await fetch(bill)).json()) as { pico_usd: string };
      expect({ id, isCovered: BigInt(billed) <= charge * PICO_PER_CREDIT }).toEqual({ id, isCovered: true });
    };
    // Many are polled a few times.
    const waiting = chosen(models).values();
    const worker = async () => {
      for (const model of waiting) await check(model);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  });

  test("a model that does not exist is answered with these bytes, however its id is written", async () => {
    for (const id of ["no/such-model", "no%2Fsuch-model", "no%2fsuch-model"]) {
      for (const path of ["/v1/models", "/v1/compat/models"]) {
        const response = await fetch(`${router.baseUrl}${path}/${id}`);
        expect(response.status).toBe(404);
        expect(await response.text()).toBe(
          '{"error":{"message":"The model \\"no/such-model\\" does not exist.","type":"invalid_request_error","param":"model","code":"model_not_found"}}',
        );
      }
    }
  });

  test("the list is not sent again to who has it, also with a key", async () => {
    const url = `${router.baseUrl}/v1/models?sort=price`;
    const first = await fetch(url);
    const etag = first.headers.get("etag") ?? "";
    const authorization = `Bearer ${router.apiKey}`;
    expect(first.headers.get("content-encoding")).not.toBeNull();
    for (const headers of [{ "if-none-match": etag }, { "if-none-match": etag.slice(2), authorization }]) {
      const again = await fetch(url, { headers });
      expect([again.status, again.headers.get("etag"), await again.text()]).toEqual([304, etag, ""]);
    }
    const head = await fetch(url, { method: "HEAD" });
    expect([head.status, head.headers.get("etag"), await head.text()]).toEqual([200, etag, ""]);
  });

  test("a model that nobody here can make does not exist", async () => {
    const asked = { body: { model: "ideogram/ideogram-v3", prompt: "a lighthouse" } };
    expect(await call(router, "POST", "/v1/compat/images/generations", asked)).toMatchObject({
      status: 404,
      body: { error: { code: "model_not_found", param: "model" } },
    });
    const { status } = await call(router, "GET", "/v1/models/kling/kling-v3.0", { key: null });
    expect(status).toBe(404);
  });
});
