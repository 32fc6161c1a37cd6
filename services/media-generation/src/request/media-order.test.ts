// Orders: every "auto" resolved, every price exact, every refusal explained.
import { create } from "@bufbuild/protobuf";
import { type Model, ModelKind, ModelSchema } from "@gr/proto/catalog";
import { parseRequest } from "@gr/runtime";
import { describe, expect, test } from "@jest/globals";
import { inputSources } from "../inputs/input-sources.ts";
import { fixedModels, gptImage } from "../test/fixed-catalog.ts";
import { imageRequestSchema, imageRequests } from "./image-request.ts";
import { createMediaOrder, pixelsOfImages, priceMediaOrder } from "./media-order.ts";
import type { MediaRequest, RequestKind } from "./request-kind.ts";
import { videoRequestSchema, videoRequests } from "./video-request.ts";

/** The first input picture has 1,000 pixels, the next 2,000, and so on. */
const ordered = (asked: RequestKind, request: MediaRequest, model: Model) => {
  const sources = inputSources(request);
  const wanted = createMediaOrder(asked, request, sources, model);
  const pictures = sources.map(({ role }, index) => ({ role, width: 1_000, height: index + 1 }));
  return { ...wanted, ...priceMediaOrder(asked, wanted, pixelsOfImages(pictures)) };
};
const order = (fields: object, model: Model = gptImage) => {
  const request = parseRequest(imageRequestSchema, { model: model.id, prompt: "a fox", ...fields });
  return ordered(imageRequests, request, model);
};
const videoOrder = (fields: object, model: Model) => {
  const request = parseRequest(videoRequestSchema, { model: model.id, prompt: "a fox", ...fields });
  return ordered(videoRequests, request, model);
};
const modelOf = (id: string) => fixedModels.find((model) => model.id === id);

describe("an image order", () => {
  test.each([
    [{}, "1024x1024", "medium", 530n],
    [{ quality: "low" }, "1024x1024", "low", 60n],
    [{ quality: "high", size: "1024x1536" }, "1024x1536", "high", 1_650n],
    [{ quality: "low", size: "1536x1024", n: 10 }, "1536x1024", "low", 500n],
    [{ size: "auto", quality: "auto", n: 3 }, "1024x1024", "medium", 1_590n],
  ])("%j of gpt-image-2 is %s in %s for exactly %s credits", (fields, size, quality, charge) => {
    const shape = { size, quality };
    expect(order(fields)).toMatchObject({ shape, charge, priceVersion: "gpt-1" });
  });

  test("a model that takes neither size nor quality ignores them", () => {
    const plain = create(ModelSchema, {
      id: "plain",
      kind: ModelKind.IMAGE,
      price: { version: "p", rule: { case: "image", value: { tiers: [{ picoUsd: 1n }] } } },
    });
    const { shape, charge } = order({ size: "77x99", quality: "high", n: 2 }, plain);
    expect({ shape, charge }).toEqual({ shape: {}, charge: 1n });
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
    expect(order({ size: "1600x1600" }, flexible)).toMatchObject({
      shape: { size: "1600x1600" },
      charge: 50n,
    });
    expect(() => order({ size: "1601x1600" }, flexible)).toThrow("other sizes within its limits");
  });

  test.each([
    ["sandbox/chat", {}, "wrong_endpoint", "model", "chat/completions"],
    ["sandbox/video", {}, "wrong_endpoint", "model", "/v1/compat/videos/generations"],
    ["openai/gpt-image-2", { size: "64x64" }, "invalid_value", "size", "1024x1024, 1536x1024, 1024x1536"],
    ["openai/gpt-image-2", { prompt: "  " }, "invalid_value", "prompt", "needs a prompt"],
    ["openai/gpt-image-2", { prompt: null }, "invalid_value", "prompt", "needs a prompt"],
    ["openai/gpt-image-2", { image: "https://x.example/a.png" }, "invalid_value", "image", "no input images"],
    [
      "openai/gpt-image-2",
      { "mask[]": ["https://x.example/m.png"] },
      "invalid_value",
      "mask",
      "no input images",
    ],
  ])("%s with %j is refused as %s of %s", (id, fields, reason, param, words) => {
    const refused = expect(() => order(fields, modelOf(id)));
    refused.toThrow(expect.objectContaining({ reason, param }));
    refused.toThrow(words);
  });

  test("a quality that the model lacks is refused with those that it has", () => {
    const fine = create(ModelSchema, { ...gptImage, qualities: ["medium", "high"] });
    expect(() => order({ quality: "low" }, fine)).toThrow("it accepts auto, medium, high");
  });
});

