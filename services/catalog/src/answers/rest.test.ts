// Guarantees of GET /v1/models and its compat variant, over HTTP as from the gateway.

import type { AllowLists } from "@gr/identity";
import { ManualClock, until } from "@gr/testing";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import OpenAI from "openai";
import { type FakeUpstream, listing, openRouterRow, startFakeUpstream } from "../test/fake-upstream.ts";
import { type CatalogUnderTest, startCatalog } from "../test/start-catalog.ts";
import { modelList, modelRecord } from "./model-record.ts";

let upstream: FakeUpstream;
let world: CatalogUnderTest;

beforeAll(async () => {
  upstream = await startFakeUpstream(
    listing(
      openRouterRow("vendor/chat:free", { pricing: { prompt: "0", completion: "0" } }),
      openRouterRow("vendor/chat"),
    ),
  );
  world = await startCatalog({ env: { TEXT_UPSTREAM_BASE_URL: upstream.url, SANDBOX_MODELS: "true" } });
});
afterAll(async () => {
  await world?.stop();
  await world?.database.drop();
  await upstream?.close();
});

async function ids(path: string): Promise<string[]> {
  const response = await world.get(path);
  expect(response.status).toBe(200);
  return modelList.parse(await response.json()).data.map(({ id }) => id);
}

async function refusal(path: string) {
  const response = await world.get(path);
  return { status: response.status, body: await response.json() };
}

const OPENAI = [
  ...["openai/gpt-image-1-mini", "openai/gpt-image-1.5", "openai/gpt-image-2"],
  ...["openai/gpt-image-2.5-flare", "openai/gpt-image-2.5-sunburst"],
  ...["openai/gpt-image-2.6-flare", "openai/gpt-image-2.6-sunburst"],
];
const SANDBOX = ["image", "image-blocked", "image-error", "image-free", "image-hang"].map(
  (id) => `sandbox/${id}`,
);

