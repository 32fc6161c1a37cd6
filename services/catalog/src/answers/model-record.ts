// ModelRecord is a model in the public API: the same record in every list and alone.
import { MOST_PROMPT_CHARACTERS } from "@gr/models";
import { type Model, ModelKind } from "@gr/proto/catalog";
import { z } from "zod";
import { modelPricing, pricingOf } from "../prices/model-pricing.ts";

/** 2026-11-20, the catalogue's first day: the `created` of models with an unknown release date. */
const CATALOGUE_BEGAN = Date.UTC(2026, 10, 20) / 1_000;

const tokens = z.number().int().nullable().describe("tokens; null = unknown, or not a text model");
const limit = z.number().int().nullable().describe("null = unknown, or the model accepts no inputs");
const bound = z.number().int().nullable();
const date = z.string().nullable().describe("YYYY-MM-DD; null = unknown");

export const modelRecord = z.object({
  id: z.string().describe("id for requests; may contain slashes"),
  object: z.literal("model"),
  created: z.number().int().describe("Unix seconds of the release date, or of the catalogue's first day"),
  owned_by: z.string().describe("vendor of the model"),
  type: z.enum(["image", "video", "text"]),
  name: z.string(),
  providers: z.array(z.string()).describe("providers of the model, the first choice first"),
  pricing: modelPricing,
  capabilities: z.array(z.string()),
  supported_parameters: z.array(z.string()),
  sizes: z.array(z.string()).describe("accepted sizes besides auto; empty = ignored by the model"),
  custom_size: z
    .object({
      edge_multiple: bound.describe("both edges are multiples of this number"),
      min_edge: bound,
      max_edge: bound,
      min_pixels: bound,
      max_pixels: bound,
      max_ratio: bound.describe("maximum of longer edge divided by shorter edge"),
    })
    .nullable()
    .describe("limits for any other size; null = no limit"),
  qualities: z.array(z.string()).describe("accepted qualities besides auto; empty = ignored by the model"),
  seconds: z.array(z.number().int()).describe("accepted lengths of a video"),
  default: z
    .object({
      size: z.string().nullable(),
      quality: z.string().nullable(),
      seconds: z.number().int().nullable(),
    })
    .describe("meaning of auto; null = ignored by the model"),
  limits: z
    .object({ input_images: limit, prompt_characters: limit })
    .describe("inputs of one request; a limit of the router may be lower"),
  context_length: tokens,
  max_output_tokens: tokens,
  arena_score: z.number().nullable().describe("rating; compare within one type only"),
  arena: z
    .object({
      board: z.string(),
      entry: z
        .string()
        .describe("name of the model on the board; some models are rated with one setting only"),
      as_of: z.string().describe("YYYY-MM-DD"),
      attribution: z.string().describe("attribution for each display of the score"),
    })
    .nullable()
    .describe("source of the score; null = no score"),
  release_date: date,
  shutdown_date: date.describe("YYYY-MM-DD of the removal from the list; null = none announced"),
});
export type ModelRecord = z.infer<typeof modelRecord>;

export const modelList = z.object({ object: z.literal("list"), data: z.array(modelRecord) });

export function recordOf(model: Model): ModelRecord {
  return {
    id: model.id,
    object: "model",
    created: model.releaseDate === "" ? CATALOGUE_BEGAN : Date.parse(model.releaseDate) / 1_000,
    owned_by: model.ownedBy,
    type: typeOf(model),
    name: model.name,
    providers: providersOf(model),
    pricing: pricingOf(model),
    capabilities: model.capabilities,
    supported_parameters: model.supportedParameters,
    sizes: model.sizes.filter((size) => size !== "auto"),
    custom_size: customSizeOf(model),
    qualities: model.qualities,
    seconds: model.seconds,
    default: {
      size: model.defaultSize || null,
      quality: model.defaultQuality || null,
      seconds: model.defaultSeconds || null,
    },
    limits: {
      input_images: model.limits?.inputImages || null,
      prompt_characters: longestPromptOf(model),
    },
    context_length: Number(model.contextTokens) || null,
    max_output_tokens: Number(model.maxOutputTokens) || null,
    arena_score: model.arenaScore?.score ?? null,
    arena: arenaOf(model),
    release_date: model.releaseDate || null,
    shutdown_date: model.shutdownDate || null,
  };
}

export function typeOf(model: Model): ModelRecord["type"] {
  switch (model.kind) {
    case ModelKind.IMAGE:
      return "image";
    case ModelKind.VIDEO:
      return "video";
    default:
      return "text";
  }
}

/** Returns each provider once, in order of preference. */
export function providersOf(model: Model): string[] {
  return [...new Set(model.routes.map(({ provider }) => provider))];
}

function arenaOf({ arenaScore }: Model): ModelRecord["arena"] {
  if (arenaScore === undefined) return null;
  const { board, entry, asOf: as_of, attribution } = arenaScore;
  return { board, entry, as_of, attribution };
}

/** Requests are limited to our own maximum, even for a model with a larger one. Null: unknown. */
function longestPromptOf({ limits }: Model): number | null {
  const own = limits?.promptCharacters ?? 0;
  return own === 0 ? null : Math.min(own, MOST_PROMPT_CHARACTERS);
}

function customSizeOf({ customSize }: Model): ModelRecord["custom_size"] {
  if (customSize === undefined) return null;
  return {
    edge_multiple: customSize.edgeMultiple || null,
    min_edge: customSize.minEdge || null,
    max_edge: customSize.maxEdge || null,
    min_pixels: Number(customSize.minPixels) || null,
    max_pixels: Number(customSize.maxPixels) || null,
    max_ratio: customSize.maxRatio || null,
  };
}
