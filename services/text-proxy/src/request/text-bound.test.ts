// A body's bound is never above the hold that the whole request needs, and near it for plain text.
import { create } from "@bufbuild/protobuf";
import { dearestTokenPrice } from "@gr/models";
import type { Credits } from "@gr/money";
import { type Model, ModelKind, ModelSchema } from "@gr/proto/catalog";
import { JsonGuard, OF_REQUESTS } from "@gr/runtime";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { holdSizeOf } from "./hold-size.ts";
import { TextBound } from "./text-bound.ts";
import { readTextRequest, type TextApi } from "./text-request.ts";

const PROVIDERS = ["first", "second"];
const modelOf = (prices: readonly bigint[]): Model => {
  const [base = 0n, input = 0n, image = 0n, perRequest = 0n] = prices;
  const price = {
    inputPicoUsd: base,
    outputPicoUsd: 2n * base,
    imageInputPicoUsd: image,
    requestPicoUsd: perRequest,
    upstreams: [{ provider: "second", price: { inputPicoUsd: input, outputPicoUsd: input } }],
  };
  return create(ModelSchema, {
    id: "m",
    kind: ModelKind.TEXT,
    capabilities: ["vision"],
    contextTokens: 100_000n,
    price: { version: "v1", rule: { case: "token", value: price } },
    routes: PROVIDERS.map((provider) => ({ provider, upstreamModel: "m" })),
  });
};

const data = fc.string({ unit: fc.constantFrom("A", "b", "/", "+", "9"), maxLength: 400 });
const text = fc.string({ unit: "binary", maxLength: 400 }).map((value) => value.toWellFormed());
const picture = data.map((bytes) => `data:image/png;base64,${bytes}`);
const part = fc.oneof(
  text.map((value) => ({ type: "text", text: value })),
  picture.map((url) => ({ type: "image_url", image_url: { url } })),
  picture.map((url) => ({ type: "input_image", image_url: url })),
  data.map((bytes) => ({ type: "input_audio", input_audio: { data: bytes, format: "wav" } })),
  fc.record({ type: fc.constant("file"), file: fc.record({ file_data: picture, filename: text }) }),
);
const content = fc.oneof(text, fc.array(part, { maxLength: 4 }), picture);
const messages = fc.array(fc.record({ role: fc.constant("user"), content }), { minLength: 1, maxLength: 4 });
const more = fc.record(
  {
    max_tokens: fc.integer({ min: 1, max: 50 }),
    n: fc.integer({ min: 1, max: 3 }),
    user: text,
    instructions: text,
    tools: fc.constant([{ type: "function", function: { name: "f", description: "content" } }]),
  },
  { requiredKeys: [] },
);
const body = fc
  .tuple(fc.constantFrom<TextApi>("chat", "responses"), messages, text, fc.boolean(), fc.boolean(), more)
  .map(([api, list, plain, isPlain, isModelFirst, others]) => {
    const prompt = api === "chat" ? { messages: list } : { input: isPlain ? plain : list };
    const members = isModelFirst
      ? { model: "m", ...others, ...prompt }
      : { ...prompt, ...others, model: "m" };
    return { api, bytes: Buffer.from(JSON.stringify(members)) };
  });
const price = fc.array(fc.bigInt({ min: 0n, max: 10n ** 11n }), { minLength: 4, maxLength: 4 });

function count(bytes: Buffer, model: Model, size: number): TextBound {
  const bound = new TextBound(
    (id) => (id === "m" ? model : undefined),
    async () => undefined,
  );
  const guard = new JsonGuard(OF_REQUESTS, bound);
  for (let at = 0; at < bytes.length; at += size) guard.push(bytes.subarray(at, at + size));
  return bound;
}

test("the bound is never above the least hold at any of the providers, wherever the body is cut", () => {
  fc.assert(
    fc.property(body, price, fc.integer({ min: 1, max: 500 }), ({ api, bytes }, prices, size) => {
      const model = modelOf(prices);
      const rule = model.price?.rule;
      if (rule?.case !== "token") throw new Error("the model has no price for tokens");
      const request = readTextRequest(api, bytes);
      const least = count(bytes, model, size).least();
      for (const providers of [["first"], ["second"], PROVIDERS]) {
        const { credits } = holdSizeOf(request, model, dearestTokenPrice(rule.value, providers));
        expect(least).toBeLessThanOrEqual(credits);
      }
    }),
  );
});

test("the bound of plain text is near the hold, and zero before the model is known", () => {
  const model = modelOf([500_000n, 500_000n, 0n, 0n]);
  const content = "word ".repeat(100_000);
  const bytes = Buffer.from(
    JSON.stringify({ model: "m", messages: [{ role: "user", content }], max_tokens: 1 }),
  );
  const { price } = model;
  if (price?.rule.case !== "token") throw new Error("the model has no price for tokens");
  const { credits } = holdSizeOf(readTextRequest("chat", bytes), model, price.rule.value);
  expect(count(bytes, model, 1_000).least() * 100n).toBeGreaterThan(credits * 98n);
  expect(count(bytes.subarray(12), model, 1_000).least()).toBe(0n);
});

test("billing is asked a few times at most, always with more, and once more at the end", async () => {
  const asked: Credits[] = [];
  const bound = new TextBound(
    () => modelOf([500_000n, 500_000n, 0n, 0n]),
    async (least) => void asked.push(least),
  );
  const guard = new JsonGuard(OF_REQUESTS, bound);
  const push = async (piece: string) => {
    guard.push(Buffer.from(piece));
    await bound.counted(false);
  };
  await push('{"model":"m","messages":[{"role":"user","content":"');
  for (let sent = 0; sent < 19 * 16; sent += 1) await push("lorem ipsum ".repeat(5_461));
  await push('"}]}');
  await bound.counted(true);
  await bound.counted(true);
  expect(asked).toHaveLength(5);
  expect(asked.every((credits, index) => index === 0 || credits > (asked[index - 1] ?? 0n))).toBe(true);
});
