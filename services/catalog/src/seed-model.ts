// One model as the seed files write it, and how it becomes a model of the contract. Unknown is null, never a guess;
// every price, score and date says where it is from and of which day.
import { create } from "@bufbuild/protobuf";
import { type Model, ModelKind, ModelSchema } from "@gr/proto/catalog";
import { z } from "zod";
import { isoDate, priceOfSeed, seedPrice, sizeText, sourced } from "./seed-price.ts";

export const MODEL_ID = /^[A-Za-z0-9~@][A-Za-z0-9._:@+~-]*(\/[A-Za-z0-9._:@+~-]+)*$/;
export const MOST_ID_CHARACTERS = 200;

const CAPABILITIES = [
  "text-to-image",
  "image-edit",
  "mask",
  "multi-reference",
  "image-variation",
  "svg-output",
  "upscale",
  "vectorize",
  "reframe",
  "background-removal",
  "background-replace",
  "text-to-video",
  "image-to-video",
  "first-last-frame",
  "reference-to-video",
  "audio-to-video",
  "video-edit",
  "video-extend",
  "audio",
] as const;

const PARAMETERS = [
  "prompt",
  "quality",
  "size",
  "seconds",
  "n",
  "image",
  "mask",
  "output_format",
  "response_format",
] as const;

const sourcedDate = z.strictObject({ value: isoDate, ...sourced });

const route = z.strictObject({
  provider: z.string().regex(/^[a-z0-9-]{1,40}$/),
  upstream_model: z.string().min(1),
  /** Lower is tried first. */
  priority: z.int().min(1),
  /** What the provider bills us; null = the same as the customer's price. */
  cost: seedPrice.nullable(),
});

export const seedModel = z.strictObject({
  id: z.string().regex(MODEL_ID).max(MOST_ID_CHARACTERS),
  type: z.enum(["image", "video"]),
  name: z.string().min(1).max(200),
  capabilities: z.array(z.enum(CAPABILITIES)).min(1),
  supported_parameters: z.array(z.enum(PARAMETERS)).min(1),
  /** Accepted values; empty = the model ignores the parameter. */
  sizes: z.array(z.union([z.literal("auto"), sizeText])),
  /** Bounds within which any other size is accepted too. */
  custom_size: z
    .strictObject({
      edge_multiple: z.int().min(1).optional(),
      min_edge: z.int().min(1).optional(),
      max_edge: z.int().min(1),
      min_pixels: z.int().min(1).optional(),
      max_pixels: z.int().min(1).optional(),
      max_ratio: z.int().min(1).optional(),
      ...sourced,
    })
    .optional(),
  qualities: z.array(z.enum(["low", "medium", "high"])),
  seconds: z.array(z.int().min(1).max(60)),
  /** What "auto" and an absent parameter stand for. */
  default: z.strictObject({
    size: sizeText.optional(),
    quality: z.enum(["low", "medium", "high"]).optional(),
    seconds: z.int().min(1).max(60).optional(),
  }),
  release_date: sourcedDate.nullable(),
  /** The first day on which the vendor no longer serves it. */
  shutdown_date: sourcedDate.nullable(),
  arena_score: z
    .strictObject({ value: z.number().min(0).max(10_000), board: z.string(), entry: z.string(), ...sourced })
    .nullable(),
  price: seedPrice,
  routes: z.array(route).min(1),
});
export type SeedModel = z.infer<typeof seedModel>;

export function modelOfSeed(vendor: string, seed: SeedModel): Model {
  return create(ModelSchema, {
    id: seed.id,
    kind: seed.type === "image" ? ModelKind.IMAGE : ModelKind.VIDEO,
    name: seed.name,
    ownedBy: vendor,
    capabilities: seed.capabilities,
    sizes: seed.sizes,
    qualities: seed.qualities,
    seconds: seed.seconds,
    supportedParameters: seed.supported_parameters,
    defaultSize: seed.default.size ?? "",
    defaultQuality: seed.default.quality ?? "",
    defaultSeconds: seed.default.seconds ?? 0,
    releaseDate: seed.release_date?.value ?? "",
    shutdownDate: seed.shutdown_date?.value ?? "",
    price: priceOfSeed(seed.price),
    routes: seed.routes
      .toSorted((one, other) => one.priority - other.priority)
      .map(({ provider, upstream_model: upstreamModel, cost }) => ({
        provider,
        upstreamModel,
        ...(cost === null ? {} : { cost: priceOfSeed(cost) }),
      })),
    ...(seed.custom_size === undefined ? {} : { customSize: customSizeOf(seed.custom_size) }),
    ...(seed.arena_score === null ? {} : { arenaScore: arenaScoreOf(seed.arena_score) }),
  });
}

function customSizeOf(bounds: NonNullable<SeedModel["custom_size"]>) {
  return {
    edgeMultiple: bounds.edge_multiple ?? 0,
    minEdge: bounds.min_edge ?? 0,
    maxEdge: bounds.max_edge,
    minPixels: BigInt(bounds.min_pixels ?? 0),
    maxPixels: BigInt(bounds.max_pixels ?? 0),
    maxRatio: bounds.max_ratio ?? 0,
  };
}

function arenaScoreOf({ value, board, as_of }: NonNullable<SeedModel["arena_score"]>) {
  return { score: value, board, asOf: as_of };
}
