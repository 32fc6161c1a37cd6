// A catalogue service at the process edge: a few models with their real prices, sent once to each watcher.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { CatalogService, type Model, ModelKind, ModelSchema } from "@gr/proto/catalog";
import { defineModule, implement, type Module } from "@gr/runtime";
import { z } from "zod";

const GPT_SIZES = ["auto", "1024x1024", "1536x1024", "1024x1536"];
const SQUARE = ["1024x1024"];
const OBLONG = ["1536x1024", "1024x1536"];
const QUALITIES = ["low", "medium", "high"];

/** OpenAI's list: per image by tier for the customer, per token for us. */
export const gptImage: Model = create(ModelSchema, {
  id: "openai/gpt-image-2",
  kind: ModelKind.IMAGE,
  capabilities: ["text-to-image"],
  sizes: GPT_SIZES,
  qualities: QUALITIES,
  defaultSize: "1024x1024",
  defaultQuality: "medium",
  price: {
    version: "gpt-1",
    rule: {
      case: "image",
      value: {
        tiers: [
          { quality: "low", sizes: SQUARE, picoUsd: 6_000_000_000n },
          { quality: "medium", sizes: SQUARE, picoUsd: 53_000_000_000n },
          { quality: "high", sizes: SQUARE, picoUsd: 211_000_000_000n },
          { quality: "low", sizes: OBLONG, picoUsd: 5_000_000_000n },
          { quality: "medium", sizes: OBLONG, picoUsd: 41_000_000_000n },
          { quality: "high", sizes: OBLONG, picoUsd: 165_000_000_000n },
        ],
      },
    },
  },
  routes: [
    {
      provider: "openai",
      upstreamModel: "gpt-image-2",
      cost: {
        version: "gpt-cost-1",
        rule: {
          case: "token",
          value: {
            inputPicoUsd: 5_000_000n,
            imageInputPicoUsd: 8_000_000n,
            outputPicoUsd: 30_000_000n,
            requestPicoUsd: 0n,
          },
        },
      },
    },
  ],
});

/** A price by use, and partial images. */
const gptStream: Model = create(ModelSchema, {
  id: "openai/gpt-image-1.5",
  kind: ModelKind.IMAGE,
  capabilities: ["text-to-image"],
  supportedParameters: ["prompt", "size", "quality", "partial_images"],
  sizes: GPT_SIZES,
  qualities: QUALITIES,
  defaultSize: "1024x1024",
  defaultQuality: "low",
  price: {
    version: "gpt-stream-1",
    rule: {
      case: "metered",
      value: {
        tokens: { inputPicoUsd: 5_000_000n, imageInputPicoUsd: 8_000_000n, outputPicoUsd: 32_000_000n },
        tiers: [{ outputTokens: 6_240n }],
        otherInputTokens: 64n,
        partialImageTokens: 100n,
      },
    },
  },
  routes: [
    {
      provider: "openai",
      upstreamModel: "gpt-image-1.5",
      cost: {
        version: "gpt-stream-cost-1",
        rule: {
          case: "token",
          value: { inputPicoUsd: 5_000_000n, imageInputPicoUsd: 8_000_000n, outputPicoUsd: 32_000_000n },
        },
      },
    },
  ],
});

function sandbox(id: string, picoUsd = 10_000_000_000n, provider = "openai"): Model {
  return create(ModelSchema, {
    id: `sandbox/${id}`,
    kind: ModelKind.IMAGE,
    capabilities: ["text-to-image"],
    sizes: ["1024x1024", "1280x720"],
    defaultSize: "1024x1024",
    price: { version: "sandbox-1", rule: { case: "image", value: { tiers: [{ picoUsd }] } } },
    routes: [{ provider, upstreamModel: `sandbox/${id}` }],
  });
}

const sandboxEdit: Model = create(ModelSchema, {
  id: "sandbox/image-edit",
  kind: ModelKind.IMAGE,
  capabilities: ["image-edit", "multi-reference", "mask"],
  supportedParameters: ["prompt", "size", "image", "mask"],
  limits: { inputImages: 16 },
  sizes: SQUARE,
  defaultSize: "1024x1024",
  price: {
    version: "sandbox-1",
    rule: {
      case: "image",
      value: { tiers: [{ picoUsd: 10_000_000_000n }], inputImagePicoUsd: 2_000_000_000n },
    },
  },
  routes: [{ provider: "openai", upstreamModel: "sandbox/image-edit" }],
});

export const fixedModels: readonly Model[] = [
  gptImage,
  gptStream,
  sandbox("image"),
  sandboxEdit,
  sandbox("image-free", 0n),
  sandbox("image-error"),
  sandbox("image-blocked"),
  sandbox("image-hang"),
  sandbox("elsewhere", 10_000_000_000n, "nobody"),
  sandbox("queue", 10_000_000_000n, "queue"),
  create(ModelSchema, { id: "sandbox/chat", kind: ModelKind.TEXT }),
  sandboxVideo("video", ["text-to-video"]),
  sandboxVideo("video-image", ["text-to-video", "image-to-video"], { inputImages: 1 }),
];

function sandboxVideo(
  name: string,
  capabilities: string[],
  limits?: MessageInitShape<typeof ModelSchema>["limits"],
): Model {
  return create(ModelSchema, {
    id: `sandbox/${name}`,
    kind: ModelKind.VIDEO,
    capabilities,
    sizes: ["1280x720", "720x1280"],
    seconds: [4, 5, 6],
    defaultSize: "1280x720",
    defaultSeconds: 4,
    ...(limits === undefined ? {} : { limits }),
    price: {
      version: "sandbox-1",
      rule: { case: "second", value: { tiers: [{ picoUsd: 50_000_000_000n }] } },
    },
    routes: [{ provider: "queue", upstreamModel: `sandbox/${name}` }],
  });
}

export function catalogOf(listed: readonly Model[]): Module {
  const catalog = { version: "1", models: [...listed] };
  return defineModule({
    name: "catalog",
    needs: [],
    config: z.object({}),
    create: async () => ({
      rpc: [
        implement(CatalogService, {
          getCatalog: async () => ({ catalog }),
          async *watchCatalog(_request, { signal }) {
            yield { catalog };
            await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
          },
        }),
      ],
    }),
  });
}

export const fixedCatalog: Module = catalogOf(fixedModels);
