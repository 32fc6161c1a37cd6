// An upstream's bill is trusted up to the listed price of the tokens that a request can have, plus a surplus.
import { create } from "@bufbuild/protobuf";
import { TokenPriceSchema } from "@gr/proto/catalog";
import { describe, expect, test } from "@jest/globals";
import { holdSizeOf } from "../request/hold-size.ts";
import { readTextRequest } from "../request/text-request.ts";
import { mostTrusted } from "./trusted-cost.ts";

const price = create(TokenPriceSchema, { inputPicoUsd: 500_000n, outputPicoUsd: 1_500_000n });
const model = {
  contextTokens: 1_000_000n,
  maxOutputTokens: 16_000n,
  capabilities: [],
  supportedParameters: [],
};
const SURPLUS = 5_000_000_000n;

function orderOf(more: object = {}, rule = price, content: unknown = "hi") {
  const body = { model: "m", messages: [{ role: "user", content }], ...more };
  const request = readTextRequest("chat", Buffer.from(JSON.stringify(body)));
  const size = holdSizeOf(request, model, rule);
  const { credits } = size;
  const [id, accountId, keyId, version] = ["id", "account", "key", "v1"];
  return {
    order: {
      id,
      accountId,
      keyId,
      model: "m",
      priceVersion: version,
      credits,
      deadlineAt: 0,
      request,
      price: rule,
      size,
      maxCost: undefined,
      continues: false,
      savesTexts: false,
    },
    terms: { held: size.mostCredits ?? credits, limit: undefined as bigint | undefined, surplus: 25 },
  };
}
const use = (inputTokens: number, outputTokens: number) => ({ inputTokens, outputTokens });

describe("believed is at most", () => {
  test("what the listed prices make of the tokens, and a quarter more", () => {
    const { order, terms } = orderOf({}, price, "x".repeat(100_000));
    const listed = 50_000n * 500_000n + 10_000n * 1_500_000n;
    expect(mostTrusted(order, terms, use(50_000, 10_000))).toBe((listed * 125n) / 100n);
    expect(mostTrusted(order, { ...terms, surplus: 50 }, use(50_000, 10_000))).toBe((listed * 150n) / 100n);
  });

  test("half a cent more, of small requests", () => {
    const { order, terms } = orderOf();
    expect(mostTrusted(order, terms, use(10, 2))).toBe(8_000_000n + SURPLUS);
  });

  test("twice as much where the input is long", () => {
    const { order, terms } = orderOf({ previous_response_id: "r" });
    expect(mostTrusted(order, terms, use(200_000, 0))).toBe(2n * 200_000n * 500_000n);
  });

  test("the fees of what the provider ran besides", () => {
    const { order, terms } = orderOf({ plugins: [{ id: "web" }] });
    expect(mostTrusted(order, terms, use(10, 2))).toBe(8_000_000n + 200_000_000_000n);
  });

  test("nothing for a free model, but for such fees", () => {
    const free = create(TokenPriceSchema, {});
    const plain = orderOf({}, free);
    expect(mostTrusted(plain.order, plain.terms, use(10, 2))).toBe(0n);
    const searching = orderOf({ plugins: [{ id: "web" }] }, free);
    expect(mostTrusted(searching.order, searching.terms, use(10, 2))).toBe(200_000_000_000n);
  });

  test("what is held, where the upstream does not say how many tokens", () => {
    const { order, terms } = orderOf();
    expect(mostTrusted(order, { ...terms, held: 100n }, undefined)).toBe((10_000_000_000n * 3n) / 2n);
  });

  test("the dearest listed price of output: a report does not say what each token was", () => {
    const drawing = create(TokenPriceSchema, { ...price, imageOutputPicoUsd: 30_000_000n });
    const { order, terms } = orderOf({}, drawing);
    expect(mostTrusted(order, terms, use(0, 1_290))).toBeGreaterThanOrEqual(1_290n * 30_000_000n);
  });
});

describe("no more tokens are believed than", () => {
  const BILLION = 100_000_000;
  const output = (tokens: bigint) => (tokens * 1_500_000n * 125n) / 100n;

  test("the limit that was sent, in each answer", () => {
    const { order, terms } = orderOf({ max_tokens: 16_000, n: 2 });
    const limited = { ...terms, limit: 10_000n };
    expect(mostTrusted(order, limited, use(0, BILLION))).toBe(output(20_000n));
  });

  test("the model's maximum, or what its hold has grown to cover", () => {
    const { order, terms } = orderOf();
    expect(mostTrusted(order, { ...terms, held: 10n }, use(0, BILLION))).toBe(output(16_000n));
    const grown = mostTrusted(order, { ...terms, held: 1_000n }, use(0, BILLION));
    expect(grown).toBeGreaterThan(output(60_000n));
    expect(grown).toBeLessThan(output(70_000n));
  });

  test("bytes of a request that is text alone", () => {
    const { order, terms } = orderOf();
    const most = mostTrusted(order, terms, use(BILLION, 0));
    expect(most).toBe(order.size.inputTokens * 500_000n + SURPLUS);
    const seen = orderOf({}, price, [{ type: "image_url", image_url: { url: "https://x/y.png" } }]);
    expect(mostTrusted(seen.order, seen.terms, use(30_000, 0))).toBe(30_000n * 500_000n + SURPLUS);
  });
});
