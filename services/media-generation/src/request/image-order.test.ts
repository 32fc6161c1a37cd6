// Orders: every "auto" resolved, every price exact, every refusal explained.
import { create } from "@bufbuild/protobuf";
import { type Model, ModelKind, ModelSchema } from "@gr/proto/catalog";
import { parseRequest } from "@gr/runtime";
import { describe, expect, test } from "@jest/globals";
import { fixedModels, gptImage } from "../test/fixed-catalog.ts";
import { makeImageOrder } from "./image-order.ts";
import { imageRequestSchema } from "./image-request.ts";

const order = (fields: object, model: Model | undefined = gptImage) =>
  makeImageOrder(parseRequest(imageRequestSchema, { model: model.id, prompt: "a fox", ...fields }), model);
const modelOf = (id: string) => fixedModels.find((model) => model.id === id);

describe("an image order", () => {
  test.each([
    [{}, "1024x1024", "medium", 530n],
    [{ quality: "low" }, "1024x1024", "low", 60n],
    [{ quality: "high", size: "1024x1536" }, "1024x1536", "high", 1_650n],
    [{ quality: "low", size: "1536x1024", n: 10 }, "1536x1024", "low", 500n],
    [{ size: "auto", quality: "auto", n: 3 }, "1024x1024", "medium", 1_590n],
  ])("%j of gpt-image-2 is %s in %s for exactly %s credits", (fields, size, quality, charge) => {
    expect(order(fields)).toMatchObject({ size, quality, charge, priceVersion: "gpt-1" });
  });

  test("a model that takes neither size nor quality ignores them", () => {
    const plain = create(ModelSchema, {
      id: "plain",
      kind: ModelKind.IMAGE,
      price: { version: "p", rule: { case: "image", value: { tiers: [{ picoUsd: 1n }] } } },
    });
    const { size, quality, charge } = order({ size: "77x99", quality: "high", n: 2 }, plain);
    expect({ size, quality, charge }).toEqual({ size: undefined, quality: undefined, charge: 1n });
  });

  test("a free size within the model's limits is accepted and priced by its area", () => {
    const flexible = create(ModelSchema, {
      id: "flexible",
      kind: ModelKind.IMAGE,
      sizes: ["1024x1024"],
      defaultSize: "1024x1024",
      customSize: { edgeMultiple: 16, maxEdge: 2048 },
      price: {
        version: "f",
        rule: {
          case: "megapixel",
          value: { unitPixels: 1_048_576n, firstPicoUsd: 3_000_000_000n, furtherPicoUsd: 1_000_000_000n },
        },
      },
    });
    expect(order({ size: "1600x1600" }, flexible)).toMatchObject({ size: "1600x1600", charge: 50n });
    expect(() => order({ size: "1601x1600" }, flexible)).toThrow("other sizes within its limits");
  });

  test.each([
    ["sandbox/chat", {}, "wrong_endpoint", "model", "chat/completions"],
    ["sandbox/video", {}, "wrong_endpoint", "model", "videos"],
    ["openai/gpt-image-2", { size: "64x64" }, "invalid_value", "size", "1024x1024, 1536x1024, 1024x1536"],
    ["openai/gpt-image-2", { prompt: "  " }, "invalid_value", "prompt", "needs a prompt"],
    ["openai/gpt-image-2", { prompt: null }, "invalid_value", "prompt", "needs a prompt"],
    ["openai/gpt-image-2", { image: "https://x.example/a.png" }, "invalid_value", "image", "no input images"],
    ["openai/gpt-image-2", { "mask[]": ["x"] }, "invalid_value", "mask", "no input images"],
  ])("%s with %j is refused as %s of %s", (id, fields, reason, param, words) => {
    const refused = expect(() => order(fields, modelOf(id)));
    refused.toThrow(expect.objectContaining({ reason, param }));
    refused.toThrow(words);
  });

  test("a quality that the model lacks is refused with those that it has", () => {
    const fine = create(ModelSchema, { ...gptImage, qualities: ["medium", "high"] });
    expect(() => order({ quality: "low" }, fine)).toThrow("it accepts auto, medium, high");
  });

  test("an unknown model is not found, and a long name is not thrown back", () => {
    const request = parseRequest(imageRequestSchema, { model: "x".repeat(10_000), prompt: "a" });
    expect(() => makeImageOrder(request, undefined)).toThrow(
      expect.objectContaining({ reason: "model_not_found", param: "model" }),
    );
    try {
      makeImageOrder(request, undefined);
    } catch (error) {
      expect((error as Error).message.length).toBeLessThan(300);
    }
  });
});
