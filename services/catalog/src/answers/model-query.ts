// ModelQuery filters and sorts the models of a list. Missing sort values are last; equal values are sorted by id.
import type { PicoUsd } from "@gr/money";
import type { Model } from "@gr/proto/catalog";
import { wholeNumber } from "@gr/runtime";
import { z } from "zod";
import { defaultPriceOf, isFree } from "../prices/model-pricing.ts";
import { type ModelRecord, providersOf, typeOf } from "./model-record.ts";

const TYPES = ["image", "video", "text", "all"] as const;
const SORTS = ["name", "provider", "arena_score", "price", "date"] as const;

export const modelQuery = z.object({
  type: z
    .enum(TYPES, { error: `The type must be one of ${TYPES.join(", ")}` })
    .optional()
    .describe("only models of this type; all: of every type"),
  provider: z
    .string({ error: "The provider must occur once" })
    .optional()
    .describe("part of the name of the vendor or of a provider of the model; case-insensitive"),
  free: z
    .enum(["true", "false"], { error: "free must be true or false" })
    .optional()
    .describe("true: only models that cost nothing; false: only paid ones"),
  name: z
    .string({ error: "The name must occur once" })
    .optional()
    .describe("part of the model id; case-insensitive"),
  sort: z
    .enum(SORTS, { error: `The sort must be one of ${SORTS.join(", ")}` })
    .optional()
    .describe(
      "order: name and provider from A to Z, arena_score from the highest, price from the lowest, date from the newest; by id if absent",
    ),
  limit: z
    .string({ error: "The limit must occur once" })
    .regex(/^0*[1-9]\d*$/, "The limit must be a whole number of at least 1")
    .transform(Number)
    .optional()
    .meta({ ...wholeNumber(), description: "maximum number of models" }),
});
export type ModelQuery = z.infer<typeof modelQuery>;

/** A model with all values of filters and sort orders, computed once. */
export interface ListedModel {
  readonly id: string;
  readonly type: ModelRecord["type"];
  readonly free: boolean;
  /** Lower case. */
  readonly idText: string;
  readonly providerTexts: readonly string[];
  /** Undefined = missing. */
  readonly keys: {
    readonly name: string;
    readonly provider: string | undefined;
    readonly arena_score: number | undefined;
    readonly price: PicoUsd;
    readonly date: string | undefined;
  };
}

export function listedModel(model: Model): ListedModel {
  const idText = model.id.toLowerCase();
  const providers = providersOf(model).map((provider) => provider.toLowerCase());
  return {
    id: model.id,
    type: typeOf(model),
    free: model.price !== undefined && isFree(model.price),
    idText,
    providerTexts: [...providers, model.ownedBy.toLowerCase()],
    keys: {
      name: idText,
      provider: providers[0],
      arena_score: model.arenaScore?.score,
      price: defaultPriceOf(model),
      date: model.releaseDate === "" ? undefined : model.releaseDate,
    },
  };
}

/** Types that are listed if the query names none: those of /v1/models, or those that a chat client can call. */
export type Scope = "media" | "text";

export function select<Listed extends ListedModel>(
  models: readonly Listed[],
  query: ModelQuery,
  scope: Scope,
): Listed[] {
  const name = query.name?.toLowerCase() ?? "";
  const provider = query.provider?.toLowerCase() ?? "";
  const wanted = query.type ?? scope;
  const found = models.filter(
    (model) =>
      isOfType(model, wanted) &&
      (query.free === undefined || model.free === (query.free === "true")) &&
      model.idText.includes(name) &&
      model.providerTexts.some((text) => text.includes(provider)),
  );
  return found.sort(orderOf(query.sort)).slice(0, query.limit);
}

function isOfType({ type }: ListedModel, wanted: Scope | NonNullable<ModelQuery["type"]>): boolean {
  if (wanted === "all") return true;
  return wanted === "media" ? type !== "text" : type === wanted;
}

type Order = (one: ListedModel, other: ListedModel) => number;

function orderOf(sort: ModelQuery["sort"]): Order {
  if (sort === undefined) return byId;
  const highestFirst = sort === "arena_score" || sort === "date";
  return (one, other) => {
    const [a, b] = [one.keys[sort], other.keys[sort]];
    if (a === b) return byId(one, other);
    if (a === undefined) return 1;
    if (b === undefined) return -1;
    return a < b === highestFirst ? 1 : -1;
  };
}

function byId(one: ListedModel, other: ListedModel): number {
  return one.id === other.id ? 0 : one.id < other.id ? -1 : 1;
}
