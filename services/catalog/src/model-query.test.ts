// Guarantees of lists: every filter, sort and limit gives what a plain reading of the rules gives.
import { create } from "@bufbuild/protobuf";
import { type Model, ModelKind, ModelSchema } from "@gr/proto/catalog";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { listedModel, type ModelQuery, modelQuery, select } from "./model-query.ts";
import { versioned } from "./price-version.ts";

interface Plain {
  readonly id: string;
  readonly type: "image" | "video" | "text";
  readonly owner: string;
  readonly providers: readonly string[];
  readonly score: number | null;
  readonly date: string | null;
  readonly pico: bigint;
}

// Few values, so that ties, shared substrings and both cases of a letter are common.
const word = fc.constantFrom("a", "A", "ab", "Ab", "b", "openai", "OpenAI", "fal");
const plain: fc.Arbitrary<Plain> = fc.record({
  id: fc.tuple(word, word, fc.nat({ max: 30 })).map(([one, other, number]) => `${one}/${other}-${number}`),
  type: fc.constantFrom("image", "video", "text"),
  owner: word,
  providers: fc.array(word, { minLength: 1, maxLength: 3 }),
  score: fc.option(fc.nat({ max: 3 }), { nil: null }),
  date: fc.option(fc.constantFrom("2026-01-01", "2026-01-02", "2025-12-31"), { nil: null }),
  pico: fc.bigInt({ min: 0n, max: 3n }),
});
const catalogue = fc.uniqueArray(plain, { selector: ({ id }) => id, maxLength: 25 });

const query: fc.Arbitrary<ModelQuery> = fc.record(
  {
    type: fc.constantFrom("image", "video", "text"),
    provider: fc.constantFrom("a", "AI", "open", "fal", "", "zzz"),
    free: fc.constantFrom("true", "false"),
    name: fc.constantFrom("a", "B-1", "/", "", "zzz"),
    sort: fc.constantFrom("name", "provider", "arena_score", "price", "date"),
    limit: fc.integer({ min: 1, max: 30 }),
  },
  { requiredKeys: [] },
);

function modelOf(model: Plain): Model {
  return create(ModelSchema, {
    id: model.id,
    kind: { image: ModelKind.IMAGE, video: ModelKind.VIDEO, text: ModelKind.TEXT }[model.type],
    ownedBy: model.owner,
    releaseDate: model.date ?? "",
    defaultSeconds: model.type === "video" ? 4 : 0,
    price: versioned(ruleOf(model)),
    routes: model.providers.map((provider) => ({ provider, upstreamModel: model.id })),
    ...(model.score === null ? {} : { arenaScore: { score: model.score } }),
  });
}

function ruleOf({ type, pico }: Plain): Parameters<typeof versioned>[0] {
  switch (type) {
    case "image":
      return { case: "image", value: { tiers: [{ picoUsd: pico }] } };
    case "video":
      return { case: "second", value: { tiers: [{ picoUsd: pico }] } };
    case "text":
      return { case: "token", value: { inputPicoUsd: pico, outputPicoUsd: 0n } };
  }
}

const defaultPrice = ({ type, pico }: Plain) => pico * { image: 1n, video: 4n, text: 1_000n }[type];

/** The rules once more, as slow and plain as they can be written: each model is compared with each other one. */
function expected(models: readonly Plain[], asked: ModelQuery, scope: "media" | "all"): string[] {
  const has = (text: string, part: string | undefined) =>
    text.toLowerCase().includes((part ?? "").toLowerCase());
  const kept = models.filter((model) => {
    if (asked.type === undefined && scope === "media" && model.type === "text") return false;
    if (asked.type !== undefined && asked.type !== model.type) return false;
    if (asked.free !== undefined && (model.pico === 0n) !== (asked.free === "true")) return false;
    return (
      has(model.id, asked.name) && [model.owner, ...model.providers].some((name) => has(name, asked.provider))
    );
  });
  const before = (one: Plain, other: Plain): boolean => {
    const verdict = precedes(one, other, asked.sort);
    return verdict ?? one.id < other.id;
  };
  const place = (model: Plain) => kept.filter((other) => other !== model && before(other, model)).length;
  const ordered: string[] = [];
  for (const model of kept) ordered[place(model)] = model.id;
  return ordered.slice(0, asked.limit ?? ordered.length);
}

/** Undefined = equal in what is sorted by. */
function precedes(one: Plain, other: Plain, sort: ModelQuery["sort"]): boolean | undefined {
  const later = <Value>(a: Value | null, b: Value | null, first: (a: Value, b: Value) => boolean) => {
    if (a === b) return undefined;
    if (a === null || b === null) return b === null;
    return first(a, b);
  };
  switch (sort) {
    case undefined:
      return undefined;
    case "name":
      return later(one.id.toLowerCase(), other.id.toLowerCase(), (a, b) => a < b);
    case "provider":
      return later(firstProvider(one), firstProvider(other), (a, b) => a < b);
    case "arena_score":
      return later(one.score, other.score, (a, b) => a > b);
    case "date":
      return later(one.date, other.date, (a, b) => a > b);
    case "price":
      return later(defaultPrice(one), defaultPrice(other), (a, b) => a < b);
  }
}

const firstProvider = ({ providers }: Plain): string => providers[0]?.toLowerCase() ?? "";

describe("a list", () => {
  test("has the models that the filters name, in the order of the sort, up to the limit", () => {
    fc.assert(
      fc.property(
        catalogue,
        query,
        fc.constantFrom("media" as const, "all" as const),
        (models, asked, scope) => {
          const listed = models.map((model) => listedModel(modelOf(model)));
          expect(select(listed, asked, scope).map(({ id }) => id)).toEqual(expected(models, asked, scope));
        },
      ),
      { numRuns: 500 },
    );
  });

  test("does not depend on the order in which models came", () => {
    fc.assert(
      fc.property(catalogue, query, fc.nat(), (models, asked, turn) => {
        const listed = models.map((model) => listedModel(modelOf(model)));
        const cut = models.length === 0 ? 0 : turn % models.length;
        const turned = [...listed.slice(cut), ...listed.slice(0, cut)];
        expect(select(turned, asked, "all")).toEqual(select(listed, asked, "all"));
      }),
    );
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
