// Guarantees of lists: the models that each filter keeps, the order of each sort, and the position of the limit.
import { create } from "@bufbuild/protobuf";
import { type Model, ModelKind, ModelSchema } from "@gr/proto/catalog";
import { describe, expect, test } from "@jest/globals";
import { versioned } from "../prices/price-version.ts";
import { listedModel, type ModelQuery, modelQuery, type Scope, select } from "./model-query.ts";

interface Facts {
  readonly id: string;
  readonly kind?: ModelKind;
  /** Vendor, then the serving providers in order of preference. */
  readonly names?: readonly [string, ...string[]];
  readonly pico?: bigint;
  readonly score?: number;
  readonly date?: string;
}

function listed({ id, kind = ModelKind.IMAGE, names = ["acme", "acme"], pico = 5n, score, date }: Facts) {
  const [ownedBy, ...providers] = names;
  const model: Model = create(ModelSchema, {
    id,
    kind,
    ownedBy,
    releaseDate: date ?? "",
    defaultSeconds: 4,
    price: versioned(ruleOf(kind, pico)),
    routes: providers.map((provider) => ({ provider, upstreamModel: id })),
    ...(score === undefined ? {} : { arenaScore: { score } }),
  });
  return listedModel(model);
}

function ruleOf(kind: ModelKind, pico: bigint): Parameters<typeof versioned>[0] {
  switch (kind) {
    case ModelKind.VIDEO:
      return { case: "second", value: { tiers: [{ picoUsd: pico }] } };
    case ModelKind.TEXT:
      return { case: "token", value: { inputPicoUsd: pico, outputPicoUsd: 0n } };
    default:
      return { case: "image", value: { tiers: [{ picoUsd: pico }] } };
  }
}

/** Ids of the answer. */
const ask = (models: readonly Facts[], query: ModelQuery, scope: Scope = "media") =>
  select(models.map(listed), { type: "all", ...query }, scope)
    .map(({ id }) => id)
    .join(" ");

const MIXED: readonly Facts[] = [
  { id: "x/Photo-2", names: ["x", "OpenAI"], pico: 0n },
  { id: "x/film", kind: ModelKind.VIDEO, names: ["x", "runway", "fal"] },
  { id: "y/chat", kind: ModelKind.TEXT, names: ["Falcon", "main"], pico: 0n },
  { id: "y/photo-1", names: ["y", "openai"] },
];

