// Guarantees of the lists over HTTP, with every model of the seed and an upstream's: each combination of filter, sort
// and limit answers what the rules say, worked out from the files as they are written.
import { formatPicoUsd } from "@gr/money";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import { modelList } from "./model-record.ts";
import { type FakeUpstream, listing, openRouterRow, startFakeUpstream } from "./test/fake-upstream.ts";
import { type PlainModel, type PlainQuery, plainList, plainSeed, plainText } from "./test/plain-list.ts";
import { type CatalogUnderTest, startCatalog } from "./test/start-catalog.ts";

/** Ties in price and date, letters of both kinds, dates and scores that are missing. */
const ROWS = [
  { id: "vendor/b", created: 1_767_225_600, prompt: "0.0000005", completion: "0.0000015" },
  { id: "vendor/a", created: 1_767_225_600, prompt: "0.0000015", completion: "0.0000005" },
  { id: "vendor/A:free", created: null, prompt: "0", completion: "0" },
  { id: "Vendor/Z.Pro+x@1", created: 1_748_000_000, prompt: "0", completion: "0.000001" },
  { id: "openai/gpt-x", created: 1_735_700_000, prompt: "0.00000125", completion: "0.00001" },
  { id: "acme/image-2", created: null, prompt: "0.00000125", completion: "0.00001" },
].map(({ prompt, completion, ...row }) => ({ ...row, pricing: { prompt, completion } }));
const PROVIDER = "main-text";
const MEDIA = "/v1/models";
const ALL = "/v1/compat/models";

let upstream: FakeUpstream;
let world: CatalogUnderTest;
const models: readonly PlainModel[] = [
  ...plainSeed("2026-11-20"),
  ...ROWS.map((row) => plainText(row, PROVIDER)),
];

beforeAll(async () => {
  upstream = await startFakeUpstream(listing(...ROWS.map((row) => openRouterRow(row.id, row))));
  const providers = [
    ...new Set(models.filter(({ type }) => type !== "text").flatMap((model) => model.providers)),
  ];
  world = await startCatalog({
    env: {
      TEXT_UPSTREAM_BASE_URL: upstream.url,
      TEXT_UPSTREAM_NAME: PROVIDER,
      SANDBOX_MODELS: "true",
      MEDIA_PROVIDERS: providers
        .flatMap((provider) => ["image", "video", "image-input"].map((ability) => `${provider}/${ability}`))
        .join(","),
    },
  });
});
afterAll(async () => {
  await world?.stop();
  await world?.database.drop();
  await upstream?.close();
});

async function ids(path: string, queryString: string): Promise<string[]> {
  const response = await world.get(queryString === "" ? path : `${path}?${queryString}`);
  const body = (await response.json()) as { object?: string; data?: { id: string }[] };
  expect({ queryString, status: response.status, object: body.object }).toMatchObject({
    status: 200,
    object: "list",
  });
  return (body.data ?? []).map(({ id }) => id);
}

const expected = (path: string, query: PlainQuery) => plainList(models, query, path === ALL);
const textOf = (query: PlainQuery) => new URLSearchParams({ ...query }).toString();

test("all models of the seed and of the upstream are listed, each once", async () => {
  expect(await ids(MEDIA, "")).toEqual(expected(MEDIA, {}));
  expect(await ids(ALL, "")).toEqual(models.map(({ id }) => id).sort());
  expect(models.length).toBeGreaterThan(75);
});

const choices = <Name extends string>(name: Name, ...values: string[]) =>
  [{}, ...values.map((value) => ({ [name]: value }))] as readonly PlainQuery[];
const TYPES = choices("type", "image", "video", "text");
const FREE = choices("free", "true", "false");
const SORTS = choices("sort", "name", "provider", "arena_score", "price", "date");
const LIMITS = choices("limit", "1", "7", "500");
const FRAGMENTS: readonly PlainQuery[] = [
  {},
  { provider: "RUN" },
  { provider: "open", name: "image" },
  { name: "/GPT-" },
];

