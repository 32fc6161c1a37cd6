// The promises of README to a newcomer, with the official SDK; `npm run test:deep` has the split topology. The newcomer gets an
// image by URL and as base64, a completion and a streamed one. The balance is then lower by exactly the charges.

import { chargeOf, creditsOf, parsePicoUsd } from "@gr/money";
import { readMp4 } from "@gr/testing/mp4";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import OpenAI, { toFile } from "openai";
import sharp from "sharp";
import { call, remainingCredits, simulatorBill } from "./http.ts";
import { type Router, startRouter, topologiesByDepth } from "./topology.ts";

describe.each(topologiesByDepth)("first steps (%s)", (topology) => {
  let router: Router;
  let client: OpenAI;
  beforeAll(async () => {
    router = await startRouter(topology, { inProcess: true });
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

  test("an edit starts from files and a mask, sent by the SDK or as a plain form, and from what was made before", async () => {
    const before = await remainingCredits(router);
    const picture = { width: 64, height: 48, channels: 4, background: "#c00f" } as const;
    const [image, mask] = await Promise.all([
      sharp({ create: picture }).png().toBuffer(),
      sharp({ create: { ...picture, background: "#0000" } })
        .png()
        .toBuffer(),
    ]);
    const asked = { model: "sandbox/image-edit", prompt: "the same at night" };
    const type = { type: "image/png" };
    const edited = await client.images.edit({
      ...asked,
      image: [await toFile(image, "a.png", type), await toFile(image, "b.png", type)],
      mask: await toFile(mask, "mask.png", type),
    });
    expect((edited as unknown as { cost: number }).cost).toBe(0.014);
    const editedUrl = edited.data?.[0]?.url ?? "";
    expect((await fetch(editedUrl)).headers.get("content-type")).toBe("image/webp");

    const form = new FormData();
    const fields = {
      ...asked,
      image: editedUrl,
      "image[]": new Blob([new Uint8Array(image)]),
      output_format: "png",
    };
    for (const [name, value] of Object.entries(fields)) form.append(name, value);
    const response = await fetch(`${router.baseUrl}/v1/compat/images/edits`, {
      method: "POST",
      headers: { authorization: `Bearer ${router.apiKey}` },
      body: form,
    });
    expect(response.status).toBe(200);
    const { data } = (await response.json()) as { data: { url: string }[] };
    expect((await fetch(data[0]?.url ?? "")).headers.get("content-type")).toBe("image/png");
    expect(before - (await remainingCredits(router))).toBe(280n);
  });

  test("a video by URL plays, one in base64 is one too, and one from an image needs it", async () => {
    const before = await remainingCredits(router);
    const draw = async (body: object) =>
      call(router, "POST", "/v1/compat/videos/generations", { body: { prompt: "a lighthouse", ...body } });
    const small = { model: "sandbox/video", seconds: 2 };
    const picture = { width: 64, height: 48, channels: 3, background: "#c00" } as const;
    const bytes = await sharp({ create: picture }).png().toBuffer();
    const image = `data:image/png;base64,${bytes.toString("base64")}`;
    const [byUrl, asBase64, fromImage, ...refused] = await Promise.all([
      draw({ ...small, size: "720x1280" }),
      draw({ ...small, response_format: "b64_json" }),
      draw({ ...small, model: "sandbox/video-from-image", image }),
      draw({ ...small, model: "sandbox/video-from-image" }),
      draw({ ...small, image }),
      draw({ ...small, model: "sandbox/video-error" }),
      draw({ ...small, model: "sandbox/video-blocked" }),
    ]);
    const films = [byUrl, fromImage].map(async ({ body }) => {
      const film = await fetch(body.data[0].url);
      expect(film.headers.get("content-type")).toBe("video/mp4");
      return Buffer.from(await film.arrayBuffer());
    });
    films.push(Promise.resolve(Buffer.from(asBase64.body.data[0].b64_json, "base64")));
    const facts = (await Promise.all(films)).map(readMp4);
    const upright = { seconds: 2, width: 720, height: 1280, codec: "av01" };
    expect(facts).toMatchObject([upright, ...[1, 2].map(() => ({ ...upright, width: 1280, height: 720 }))]);
    const part = await fetch(byUrl.body.data[0].url, { headers: { range: "bytes=4-7" } });
    expect([part.status, await part.text()]).toEqual([206, "ftyp"]);
    expect(refused.map(({ status, body }) => [status, body.error.param ?? body.error.code])).toEqual([
      [400, "image"],
      [400, "image"],
      [502, "provider_error"],
      [400, "content_policy_violation"],
    ]);
    expect(before - (await remainingCredits(router))).toBe(1_000n + 1_000n + 1_200n);
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
    for await (const model of client.models.list({ query: { type: "all" } })) ids.push(model.id);
    expect(ids).toEqual(expect.arrayContaining(["sandbox/chat", "sandbox/image", "openai/gpt-image-2"]));
    const chats = [];
    for await (const model of client.models.list()) chats.push(model.id);
    expect(chats).toContain("sandbox/chat");
    expect(chats).not.toContain("sandbox/image");
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
        "/v1/compat/videos/generations",
        "/v1/models",
        "/v1/api-keys",
        "/v1/api-keys/{id}",
        "/v1/auth/test",
        "/v1/credits",
      ]),
    );
  });
});