describe("GET /v1/models", () => {
  test("lists image and video models, text models only where they are asked for", async () => {
    expect(await ids("/v1/models")).toEqual([...OPENAI, ...SANDBOX]);
    expect(await ids("/v1/models?type=text")).toEqual(["vendor/chat", "vendor/chat:free"]);
    expect(await ids("/v1/models?type=video")).toEqual([]);
  });

  test("filters, sorts and limits", async () => {
    expect(await ids("/v1/models?free=true")).toEqual(["sandbox/image-free"]);
    expect(await ids("/v1/models?type=text&free=true")).toEqual(["vendor/chat:free"]);
    expect(await ids("/v1/models?name=IMAGE-2")).toEqual(OPENAI.slice(2));
    expect(await ids("/v1/models?provider=SAND&limit=2")).toEqual(["sandbox/image", "sandbox/image-blocked"]);
    expect(await ids("/v1/models?provider=openai&sort=price&limit=1")).toEqual(["sandbox/image-free"]);
    expect((await ids("/v1/models?sort=price")).at(-1)).toBe("openai/gpt-image-2");
    const [mini, older, two, flare5, sunburst5, flare6, sunburst6] = OPENAI;
    const scored = [sunburst5, flare5, two, older, mini];
    expect(await ids("/v1/models?sort=arena_score")).toEqual([...scored, flare6, sunburst6, ...SANDBOX]);
    const dated = [flare6, sunburst6, flare5, sunburst5, two, older, mini];
    expect(await ids("/v1/models?sort=date")).toEqual([...dated, ...SANDBOX]);
    expect(await ids("/v1/models?name=%2FGPT%2d")).toEqual(OPENAI);
    expect(await ids("/v1/models?name=a+b")).toEqual([]);
  });

  test.each([
    ["type", "audio", "The type must be one of image, video, text, all"],
    ["sort", "best", "The sort must be one of name, provider, arena_score, price, date"],
    ["free", "yes", "free must be true or false"],
    ["limit", "0", "The limit must be a whole number of at least 1"],
    ["limit", "2.5", "The limit must be a whole number of at least 1"],
  ])("answers 400 that names the parameter for %s=%s", async (param, value, message) => {
    expect(await refusal(`/v1/models?${param}=${value}`)).toEqual({
      status: 400,
      body: {
        error: {
          message: `${message} (field "${param}").`,
          type: "invalid_request_error",
          param,
          code: "invalid_value",
        },
      },
    });
  });

  test.each([
    ["type", "type="],
    ["type", "type=Image"],
    ["type", "type=image&type=image"],
    ["type", "type=image,video"],
    ["free", "free="],
    ["free", "free=TRUE"],
    ["free", "free=1"],
    ["free", "free=true&free=false"],
    ["sort", "sort="],
    ["sort", "sort=-price"],
    ["sort", "sort=price%00"],
    ["limit", "limit="],
    ["limit", "limit=-1"],
    ["limit", "limit=+1"],
    ["limit", "limit=1e3"],
    ["limit", "limit=0x10"],
    ["limit", "limit=1&limit=2"],
    ["name", "name=a&name=b"],
    ["provider", "provider=a&provider=b"],
  ])("answers 400 that names %s for %s, whatever else is asked", async (param, queryString) => {
    for (const path of ["/v1/models", "/v1/compat/models"]) {
      const { status, body } = await refusal(`${path}?name=x&${queryString}`.replace("name=x&name", "name"));
      expect({ status, body }).toMatchObject({
        status: 400,
        body: { error: { type: "invalid_request_error", param, code: "invalid_value" } },
      });
    }
  });

  test("ignores parameters that it does not know", async () => {
    expect(await ids("/v1/models?page=2&Limit=1&limit[]=1&__proto__=1")).toEqual([...OPENAI, ...SANDBOX]);
  });

  test("answers whole records with exact prices", async () => {
    const response = await world.get("/v1/models/openai/gpt-image-2");
    expect(modelRecord.parse(await response.json())).toEqual({
      id: "openai/gpt-image-2",
      object: "model",
      created: Date.UTC(2026, 3, 21) / 1_000,
      owned_by: "openai",
      type: "image",
      name: "GPT Image 2",
      providers: ["openai"],
      pricing: {
        unit: "metered",
        per: "image",
        currency: "USD",
        version: expect.stringMatching(/^[0-9a-f]{16}$/),
        lowest: "0.00524",
        typical: "0.05318",
        highest: "0.71207",
        default_request: "0.05318",
        ...{ input: "0.000005", cached_input: "0.000005", cache_write: "0.000005", audio_input: "0.000005" },
        ...{ image_input: "0.000008", output: "0.00003", image_output: "0.00003", reasoning: "0.00003" },
        ...{ audio_output: "0.00003", tools: {} },
        request: "0",
        most_tokens: {
          tiers: expect.arrayContaining([
            { quality: "high", sizes: ["1536x1024", "1024x1536"], max_pixels: null, tokens: 5_488 },
          ]),
          ...{ input_image: 1_536, other_input: 64, other_output: 0, partial_image: 100 },
        },
      },
      capabilities: ["text-to-image"],
      supported_parameters: [
        "prompt",
        "quality",
        "size",
        "n",
        "output_format",
        "response_format",
        "partial_images",
      ],
      sizes: ["1024x1024", "1536x1024", "1024x1536"],
      custom_size: {
        ...{ edge_multiple: 16, min_edge: null, max_edge: 3_840 },
        ...{ min_pixels: 655_360, max_pixels: 8_294_400, max_ratio: 3 },
      },
      qualities: ["low", "medium", "high"],
      seconds: [],
      default: { size: "1024x1024", quality: "medium", seconds: null },
      limits: { input_images: null, prompt_characters: 20_000 },
      context_length: null,
      max_output_tokens: null,
      arena_score: 1381,
      arena: {
        board: "arena.ai text-to-image",
        entry: "gpt-image-2 (medium)",
        as_of: "2026-09-30",
        attribution: "arena.ai, dataset lmarena-ai/leaderboard-dataset, CC-BY 4.0",
      },
      release_date: "2026-04-21",
      shutdown_date: null,
    });
  });

  test("knows models whose release date it does not know", async () => {
    const response = await world.get("/v1/models/sandbox/image");
    expect(await response.json()).toMatchObject({
      created: Date.UTC(2026, 10, 20) / 1_000,
      release_date: null,
      arena_score: null,
      arena: null,
    });
  });
});

