// Guarantees of the text upstreams' settings: the catalogue and the proxy use the same upstreams, or both use none.
// Faults are named without the keys.
import { readConfig } from "@gr/runtime";
import { describe, expect, test } from "@jest/globals";
import { textUpstreamConfig, textUpstreamsOf } from "./text-upstream-config.ts";
import { UPSTREAM_KINDS } from "./upstream-kinds.ts";

function read(env: Record<string, string>) {
  const result = readConfig("test", textUpstreamConfig, env);
  if ("problems" in result) throw new Error(result.problems.join("; "));
  return textUpstreamsOf(result.config);
}
const list = (...upstreams: object[]) => ({ TEXT_UPSTREAMS: JSON.stringify(upstreams) });

const USUAL = {
  apiKey: undefined,
  billed: true,
  timers: { connectMs: undefined, firstByteMs: undefined, idleMs: undefined },
};

describe("one text upstream", () => {
  test("is none when neither an address nor a key is set", () => {
    expect(read({})).toEqual([]);
    expect(read({ TEXT_UPSTREAM_KIND: "vercel", TEXT_UPSTREAM_BASE_URL: "" })).toEqual([]);
  });

  test("is the one at the address, without a slash at its end", () => {
    expect(read({ TEXT_UPSTREAM_BASE_URL: "http://localhost:8090/openrouter/api/v1//" })).toEqual([
      {
        ...USUAL,
        name: "default",
        kind: UPSTREAM_KINDS.openrouter,
        baseUrl: "http://localhost:8090/openrouter/api/v1",
        prices: "listed",
      },
    ]);
  });

  test.each([
    [UPSTREAM_KINDS.openrouter, "https://openrouter.ai/api/v1", "listed"],
    [UPSTREAM_KINDS.openai, "https://api.openai.com/v1", "price-list"],
    [UPSTREAM_KINDS.vercel, "https://ai-gateway.vercel.sh/v1", "listed"],
  ])("is the public one of its kind when only a key is set", (kind, baseUrl, prices) => {
    const env = { TEXT_UPSTREAM_KIND: kind.name, TEXT_UPSTREAM_API_KEY: "sk", TEXT_UPSTREAM_NAME: "main" };
    expect(read(env)).toEqual([{ ...USUAL, name: "main", kind, baseUrl, prices, apiKey: "sk" }]);
  });
});

describe("several text upstreams", () => {
  test("are in the order of the list, each with its own key", () => {
    const env = {
      ...list(
        { name: "main", kind: "openrouter" },
        {
          name: "local",
          kind: "openai-compatible",
          base_url: "http://gpu:8000/v1/",
          billed: false,
          connect_ms: 300,
          first_byte_ms: 20_000,
          idle_ms: 5_000,
        },
        { name: "own-prices", kind: "vercel", prices: "catalogue" },
      ),
      TEXT_UPSTREAM_KEYS: '{"main":"sk-main"}',
    };
    expect(read(env)).toMatchObject([
      { name: "main", apiKey: "sk-main", prices: "listed", billed: true },
      {
        name: "local",
        apiKey: undefined,
        baseUrl: "http://gpu:8000/v1",
        prices: "catalogue",
        billed: false,
        timers: { connectMs: 300, firstByteMs: 20_000, idleMs: 5_000 },
      },
      { name: "own-prices", prices: "catalogue" },
    ]);
  });
});

describe("what is wrong is refused by its place", () => {
  const SECRET = "sk-very-secret";
  test.each<[Record<string, string>, string]>([
    [
      { TEXT_UPSTREAM_BASE_URL: "ftp://a.test" },
      "TEXT_UPSTREAM_BASE_URL: must be an http:// or https:// URL",
    ],
    [{ TEXT_UPSTREAM_KIND: "azure" }, "TEXT_UPSTREAM_KIND"],
    [{ TEXT_UPSTREAM_NAME: "Not A Name" }, "TEXT_UPSTREAM_NAME: must be 1 to 40 characters"],
    [
      { TEXT_UPSTREAM_KIND: "openai-compatible", TEXT_UPSTREAM_API_KEY: SECRET },
      "TEXT_UPSTREAM_BASE_URL is required for the kind openai-compatible",
    ],
    [{ TEXT_UPSTREAMS: "main" }, "TEXT_UPSTREAMS: must be JSON"],
    [{ TEXT_UPSTREAMS: "[]" }, "TEXT_UPSTREAMS: "],
    [list({ name: "main", kind: "azure" }), "TEXT_UPSTREAMS: main.kind: "],
    [list({ name: "No Name", kind: "openai" }), "TEXT_UPSTREAMS: [0].name: must be 1 to 40 characters"],
    [list({ name: "main", kind: "openai", api_key: SECRET }), "TEXT_UPSTREAMS: main: Unrecognized key"],
    [list({ name: "main", kind: "openai", idle_ms: 0 }), "TEXT_UPSTREAMS: main.idle_ms: "],
    [
      list({ name: "main", kind: "openai" }, { name: "main", kind: "vercel" }),
      "TEXT_UPSTREAMS has two upstreams of the name main",
    ],
    [
      list({ name: "local", kind: "openai-compatible" }),
      "TEXT_UPSTREAMS: local: base_url is required for the kind openai-compatible",
    ],
    [
      list({ name: "main", kind: "openrouter", prices: "price-list" }),
      "TEXT_UPSTREAMS: main: prices cannot be price-list for the kind openrouter",
    ],
    [
      list({ name: "main", kind: "openai", prices: "listed" }),
      "TEXT_UPSTREAMS: main: prices cannot be listed for the kind openai",
    ],
    [
      { ...list({ name: "main", kind: "openai" }), TEXT_UPSTREAM_API_KEY: SECRET },
      "TEXT_UPSTREAM_API_KEY is for one upstream, and TEXT_UPSTREAMS is set",
    ],
    [
      { ...list({ name: "main", kind: "openai" }), TEXT_UPSTREAM_KEYS: `{"other":"${SECRET}"}` },
      "TEXT_UPSTREAM_KEYS has a key for other, which is not in TEXT_UPSTREAMS",
    ],
    [
      { TEXT_UPSTREAM_KEYS: `{"other":"${SECRET}"}` },
      "TEXT_UPSTREAM_KEYS is for TEXT_UPSTREAMS, which is not set",
    ],
    [
      { ...list({ name: "main", kind: "openai" }), TEXT_UPSTREAM_KEYS: `"${SECRET}` },
      "TEXT_UPSTREAM_KEYS: must be JSON",
    ],
  ])("%j", (env, problem) => {
    let message = "";
    try {
      read(env);
    } catch (error) {
      message = String(error);
    }
    expect(message).toContain(problem);
    expect(message).not.toContain(SECRET);
  });
});
