// The meters of an answer in the terms of the price list: the serving or requested tier, and the fees of tools.
import { create } from "@bufbuild/protobuf";
import { TokenPriceSchema } from "@gr/proto/catalog";
import { expect, test } from "@jest/globals";
import { holdSizeOf } from "../request/hold-size.ts";
import { readTextRequest } from "../request/text-request.ts";
import { chargedMeters } from "./charged-meters.ts";

const price = create(TokenPriceSchema, { inputPicoUsd: 1n, outputPicoUsd: 1n });
const model = { contextTokens: 0n, maxOutputTokens: 0n, capabilities: [], supportedParameters: [] };
const used = { inputTokens: 1, outputTokens: 1 };

function orderOf(tier: string, calls: readonly string[] = [], body: object = {}) {
  const text = JSON.stringify({ model: "m", messages: [{ role: "user", content: "hi" }], ...body });
  const request = readTextRequest("chat", Buffer.from(text));
  const terms = { tier, longCache: false, calls: new Set(calls), bounds: new Set<never>() };
  const size = holdSizeOf(request, model, price);
  return { asked: "there", priceTerms: new Map([["there", terms]]), price, request, size };
}

test("the tier is that of the answer, else the one that was asked for", () => {
  expect(chargedMeters(orderOf("priority"), used).tier).toBe("priority");
  expect(chargedMeters(orderOf("priority"), { ...used, tier: "default" }).tier).toBe("default");
  expect(chargedMeters(orderOf(""), { ...used, tier: "flex" }).tier).toBe("flex");
});

test("a fast mode is charged whatever tier the answer names", () => {
  expect(chargedMeters(orderOf("fast_mode"), { ...used, tier: "default" }).tier).toBe("fast_mode");
});

test("searches have the fee of the tool that was asked for, and count once for each answer where they are not counted", () => {
  const counted = { ...used, toolCalls: { web_search_call: 3, file_search_call: 1 } };
  expect(chargedMeters(orderOf("", ["web_search_preview_call"]), counted).toolCalls).toEqual({
    web_search_preview_call: 3,
    file_search_call: 1,
  });
  expect(chargedMeters(orderOf("", ["web_search_call"], { n: 4 }), used).toolCalls).toEqual({
    web_search_call: 4,
  });
  expect(chargedMeters(orderOf(""), counted)).toBe(counted);
});