describe("a list", () => {
  test.each<[string, ModelQuery, Scope, string]>([
    ["nothing, where media are the default", { type: undefined }, "media", "x/Photo-2 x/film y/photo-1"],
    ["nothing, where text is the default", { type: undefined }, "text", "y/chat"],
    ["text, where media are the default", { type: "text" }, "media", "y/chat"],
    ["images, where text is the default", { type: "image" }, "text", "x/Photo-2 y/photo-1"],
    ["all types, where media are the default", {}, "media", "x/Photo-2 x/film y/chat y/photo-1"],
    ["all types, where text is the default", {}, "text", "x/Photo-2 x/film y/chat y/photo-1"],
    ["images", { type: "image" }, "media", "x/Photo-2 y/photo-1"],
    ["videos", { type: "video" }, "media", "x/film"],
    ["free models", { free: "true" }, "media", "x/Photo-2 y/chat"],
    ["paid models", { free: "false" }, "media", "x/film y/photo-1"],
    ["a part of the id, in any case", { name: "PHOTO" }, "media", "x/Photo-2 y/photo-1"],
    ["a part of the id with its slash", { name: "y/" }, "media", "y/chat y/photo-1"],
    ["an id that is a pattern elsewhere", { name: ".*" }, "media", ""],
    ["a part of a provider or the vendor, in any case", { provider: "FAL" }, "media", "x/film y/chat"],
    ["every name", { name: "", provider: "" }, "media", "x/Photo-2 x/film y/chat y/photo-1"],
    ["all at once", { type: "image", free: "false", name: "photo", provider: "open" }, "media", "y/photo-1"],
    ["nothing that there is", { provider: "nobody" }, "media", ""],
    ["at most two", { limit: 2 }, "media", "x/Photo-2 x/film"],
    ["more than there are", { limit: 100 }, "media", "x/Photo-2 x/film y/chat y/photo-1"],
    ["the last by name", { sort: "name", limit: 1, type: "text" }, "media", "y/chat"],
  ])("that asks for %s", (_what, query, scope, expected) => {
    expect(ask(MIXED, query, scope)).toBe(expected);
  });

  const videoOf = (id: string, pico: bigint) => ({ id, kind: ModelKind.VIDEO, pico });
  const textOf = (id: string, pico: bigint) => ({ id, kind: ModelKind.TEXT, pico });
  const servedBy = (id: string, ...providers: string[]): Facts => ({ id, names: ["any", ...providers] });

  test.each<[string, NonNullable<ModelQuery["sort"]>, readonly Facts[], string]>([
    ["by name without its case, ties by id", "name", ["b", "B", "a", "C"].map((id) => ({ id })), "a B b C"],
    [
      "by the first provider without its case, ties by id, those of nobody last",
      "provider",
      [
        servedBy("a"),
        servedBy("d", "Fal"),
        servedBy("c", "fal", "aaa"),
        servedBy("b", "acme"),
        servedBy("e", "Acme"),
      ],
      "b e c d a",
    ],
    [
      "by score, the highest first, ties by id, those without one last",
      "arena_score",
      [
        { id: "a" },
        { id: "b", score: 1_000 },
        { id: "d", score: 1_200 },
        { id: "c", score: 1_200 },
        { id: "e", score: 0 },
      ],
      "c d b e a",
    ],
    [
      "by date, the newest first, ties by id, those without one last",
      "date",
      [
        { id: "a" },
        { id: "b", date: "2025-12-31" },
        { id: "d", date: "2026-01-02" },
        { id: "c", date: "2026-01-02" },
      ],
      "c d b a",
    ],
    [
      "by the price of the default request, the lowest first, ties by id",
      "price",
      // Four seconds of video; 1,000 tokens of text.
      [
        videoOf("video-12", 3n),
        { id: "image-13", pico: 13n },
        textOf("text-0", 0n),
        { id: "image-12", pico: 12n },
        textOf("text-1000", 1n),
      ],
      "text-0 image-12 video-12 image-13 text-1000",
    ],
  ])("%s", (_order, sort, models, expected) => {
    for (const order of [models, models.toReversed()]) expect(ask(order, { sort })).toBe(expected);
  });

  test("is sorted before it is cut", () => {
    expect(
      ask(
        [
          { id: "a", score: 1 },
          { id: "b", score: 2 },
        ],
        { sort: "arena_score", limit: 1 },
      ),
    ).toBe("b");
  });
});

describe("the query string", () => {
  const refused = (query: Record<string, unknown>) => {
    const result = modelQuery.safeParse(query);
    return result.success ? undefined : result.error.issues.map(({ path }) => path.join("."));
  };

  test.each(["1", "007", "999999999", "99999999999999999999"])("takes %s as a limit", (limit) => {
    expect(modelQuery.parse({ limit }).limit).toBe(Number(limit));
  });

  test.each(["0", "-1", "1.5", "1e3", "", " 1", "ten", "000"])("refuses %j as a limit", (limit) => {
    expect(refused({ limit })).toEqual(["limit"]);
  });

  test("refuses values that are not known, and a parameter given twice", () => {
    expect(refused({ type: "audio" })).toEqual(["type"]);
    expect(refused({ type: "Image" })).toEqual(["type"]);
    expect(refused({ sort: "-price" })).toEqual(["sort"]);
    expect(refused({ free: "1" })).toEqual(["free"]);
    for (const name of ["type", "provider", "free", "name", "sort", "limit"]) {
      expect(refused({ [name]: ["image", "video"] })).toEqual([name]);
    }
  });

  test("ignores parameters that it does not know", () => {
    expect(modelQuery.parse({ colour: "red" })).toEqual({});
  });
});