describe("GET /v1/models/:id", () => {
  test.each([
    "sandbox/image",
    "sandbox%2Fimage",
    "sandbox%2fimage",
    "vendor/chat:free",
    "vendor%2Fchat%3Afree",
  ])("finds %s", async (path) => {
    for (const prefix of ["/v1/models", "/v1/compat/models"]) {
      const response = await world.get(`${prefix}/${path}`);
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ id: decodeURIComponent(path), object: "model" });
    }
  });

  test.each([
    ["no/such-model", "no/such-model"],
    ["sandbox", "sandbox"],
    ["sandbox/image//", "sandbox/image/"],
    ["Sandbox/Image", "Sandbox/Image"],
    ["sandbox%252Fimage", "sandbox%2Fimage"],
    ["/", ""],
    ["__proto__", "__proto__"],
    ["%22%0A", '"\n'],
  ])("answers 404 for %s", async (path, id) => {
    for (const prefix of ["/v1/models", "/v1/compat/models"]) {
      expect(await refusal(`${prefix}/${path}`)).toEqual({
        status: 404,
        body: {
          error: {
            message: `The model "${id}" does not exist.`,
            type: "invalid_request_error",
            param: "model",
            code: "model_not_found",
          },
        },
      });
    }
  });

  test("answers 404 with these bytes", async () => {
    const response = await world.get("/v1/models/no%2Fsuch-model");
    expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(response.headers.get("cache-control")).toBeNull();
    expect(await response.text()).toBe(
      '{"error":{"message":"The model \\"no/such-model\\" does not exist.","type":"invalid_request_error","param":"model","code":"model_not_found"}}',
    );
  });

  test("is the list without an id, and takes a slash at the end of one", async () => {
    expect(await ids("/v1/models/")).toEqual(await ids("/v1/models"));
    expect(await ids("/v1/models/?type=text")).toEqual(await ids("/v1/models?type=text"));
    expect(await (await world.get("/v1/models/sandbox/image/")).json()).toMatchObject({
      id: "sandbox/image",
    });
  });

  test.each([
    ["a//b", "a//b"],
    ["//", "/"],
    ["a%00b", "a\0b"],
    ["sandbox/image%20", "sandbox/image "],
    ["sandbox/image?type=video", "sandbox/image"],
    ["%E6%97%A5%E6%9C%AC", "日本"],
    ["constructor", "constructor"],
    ["*", "*"],
  ])("reads the id of %s as any other id", async (path, id) => {
    const response = await world.get(`/v1/models/${path}`);
    const known = id === "sandbox/image";
    expect(response.status).toBe(known ? 200 : 404);
    const { error } = (await response.json()) as { error?: { message: string } };
    expect(error?.message).toBe(known ? undefined : `The model "${id}" does not exist.`);
  });

  test.each(["%", "%zz", "sandbox/%E0%A4%A", "%ff"])(
    "answers 404 for %s too, which is no text",
    async (path) => {
      const { status, body } = await refusal(`/v1/models/${path}`);
      expect({ status, body }).toMatchObject({
        status: 404,
        body: { error: { type: "invalid_request_error" } },
      });
    },
  );

  test.each([450, 501, 10_000])("does not echo an id without end (%d characters)", async (length) => {
    const { status, body } = await refusal(`/v1/models/${"a".repeat(length)}`);
    expect({ status, body }).toMatchObject({
      status: 404,
      body: {
        error: {
          message: `The model "${"a".repeat(200)}" does not exist.`,
          code: "model_not_found",
          param: "model",
        },
      },
    });
  });

  test("does not cut a character of an id in two", async () => {
    const { body } = await refusal(`/v1/models/${"a".repeat(199)}${encodeURIComponent("👩")}`);
    expect((body as { error: { message: string } }).error.message).toBe(
      `The model "${"a".repeat(199)}👩" does not exist.`,
    );
  });
});

