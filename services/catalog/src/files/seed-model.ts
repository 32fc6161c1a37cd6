// SeedModel is one model in the format of the seed files, converted to a model of the contract. Unknown is null and
// never a guess. Every price, score and date has its source and day; the model's own sources cover all other facts.
import { create, type JsonObject } from "@bufbuild/protobuf";
import { type Model, ModelKind, ModelSchema } from "@gr/proto/catalog";
import { z } from "zod";
import { MODEL_ID, MOST_ID_CHARACTERS, modelName } from "./model-name.ts";
import { isoDate, priceOfSeed, seedPrice, sizeText, sourced } from "./seed-price.ts";

/** Longest video of a request, in seconds. */
const MOST_SECONDS = 60;

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
  "audio",
  "output_format",
  "response_format",
  "partial_images",
] as const;

const sourcedDate = z.strictObject({ value: isoDate, ...sourced });
const quality = z.enum(["low", "medium", "high"]);
const length = z.int().min(1).max(MOST_SECONDS);
const fields = z.record(z.string().min(1), z.union([z.string(), z.number(), z.boolean()]));

const sizeBounds = z.strictObject({
  edge_multiple: z.int().min(1).optional(),
  min_edge: z.int().min(1).optional(),
  max_edge: z.int().min(1),
  min_pixels: z.int().min(1).optional(),
  max_pixels: z.int().min(1).optional(),
  max_ratio: z.int().min(1).optional(),
  ...sourced,
});

const route = z.strictObject({
  provider: z.string().regex(/^[a-z0-9-]{1,40}$/),
  upstream_model: z.string().min(1),
  /** Routes with a lower priority are tried first. */
  priority: z.int().min(1),
  /** Cost price of the provider; null = the same as the customer's price. */
  cost: seedPrice.nullable(),
  /** Sizes at this provider, if it lacks some of the model's; the route is skipped for other sizes. */
  size_limits: sizeBounds.optional(),
  /**
   * The provider's terms for our values. `always` is sent with every request. Absent = our values are sent unchanged.
   */
  parameters: z
    .strictObject({
      always: fields.optional(),
      size: z.record(sizeText, fields).optional(),
      quality: z.partialRecord(quality, fields).optional(),
      seconds: z.record(z.string().regex(/^[1-9]\d?$/), fields).optional(),
      audio: z.partialRecord(z.enum(["true", "false"]), fields).optional(),
    })
    .optional(),
});

export const seedModel = z.strictObject({
  id: z.string().regex(MODEL_ID).max(MOST_ID_CHARACTERS),
  type: z.enum(["image", "video"]),
  name: modelName,
  capabilities: z.array(z.enum(CAPABILITIES)).min(1),
  supported_parameters: z.array(z.enum(PARAMETERS)).min(1),
  /** Accepted values; empty = the model ignores the parameter. */
  sizes: z.array(z.union([z.literal("auto"), sizeText])),
  /** Bounds within which any other size is accepted too. */
  custom_size: sizeBounds.optional(),
  qualities: z.array(quality),
  /** A list, or every whole second of a range. */
  seconds: z.union([
    z.array(length),
    z
      .strictObject({ min: length, max: length })
      .refine(({ min, max }) => min <= max, "must be a list, or a range with min not above max"),
  ]),
  /** Values of "auto" and of an absent parameter. */
  default: z.strictObject({
    size: sizeText.optional(),
    quality: quality.optional(),
    seconds: length.optional(),
  }),
  /** The same for requests with images, if different. */
  default_with_images: z
    .strictObject({ size: sizeText.optional(), quality: quality.optional(), seconds: length.optional() })
    .optional(),
  /** Combinations that are for sale; a request must match one of them. Absent = all accepted values. */
  combinations: z
    .array(
      z.strictObject({
        sizes: z.array(sizeText).min(1).optional(),
        qualities: z.array(quality).min(1).optional(),
        seconds: z.array(length).min(1).optional(),
        with_images: z.boolean().optional(),
        /** Number of images, at most. */
        max_input_images: z.int().min(1).max(16).optional(),
      }),
    )
    .min(1)
    .optional(),
  /** Limits of the input of one request. */
  limits: z
    .strictObject({
      input_images: z.int().min(1).max(16).optional(),
      prompt_characters: z.int().min(1).optional(),
      ...sourced,
    })
    .optional(),
  /** Sources of the facts without their own: abilities, accepted values, names at the providers. */
  sources: z.array(z.strictObject(sourced)).min(1),
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
    seconds: secondsOf(seed.seconds),
    supportedParameters: seed.supported_parameters,
    ...named(defaultsOf(seed.default)),
    releaseDate: seed.release_date?.value ?? "",
    shutdownDate: seed.shutdown_date?.value ?? "",
    price: priceOfSeed(seed.price),
    routes: seed.routes.toSorted((one, other) => one.priority - other.priority).map(routeOf),
    combinations: (seed.combinations ?? []).map(combinationOf),
    ...(seed.default_with_images === undefined
      ? {}
      : { defaultWithImages: defaultsOf(seed.default_with_images) }),
    ...(seed.custom_size === undefined ? {} : { customSize: customSizeOf(seed.custom_size) }),
    ...(seed.limits === undefined ? {} : { limits: limitsOf(seed.limits) }),
    ...(seed.arena_score === null ? {} : { arenaScore: arenaScoreOf(seed.arena_score) }),
  });
}