describe("an order with pictures", () => {
  const url = "https://x.example/a.png";
  const editor = create(ModelSchema, {
    id: "editor",
    kind: ModelKind.IMAGE,
    capabilities: ["image-edit", "multi-reference", "mask"],
    supportedParameters: ["prompt", "image", "mask"],
    limits: { inputImages: 3, promptCharacters: 5 },
    sizes: ["512x512", "768x768"],
    defaultSize: "512x512",
    defaultWithImages: { size: "768x768" },
    combinations: [{ sizes: ["768x768"] }, { sizes: ["512x512"], inputImages: false }],
    price: {
      version: "e",
      rule: {
        case: "image",
        value: {
          tiers: [{ picoUsd: 1_000_000_000n }],
          inputImagePicoUsd: 100_000_000n,
          inputs: { unitPixels: 1_000n },
        },
      },
    },
  });
  const either = create(ModelSchema, {
    ...editor,
    capabilities: ["text-to-image", "image-edit"],
    limits: undefined,
  });
  const upscaler = create(ModelSchema, {
    ...editor,
    capabilities: ["upscale"],
    supportedParameters: ["image"],
    combinations: [],
  });

  test.each<[object, Model, object, bigint]>([
    [{ image: url }, editor, { size: "768x768", input_pixels: [1_000] }, 11n],
    [
      { "image[]": [url, url], mask: url, n: 2 },
      editor,
      { size: "768x768", input_pixels: [1_000, 2_000] },
      26n,
    ],
    [{}, either, { size: "512x512" }, 10n],
    // Characters as people count them.
    [{ image: url, prompt: "\u{1F98A}".repeat(5) }, editor, { size: "768x768", input_pixels: [1_000] }, 11n],
    [{ image: url }, either, { size: "768x768", input_pixels: [1_000] }, 11n],
    [{ image: url, prompt: null }, upscaler, { size: "768x768", input_pixels: [1_000] }, 11n],
  ])(
    "%j is priced with its images and their pixels, and may have other defaults",
    (fields, model, shape, charge) => {
      expect(order(fields, model)).toMatchObject({ shape, charge });
    },
  );

  test.each<[object, Model, string, string]>([
    [{}, editor, "image", "needs an input image"],
    [{ mask: url }, editor, "image", "needs the image"],
    [{ image: [url, url, url, url] }, editor, "image", "at most 3 images, not 4"],
    [{ image: [url, url] }, either, "image", "one image, not 2"],
    [{ image: url, mask: [url, url] }, editor, "mask", "one mask, not 2"],
    [{ image: url, mask: url }, either, "mask", "accepts no mask"],
    [{ image: url, prompt: "" }, editor, "prompt", "needs a prompt"],
    [{ image: url, prompt: "a foxes" }, editor, "prompt", "accepts a prompt of at most 5 characters"],
    [{ image: url, prompt: "\u{1F98A}".repeat(6) }, editor, "prompt", "at most 5 characters"],
    [
      { image: url, size: "512x512" },
      either,
      "size",
      "does not generate images of the size 512x512 from an input image",
    ],
  ])("%j is refused with a message that names the field", (fields, model, param, words) => {
    const refused = expect(() => order(fields, model));
    refused.toThrow(expect.objectContaining({ reason: "invalid_value", param }));
    refused.toThrow(words);
  });
});

describe("a video order", () => {
  const second = { tiers: [{ audio: true, picoUsd: 20_000_000_000n }, { picoUsd: 10_000_000_000n }] };
  const film = create(ModelSchema, {
    id: "acme/film",
    kind: ModelKind.VIDEO,
    supportedParameters: ["prompt", "size", "quality", "seconds", "audio"],
    sizes: ["auto", "1280x720", "1920x1080"],
    qualities: ["low", "high"],
    seconds: [4, 5, 6, 7, 8],
    defaultSize: "1280x720",
    defaultQuality: "low",
    defaultSeconds: 5,
    combinations: [{ sizes: ["1280x720"] }, { sizes: ["1920x1080"], seconds: [4, 5] }],
    price: { version: "film-1", rule: { case: "second", value: second } },
  });
  const silent = create(ModelSchema, {
    ...film,
    supportedParameters: ["prompt"],
    seconds: [],
    qualities: [],
  });
  const loud = create(ModelSchema, { ...silent, capabilities: ["text-to-video", "audio"] });
  const shape = { size: "1280x720", quality: "low", seconds: 5, audio: false };

  test.each([
    [{}, film, shape, 500n],
    [
      { seconds: 8, audio: true, quality: "high" },
      film,
      { ...shape, seconds: 8, audio: true, quality: "high" },
      1_600n,
    ],
    [{ size: "1920x1080", seconds: "auto" }, film, { ...shape, size: "1920x1080" }, 500n],
    [{ seconds: 59.5, quality: "high", audio: false }, silent, { size: "1280x720", seconds: 5 }, 500n],
    [{ audio: true }, loud, { size: "1280x720", seconds: 5 }, 500n],
  ])("%j is what the model takes of it, at an exact price", (fields, model, expected, charge) => {
    expect(videoOrder(fields, model)).toEqual(
      expect.objectContaining({ shape: expected, charge, count: 1, format: "mp4" }),
    );
  });

  test.each([
    [{ size: "640x480" }, film, "size", "1280x720, 1920x1080"],
    [{ quality: "medium" }, film, "quality", "auto, low, high"],
    [{ seconds: 9 }, film, "seconds", "auto, whole numbers from 4 to 8"],
    [{ seconds: 4.5 }, film, "seconds", "whole numbers"],
    [{ size: "1920x1080", seconds: 8 }, film, "seconds", "1920x1080 and the quality low and 8 seconds"],
    [{ audio: true }, silent, "audio", "generates no sound"],
    [{ audio: false }, loud, "audio", "no videos without sound"],
    [{ image: "https://x.example/a.png" }, film, "image", "no input images"],
    [{ prompt: null }, film, "prompt", "needs a prompt"],
  ])("%j is refused with a message that names the field", (fields, model, param, words) => {
    const refused = expect(() => videoOrder(fields, model));
    refused.toThrow(expect.objectContaining({ reason: "invalid_value", param }));
    refused.toThrow(words);
  });

  test.each([
    [gptImage, "/v1/compat/images/generations"],
    [modelOf("sandbox/chat"), "chat/completions"],
  ])("%# is not for a model that makes something else, which is told where it is asked", (model, words) => {
    if (model === undefined) throw new Error("there is no such model");
    const refused = expect(() => videoOrder({}, model));
    refused.toThrow(expect.objectContaining({ reason: "wrong_endpoint", param: "model" }));
    refused.toThrow(words);
  });
});
