// Clients for images, unchanged, against the router: streams of the official client, and edits of the AI SDK, which reads
// base64 only and cannot ask for it. The request of Open WebUI is that of its source, since the program is no library.
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { generateImage } from "ai";
import OpenAI, { toFile } from "openai";
import sharp from "sharp";
import { call, remainingCredits } from "../e2e/http.ts";
import { type Router, startRouter } from "../e2e/topology.ts";

let router: Router;
let client: OpenAI;
let png: Buffer;
beforeAll(async () => {
  router = await startRouter("all-in-one", { inProcess: true });
  client = new OpenAI({ baseURL: `${router.baseUrl}/v1/compat`, apiKey: router.apiKey });
  const picture = { width: 64, height: 48, channels: 3, background: "#c00" } as const;
  png = await sharp({ create: picture }).png().toBuffer();
});
afterAll(async () => {
  await router?.dispose();
});

const spent = async (work: () => Promise<unknown>) => {
  const before = await remainingCredits(router);
  await work();
  return before - (await remainingCredits(router));
};
const formatOf = async (base64: string | undefined) =>
  (await sharp(Buffer.from(base64 ?? "", "base64")).metadata()).format;

test("openai streams an image that it generates, and one that it edits, at the price of the plain call", async () => {
  const asked = { model: "sandbox/image-edit", prompt: "a fox", output_format: "png" } as const;
  const image = () => toFile(png, "fox.png", { type: "image/png" });
  const plain = await spent(async () => client.images.edit({ ...asked, image: await image() }));
  const types: string[] = [];
  const indexes: number[] = [];
  const streamed = await spent(async () => {
    const options = { ...asked, image: await image(), stream: true, partial_images: 2 } as const;
    for await (const event of await client.images.edit(options)) {
      types.push(event.type);
      expect(await formatOf(event.b64_json)).toBe("png");
      if (event.type === "image_edit.partial_image") indexes.push(event.partial_image_index);
      else {
        expect(event.usage).toMatchObject({ total_tokens: expect.any(Number), cost: Number(plain) / 10_000 });
      }
    }
  });
  expect([streamed, plain > 0n]).toEqual([plain, true]);
  const generated = { ...asked, model: "sandbox/image", stream: true, partial_images: 1 } as const;
  for await (const event of await client.images.generate(generated)) types.push(event.type);
  expect(types).toEqual([
    ...["image_edit.partial_image", "image_edit.partial_image", "image_edit.completed"],
    ...["image_generation.partial_image", "image_generation.completed"],
  ]);
  expect(indexes).toEqual([0, 1]);
});

test("openai streams a failure of its own type, with a status before the first event", async () => {
  const asked = { model: "sandbox/image", prompt: "#nsfw", stream: true, partial_images: 1 } as const;
  const refused = await client.images.generate(asked).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(OpenAI.APIError);
  expect(refused).toMatchObject({ status: 400, code: "content_policy_violation" });
});

test("the AI SDK generates images with both of its providers, and edits them with a mask", async () => {
  const at = { baseURL: `${router.baseUrl}/v1/compat`, apiKey: router.apiKey };
  const compatible = createOpenAICompatible({ name: "router", ...at });
  const models = [createOpenAI(at).image("sandbox/image"), compatible.imageModel("sandbox/image")];
  for (const model of models) {
    const { image } = await generateImage({ model, prompt: "a fox" });
    expect(await formatOf(image.base64)).toBe("webp");
  }
  const see = { width: 64, height: 48, channels: 4, background: "#0000" } as const;
  const mask = await sharp({ create: see }).png().toBuffer();
  const { images } = await generateImage({
    model: compatible.imageModel("sandbox/image-edit"),
    prompt: { text: "at night", images: [png], mask },
  });
  expect(await formatOf(images[0]?.base64)).toBe("webp");
});

test("@ai-sdk/openai edits an image with a key whose default response_format is b64_json", async () => {
  const body = { name: "pictures", default_response_format: "b64_json" };
  const minted = await call(router, "POST", "/v1/api-keys", { body, key: router.managementKey });
  const provider = createOpenAI({ baseURL: `${router.baseUrl}/v1/compat`, apiKey: minted.body.key });
  const { images } = await generateImage({
    model: provider.image("sandbox/image-edit"),
    prompt: { text: "at night", images: [png] },
  });
  expect(await formatOf(images[0]?.base64)).toBe("webp");
});

test("Open WebUI makes images with an empty size; its default of 512x512 is refused with the sizes there are", async () => {
  const make = (more: object) =>
    call(router, "POST", "/v1/compat/images/generations", {
      body: { prompt: "a fox", n: 1, response_format: "b64_json", ...more },
    });
  for (const model of ["sandbox/image", "gpt-image-1.5"]) {
    const refused = await make({ model, size: "512x512" });
    expect([refused.status, refused.body.error.param]).toEqual([400, "size"]);
    expect(refused.body.error.message).toContain("1024x1024");
    const { status, body } = await make({ model });
    expect([status, await formatOf(body.data?.[0]?.b64_json)]).toEqual([200, "webp"]);
  }
});
