// Limits in a body keep the upstream's bill below the hold, and a limit of the client is never raised.
import { create } from "@bufbuild/protobuf";
import { TokenPriceSchema } from "@gr/proto/catalog";
import type { Bound } from "@gr/text-upstream";
import { expect, test } from "@jest/globals";
import { priceBounds } from "./price-bounds.ts";
import { readTextRequest, type TextApi } from "./text-request.ts";
import { upstreamBody } from "./upstream-body.ts";

const price = create(TokenPriceSchema, {
  inputPicoUsd: 1_250_000n,
  outputPicoUsd: 10_000_000n,
  toolFees: [{ call: "web_search_call", picoUsd: 10_000_000_000n }],
});

function bounded(
  api: TextApi,
  more: object,
  bounds: readonly Bound[],
  calls: readonly string[] = [],
): object {
  const body = {
    model: "m",
    ...(api === "chat" ? { messages: [{ role: "user", content: "hi" }] } : { input: "hi" }),
    ...more,
  };
  const request = readTextRequest(api, Buffer.from(JSON.stringify(body)));
  const terms = { tier: "", longCache: false, calls: new Set(calls), bounds: new Set(bounds) };
  const splices = priceBounds({ request, price, terms, held: 1_000n });
  return JSON.parse(upstreamBody(request, "m", undefined, splices).toString()) as object;
}

test.each<[object, object]>([
  [{ only: ["a"] }, { prompt: 1.25, completion: 10, request: 0 }],
  [{ max_price: { prompt: 1, completion: "2.5" } }, { prompt: 1, completion: "2.5", request: 0 }],
  [
    { max_price: { prompt: 99, completion: "1000", request: 5 } },
    { prompt: 1.25, completion: 10, request: 0 },
  ],
  [{ max_price: { prompt: "none", image: 0.1 } }, { prompt: 1.25, completion: 10, request: 0, image: 0.1 }],
  [{ max_price: null }, { prompt: 1.25, completion: 10, request: 0 }],
])("the lower of both limits for hosts is sent: %j", (provider, max_price) => {
  expect(bounded("chat", { provider }, ["max_price"])).toMatchObject({
    provider: { ...provider, max_price },
  });
});

test("a route without preferences gets the limit for hosts", () => {
  expect(bounded("chat", { route: "fallback" }, ["max_price"])).toMatchObject({
    provider: { max_price: { prompt: 1.25, completion: 10, request: 0 } },
  });
});

test("tools that the upstream runs end below the hold, beside the client's own conditions", () => {
  const ours = { type: "max_cost", max_cost_in_dollars: 0.085 };
  const theirs = { type: "step_count_is", step_count: 3 };
  expect(bounded("chat", {}, ["server_tool_cost"])).toMatchObject({ stop_server_tools_when: [ours] });
  expect(bounded("chat", { stop_server_tools_when: [] }, ["server_tool_cost"])).toMatchObject({
    stop_server_tools_when: [ours],
  });
  expect(bounded("chat", { stop_server_tools_when: [theirs] }, ["server_tool_cost"])).toMatchObject({
    stop_server_tools_when: [ours, theirs],
  });
});

test("calls with a fee are limited where the client has no limit", () => {
  expect(bounded("responses", {}, [], ["web_search_call"])).toMatchObject({ max_tool_calls: 20 });
  expect(bounded("responses", { max_tool_calls: 3 }, [], ["web_search_call"])).toMatchObject({
    max_tool_calls: 3,
  });
  expect(bounded("responses", {}, [])).not.toHaveProperty("max_tool_calls");
});

test("the standard tier replaces the one that the account is set to", () => {
  expect(bounded("chat", { service_tier: "auto" }, ["standard_tier"])).toMatchObject({
    service_tier: "default",
  });
  expect(bounded("chat", {}, ["standard_tier"])).toMatchObject({ service_tier: "default" });
});
