// What README promises a newcomer, with the official SDK, in both topologies: an image by URL and as base64,
// a completion, a streamed one, and a balance that is lower by exactly what was charged.

import { chargeOf, creditsOf, parsePicoUsd } from "@gr/money";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import OpenAI from "openai";
import sharp from "sharp";
import { call, remainingCredits, simulatorBill } from "./http.ts";
import { type Router, startRouter, topologies } from "./topology.ts";

describe.each(topologies)("first steps (%s)", (topology) => {
  let router: Router;
  let client: OpenAI;
  beforeAll(async () => {
    router = await startRouter(topology);
    client = new OpenAI({ apiKey: router.apiKey, baseURL: `${router.baseUrl}/v1/compat`, maxRetries: 0 });
  });
  afterAll(async () => {
    await router?.dispose();
  });

  test("image, completion and stream are answered, and the balance falls by exactly their charges", async () => {
    const before = await remainingCredits(router);
    const billBefore = await simulatorBill(router);
    const charges: bigint[] = [];
    const charged = (cost: unknown) => charges.push(creditsOf(String(cost)));

    const byUrl = await client.images.generate({ model: "sandbox/image", prompt: "a lighthouse at dawn" });
    charged((byUrl as unknown as { cost: number }).cost);
    const picture = await fetch(byUrl.data?.[0]?.url ?? "");
    expect(picture.status).toBe(200);
    expect(picture.headers.get("content-type")).toBe("image/webp");
    const { format, width } = await sharp(Buffer.from(await picture.arrayBuffer())).metadata();
    expect({ format, width }).toEqual({ format: "webp", width: 1024 });

    const asBase64 = await client.images.generate({
      model: "sandbox/image",
      prompt: "a lighthouse at dusk",
      size: "1024x1024",
      response_format: "b64_json",
      output_format: "png",
    });
    charged((asBase64 as unknown as { cost: number }).cost);
    const bytes = Buffer.from(asBase64.data?.[0]?.b64_json ?? "", "base64");
    expect((await sharp(bytes).metadata()).format).toBe("png");

    const messages = [{ role: "user" as const, content: "Tell me about lighthouses." }];
    const completion = await client.chat.completions.create({ model: "sandbox/chat", messages });
    expect(completion.choices[0]?.message.content).toEqual(expect.any(String));
    expect(completion.usage?.total_tokens).toBeGreaterThan(0);
    charged((completion as unknown as { cost: number }).cost);

    const stream = await client.chat.completions.create({ model: "sandbox/chat", messages, stream: true });
    let text = "";
    let usage: { total_tokens: number; cost?: number } | null | undefined;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta?.content ?? "";
      usage = chunk.usage ?? usage;
    }
    expect(text).not.toBe("");
    expect(usage?.total_tokens).toBeGreaterThan(0);
    charges.push(chargeOf(parsePicoUsd(usage?.cost ?? Number.NaN) ?? -1n));

    const spent = before - (await remainingCredits(router));
    expect(spent).toBe(charges.reduce((sum, charge) => sum + charge, 0n));
    const bill = await simulatorBill(router);
    const billed = bill.items.slice(billBefore.items.length);
    expect(billed).toHaveLength(4);
    expect(spent).toBe(billed.reduce((sum, { picoUsd }) => sum + chargeOf(picoUsd), 0n));
  });

  test("responses work the same, streamed and not", async () => {
    const before = await remainingCredits(router);
    const whole = await client.responses.create({ model: "sandbox/chat", input: "Hello there" });
    expect(whole.output_text).not.toBe("");
    let streamed = 0n;
    for await (const event of await client.responses.create({
      model: "sandbox/chat",
      input: "Hello again",
      stream: true,
    })) {
      if (event.type === "response.completed") {
        const { cost } = event.response.usage as unknown as { cost: number };
        streamed = chargeOf(parsePicoUsd(cost) ?? -1n);
      }
    }
    expect(streamed).toBeGreaterThan(0n);
    const charge = creditsOf(String((whole as unknown as { cost: number }).cost));
    expect(before - (await remainingCredits(router))).toBe(charge + streamed);
  });

  test("the model list works with the SDK, ids with slashes included", async () => {
    const ids = [];
    for await (const model of client.models.list()) ids.push(model.id);
    expect(ids).toEqual(expect.arrayContaining(["sandbox/chat", "sandbox/image", "openai/gpt-image-2"]));
    expect((await client.models.retrieve("sandbox/image")).id).toBe("sandbox/image");
    expect((await call(router, "GET", "/v1/models/openai/gpt-image-2", { key: null })).status).toBe(200);
  });

  test("openapi.json describes every public path and is labelled 0.0.1", async () => {
    const { status, body } = await call(router, "GET", "/openapi.json", { key: null });
    expect(status).toBe(200);
    expect(body.info.version).toBe("0.0.1");
    expect(Object.keys(body.paths)).toEqual(
      expect.arrayContaining([
        "/v1/compat/chat/completions",
        "/v1/compat/responses",
        "/v1/compat/images/generations",
        "/v1/models",
        "/v1/api-keys",
        "/v1/api-keys/{id}",
        "/v1/auth/test",
        "/v1/credits",
      ]),
    );
  });
});