type SeedDefaults = SeedModel["default"];

function defaultsOf(row: SeedDefaults) {
  return { size: row.size ?? "", quality: row.quality ?? "", seconds: row.seconds ?? 0 };
}

function named({ size, quality, seconds }: ReturnType<typeof defaultsOf>) {
  return { defaultSize: size, defaultQuality: quality, defaultSeconds: seconds };
}

function combinationOf(row: NonNullable<SeedModel["combinations"]>[number]) {
  const { sizes = [], qualities = [], seconds = [], with_images: inputImages, max_input_images: most } = row;
  const images = inputImages === undefined ? {} : { inputImages };
  return { sizes, qualities, seconds, maxInputImages: most ?? 0, ...images };
}

function secondsOf(seconds: SeedModel["seconds"]): number[] {
  if (Array.isArray(seconds)) return seconds;
  return Array.from({ length: seconds.max - seconds.min + 1 }, (_, i) => seconds.min + i);
}

function routeOf(row: z.infer<typeof route>) {
  const { provider, upstream_model: upstreamModel, cost, size_limits: limits, parameters = {} } = row;
  const { always, ...named } = parameters;
  const rows: { parameter: string; value: string; fields: JsonObject }[] = [];
  if (always !== undefined) rows.push({ parameter: "", value: "", fields: always });
  for (const [parameter, values] of Object.entries(named)) {
    for (const [value, fields] of Object.entries(values ?? {})) rows.push({ parameter, value, fields });
  }
  return {
    provider,
    upstreamModel,
    parameters: rows,
    ...(limits === undefined ? {} : { sizeLimits: customSizeOf(limits) }),
    ...(cost === null ? {} : { cost: priceOfSeed(cost) }),
  };
}

function customSizeOf(bounds: z.infer<typeof sizeBounds>) {
  return {
    edgeMultiple: bounds.edge_multiple ?? 0,
    minEdge: bounds.min_edge ?? 0,
    maxEdge: bounds.max_edge,
    minPixels: BigInt(bounds.min_pixels ?? 0),
    maxPixels: BigInt(bounds.max_pixels ?? 0),
    maxRatio: bounds.max_ratio ?? 0,
  };
}

function limitsOf(limits: NonNullable<SeedModel["limits"]>) {
  return { inputImages: limits.input_images ?? 0, promptCharacters: limits.prompt_characters ?? 0 };
}

function arenaScoreOf({ value, board, entry, source, as_of }: NonNullable<SeedModel["arena_score"]>) {
  return { score: value, board, entry, asOf: as_of, attribution: source };
}
