// Guarantees of the text upstream's settings: the catalogue and the proxy mean the same upstream, or both mean none.
import { readConfig } from "@gr/runtime";
import { describe, expect, test } from "@jest/globals";
import { textUpstreamConfig, textUpstreamOf } from "./text-upstream-config.ts";
import { UPSTREAM_KINDS } from "./upstream-kinds.ts";

function read(env: Record<string, string>) {
  const result = readConfig("test", textUpstreamConfig, env);
  if ("problems" in result) return result.problems;
  return textUpstreamOf(result.config);
}

describe("the text upstream", () => {
  test("is none when neither an address nor a key is set", () => {
    expect(read({})).toBeUndefined();
    expect(read({ TEXT_UPSTREAM_KIND: "vercel", TEXT_UPSTREAM_BASE_URL: "" })).toBeUndefined();
  });

  test("is the one at the address, without a slash at its end", () => {
    expect(read({ TEXT_UPSTREAM_BASE_URL: "http://localhost:8090/openrouter/api/v1//" })).toEqual({
      name: "default",
      kind: UPSTREAM_KINDS.openrouter,
      baseUrl: "http://localhost:8090/openrouter/api/v1",
      apiKey: undefined,
    });
  });

  test.each([
    [UPSTREAM_KINDS.openrouter, "https://openrouter.ai/api/v1"],
    [UPSTREAM_KINDS.openai, "https://api.openai.com/v1"],
    [UPSTREAM_KINDS.vercel, "https://ai-gateway.vercel.sh/v1"],
  ])("is the public one of each kind when only a key is set", (kind, baseUrl) => {
    const env = { TEXT_UPSTREAM_KIND: kind.name, TEXT_UPSTREAM_API_KEY: "sk", TEXT_UPSTREAM_NAME: "main" };
    expect(read(env)).toEqual({ name: "main", kind, baseUrl, apiKey: "sk" });
  });

  test.each([
    [
      { TEXT_UPSTREAM_BASE_URL: "ftp://example.test" },
      "TEXT_UPSTREAM_BASE_URL: must be an http:// or https:// URL",
    ],
    [{ TEXT_UPSTREAM_KIND: "azure" }, "TEXT_UPSTREAM_KIND"],
    [{ TEXT_UPSTREAM_NAME: "Not A Name" }, "TEXT_UPSTREAM_NAME: must be 1 to 40 characters"],
  ])("refuses %j", (env, problem) => {
    expect(read(env as Record<string, string>)).toEqual([expect.stringContaining(problem)]);
  });
});