test.each([MEDIA, ALL])(
  "%s: every type, free, sort and limit, with fragments of names",
  async (path) => {
    for (const type of TYPES) {
      for (const free of FREE) {
        for (const sort of SORTS) {
          const asked = LIMITS.flatMap((limit) =>
            FRAGMENTS.map((fragment) => ({ ...type, ...free, ...sort, ...limit, ...fragment })),
          );
          const answers = await Promise.all(
            asked.map(async (query) => ({ query, ids: await ids(path, textOf(query)) })),
          );
          expect(answers).toEqual(asked.map((query) => ({ query, ids: expected(path, query) })));
        }
      }
    }
  },
  600_000,
);

/** Parts of what there is in either case, and what means something to a pattern, a URL or a query string. */
const names = models.flatMap(({ id, vendor, providers }) => [id, vendor, ...providers]);
const part = fc
  .tuple(fc.constantFrom(...names), fc.nat({ max: 40 }), fc.integer({ min: 1, max: 12 }), fc.nat({ max: 2 }))
  .map(([text, from, length, letters]) => {
    const cut = text.slice(from % text.length, (from % text.length) + length);
    return [cut, cut.toUpperCase(), cut.toLowerCase()][letters] ?? cut;
  });
const odd = fc.constantFrom(
  ...[
    ".",
    ".*",
    "^",
    "$",
    "[a-z]",
    "(",
    "|",
    "\\",
    "+",
    "?",
    "%",
    "%2F",
    "&",
    "=",
    "#",
    ";",
    " ",
    ",",
    "_",
    "*",
  ],
  ...["\u0000", "é", "İ", "ß", "ſ", "\u212a", "日本", "👩‍🚀", "__proto__", "constructor", "null", "''--"],
);
const fragment = fc.oneof(
  { weight: 4, arbitrary: part },
  { weight: 1, arbitrary: odd },
  { weight: 1, arbitrary: fc.tuple(part, odd).map((both) => both.join("")) },
  { weight: 1, arbitrary: fc.string({ unit: "grapheme", maxLength: 20 }).map((text) => text.toWellFormed()) },
);
const query: fc.Arbitrary<PlainQuery> = fc.record(
  {
    type: fc.constantFrom("image", "video", "text"),
    provider: fragment,
    free: fc.constantFrom("true", "false"),
    name: fragment,
    sort: fc.constantFrom("name", "provider", "arena_score", "price", "date"),
    limit: fc.oneof(
      fc.integer({ min: 1, max: 90 }).map(String),
      fc.constantFrom("007", "99999999999999999999"),
    ),
  },
  { requiredKeys: [] },
);

/** Spellings of the same text in a query string. */
const SPELLINGS: readonly ((text: string) => string)[] = [
  encodeURIComponent,
  (text) => new URLSearchParams({ "": text }).toString().slice(1),
  (text) => [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join(""),
  (text) =>
    [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, "0").toUpperCase()}`).join(""),
];

test("any combination, however its text is spelled and in whatever order it comes", async () => {
  await fc.assert(
    fc.asyncProperty(
      query,
      fc.constantFrom(MEDIA, ALL),
      fc.constantFrom(...SPELLINGS),
      fc.boolean(),
      async (asked, path, spell, turned) => {
        const pairs = Object.entries(asked).map(([name, value]) => `${name}=${spell(value)}`);
        const text = (turned ? pairs.reverse() : pairs).join("&");
        expect(await ids(path, text)).toEqual(expected(path, asked));
      },
    ),
    { numRuns: 400 },
  );
}, 600_000);

test("a model has the same record on its own as in the list", async () => {
  const whole = (await (await world.get(ALL)).json()) as { data: { id: string }[] };
  for (const { id } of models) {
    const one = await (await world.get(`${MEDIA}/${encodeURIComponent(id)}`)).json();
    expect(one).toEqual(whole.data.find((record) => record.id === id));
  }
});

test("the default request that a record prices is the one that lists are sorted by", async () => {
  const { data } = modelList.parse(await (await world.get(MEDIA)).json());
  const shown = data.map(({ id, pricing }) => [
    id,
    "default_request" in pricing ? pricing.default_request : "",
  ]);
  const worked = models
    .filter(({ type }) => type !== "text")
    .map(({ id, price }): [string, string] => [id, formatPicoUsd(price)]);
  expect(Object.fromEntries(shown)).toEqual(Object.fromEntries(worked));
});