describe("the compat paths", () => {
  test("list the models that a chat client can call, and every kind with type=all", async () => {
    const all = [...OPENAI, ...SANDBOX, "vendor/chat", "vendor/chat:free"];
    expect(await ids("/v1/compat/models")).toEqual(["vendor/chat", "vendor/chat:free"]);
    expect(await ids("/v1/compat/models?type=image")).toEqual([...OPENAI, ...SANDBOX]);
    expect(await ids("/v1/compat/models?type=all")).toEqual(all);
    expect(await ids("/v1/models?type=all")).toEqual(all);
    expect(await ids("/v1/compat/models?type=text&limit=1")).toEqual(["vendor/chat"]);
  });
});

describe("a key with allow-lists", () => {
  const idsFor = async (path: string, allowed: AllowLists) => {
    const response = await world.getAs(path, allowed);
    expect(response.status).toBe(200);
    return modelList.parse(await response.json()).data.map(({ id }) => id);
  };

  test("lists the models that it may use, under the same filters", async () => {
    const models = ["vendor/chat", "sandbox/image-*"];
    const images = SANDBOX.filter((id) => id !== "sandbox/image");
    expect(await idsFor("/v1/compat/models", { models })).toEqual(["vendor/chat"]);
    expect(await idsFor("/v1/models", { models })).toEqual(images);
    expect(await idsFor("/v1/models?type=all&limit=1", { models })).toEqual(images.slice(0, 1));
    expect(await idsFor("/v1/compat/models?free=true", { models })).toEqual([]);
    expect(await idsFor("/v1/models", { providers: ["openai"] })).toEqual([...OPENAI, ...SANDBOX]);
    expect(await idsFor("/v1/models?type=all", { providers: ["nobody"] })).toEqual([]);
    expect(await ids("/v1/compat/models")).toEqual(["vendor/chat", "vendor/chat:free"]);
  });

  test("finds each single model, as everybody does", async () => {
    const response = await world.getAs("/v1/compat/models/vendor/chat", { models: ["openai/*"] });
    expect(response.status).toBe(200);
  });
});

describe.each([
  ["/v1", "sandbox/image", "sandbox"],
  ["/v1/compat", "vendor/chat", "vendor"],
])("the official SDK under %s", (base, id, owner) => {
  const client = new OpenAI({
    apiKey: "unused",
    baseURL: `http://service${base}`,
    fetch: (url) => world.get(new URL(String(url)).pathname),
  });

  test("lists models", async () => {
    const listed = [];
    for await (const model of client.models.list()) listed.push(model);
    expect(listed).toContainEqual(
      expect.objectContaining({ id, object: "model", owned_by: owner, created: expect.any(Number) }),
    );
  });

  test("have the same record of a model on its own as in the list", async () => {
    const { data } = modelList.parse(await (await world.get("/v1/compat/models?type=all")).json());
    for (const record of data) {
      const one = await world.get(`/v1/compat/models/${encodeURIComponent(record.id)}`);
      expect(await one.json()).toEqual(record);
    }
  });

  test("retrieves a model by its bare name under /v1/compat, and by its whole id only elsewhere", async () => {
    const bare = await world.get("/v1/compat/models/image-free");
    expect([bare.status, (await bare.json()) as object]).toEqual([
      200,
      expect.objectContaining({ id: "sandbox/image-free" }),
    ]);
    expect((await world.get("/v1/models/image-free")).status).toBe(404);
  });

  test("retrieves a model of any type, and says that another one does not exist", async () => {
    for (const any of ["sandbox/image-free", "vendor/chat:free"]) {
      expect((await client.models.retrieve(any)).id).toBe(any);
    }
    await expect(client.models.retrieve("no/such-model")).rejects.toMatchObject({
      status: 404,
      code: "model_not_found",
      param: "model",
      type: "invalid_request_error",
    });
  });
});

test("a model is gone on the day of its shutdown, without a restart", async () => {
  const clock = new ManualClock(Date.UTC(2026, 10, 30, 23, 59, 59));
  const other = await startCatalog({ clock });
  const status = async () => (await other.get("/v1/models/openai/gpt-image-1.5")).status;
  try {
    expect(await status()).toBe(200);
    clock.advance(1_000);
    await until(async () => (await status()) === 404, { timeoutMs: 60_000 });
    expect(await (await other.get("/v1/models")).text()).not.toContain("openai/gpt-image-1.5");
    expect((await other.get("/v1/models/openai/gpt-image-2")).status).toBe(200);
  } finally {
    await other.stop();
    await other.database.drop();
  }
});

describe("caching", () => {
  test("an answer says how long it holds, and is not sent again to who has it", async () => {
    for (const path of [
      "/v1/models",
      "/v1/models?sort=price",
      "/v1/models/sandbox/image",
      "/v1/compat/models",
    ]) {
      const first = await world.get(path);
      const tag = first.headers.get("etag") ?? "";
      expect(tag).toMatch(/^W\/"[\w-]+"$/);
      const etag = tag.slice(2);
      expect(first.headers.get("cache-control")).toBe("public, max-age=60");
      // A cache with the answer to a valid key must not send it to an invalid one.
      expect(first.headers.get("vary")).toBe("authorization");
      expect(first.headers.get("content-type")).toBe("application/json; charset=utf-8");
      for (const sent of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
        const again = await world.get(path, { "if-none-match": sent });
        expect([again.status, await again.text()]).toEqual([304, ""]);
        expect(again.headers.get("etag")).toBe(tag);
        expect(again.headers.get("cache-control")).toBe("public, max-age=60");
        expect(again.headers.get("vary")).toBe("authorization");
      }
      for (const sent of ['"other"', "", `"x,${etag.slice(1)}`, '"a,*,b"', "*x", etag.slice(1, -1)]) {
        expect([sent, (await world.get(path, { "if-none-match": sent })).status]).toEqual([sent, 200]);
      }
      const head = await world.head(path);
      expect([head.status, head.headers.get("etag"), await head.text()]).toEqual([200, tag, ""]);
      expect(head.headers.get("content-length")).toBe(first.headers.get("content-length"));
      expect((await world.head(path, { "if-none-match": etag })).status).toBe(304);
    }
  });

  test("lists that differ have different tags, equal ones the same", async () => {
    const tag = async (path: string) => (await world.get(path)).headers.get("etag");
    expect(await tag("/v1/models?sort=price")).not.toBe(await tag("/v1/models"));
    expect(await tag("/v1/models?limit=5")).not.toBe(await tag("/v1/models"));
    expect(await tag("/v1/models?limit=500&x=1")).toBe(await tag("/v1/models"));
  });

  test("a change of the catalogue is in the next answer", async () => {
    const changing = await startFakeUpstream(listing(openRouterRow("vendor/one")));
    const env = { TEXT_UPSTREAM_BASE_URL: changing.url, TEXT_IMPORT_INTERVAL_MS: "20" };
    const other = await startCatalog({ env });
    try {
      const before = await other.get("/v1/compat/models?type=all");
      changing.respond = listing(openRouterRow("vendor/one"), openRouterRow("vendor/two"));
      await until(async () => (await other.ids()).length === OPENAI.length + 2, { timeoutMs: 60_000 });
      const after = await other.get("/v1/compat/models?type=all", {
        "if-none-match": before.headers.get("etag") ?? "",
      });
      expect(after.status).toBe(200);
      expect(modelList.parse(await after.json()).data).toHaveLength(OPENAI.length + 2);
    } finally {
      await other.stop();
      await other.database.drop();
      await changing.close();
    }
  });
});

test("the process is ready", async () => {
  expect((await fetch(`http://127.0.0.1:${world.process.httpPort}/readyz`)).status).toBe(200);
});
