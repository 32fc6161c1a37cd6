// Holds are never smaller than what their request can cost at the catalogue's price.

import { create } from "@bufbuild/protobuf";
import { chargeOf } from "@gr/money";
import { TokenPriceSchema } from "@gr/proto/catalog";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { holdFor, inputBound, outputBound } from "./hold-size.ts";
import { readTextRequest } from "./text-request.ts";

const price = create(TokenPriceSchema, { inputPicoUsd: 500_000n, outputPicoUsd: 1_500_000n });
const limits = { contextTokens: 1_000_000n, maxOutputTokens: 16_000n };
const unknown = { contextTokens: 0n, maxOutputTokens: 0n };
const chat = (more: object, content: unknown = "hi") =>
  readTextRequest(
    "chat",
    Buffer.from(JSON.stringify({ model: "m", messages: [{ role: "user", content }], ...more })),
  );

describe("output", () => {
  test.each([
    [{}, limits, 4_096n],
    [{}, { ...limits, maxOutputTokens: 1_000n }, 1_000n],
    [{ max_tokens: 10 }, limits, 10n],
    [{ max_completion_tokens: 10, max_tokens: 20 }, limits, 20n],
    [{ max_tokens: 1_000_000 }, limits, 16_000n],
    [{ max_tokens: 1_000_000 }, unknown, 1_000_000n],
    [{ max_tokens: 10, n: 3 }, limits, 30n],
  ])("of %j is bounded", (more, known, bound) => {
    expect(outputBound(chat(more), known)).toBe(bound);
  });

  test("counts the tokens of a prediction, which are billed when they are rejected", () => {
    const more = { max_tokens: 10, prediction: { type: "content", content: "x".repeat(500) } };
    expect(outputBound(chat(more), limits)).toBeGreaterThan(510n);
  });
});

describe("input", () => {
  test("is bounded by the bytes of the text, whatever the text is", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
        expect(inputBound(chat({}, text), limits)).toBeGreaterThanOrEqual(BigInt(Buffer.byteLength(text)));
      }),
    );
  });

  test("is bounded by the context, which no request exceeds", () => {
    expect(inputBound(chat({}, "x".repeat(5_000)), { ...limits, contextTokens: 4_000n })).toBe(4_000n);
  });

  test("of images has the most tokens that providers count for each, and not their base64", () => {
    const image = (bytes: number) => ({
      type: "image_url",
      image_url: { url: `data:image/png;base64,${"A".repeat(bytes)}` },
    });
    const bound = (...images: object[]) => inputBound(chat({}, images), limits);
    expect(bound(image(100_000))).toBe(bound(image(10)));
    expect(bound(image(10))).toBeGreaterThan(16_384n);
    expect(bound(image(10), image(10)) - bound(image(10))).toBeGreaterThan(16_384n);
  });

  test.each([
    { previous_response_id: "resp_1" },
    { plugins: [{ id: "web" }] },
    { tools: [{ type: "web_search" }] },
    { messages: [{ role: "user", content: [{ type: "file", file: { file_id: "f" } }] }] },
  ])("that lies elsewhere is bounded by the context alone: %j", (more) => {
    expect(inputBound(chat(more), limits)).toBe(limits.contextTokens);
    expect(inputBound(chat(more), unknown)).toBe(1_048_576n);
  });
});

describe("a hold", () => {
  test("is at least the charge of any use within the bounds", () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 10n ** 9n }),
        fc.bigInt({ min: 0n, max: 10n ** 9n }),
        fc.option(fc.bigInt({ min: 0n, max: 10n ** 9n }), { nil: undefined }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (input, output, reasoning, part) => {
          const rule = create(TokenPriceSchema, {
            inputPicoUsd: input,
            outputPicoUsd: output,
            requestPicoUsd: 7n,
            ...(reasoning === undefined ? {} : { reasoningPicoUsd: reasoning }),
          });
          const request = chat({ max_tokens: 100 });
          const reasoned = BigInt(Math.floor(100 * part));
          const most =
            inputBound(request, limits) * input +
            (100n - reasoned) * output +
            reasoned * (reasoning ?? output) +
            7n;
          expect(holdFor(request, limits, rule)).toBeGreaterThanOrEqual(chargeOf(most));
        },
      ),
    );
  });

  test("of a free model is zero", () => {
    expect(holdFor(chat({}), limits, create(TokenPriceSchema, {}))).toBe(0n);
  });

  test("uses the dearest price that can apply", () => {
    const request = chat({ max_tokens: 1 });
    const dear = create(TokenPriceSchema, { ...price, cacheWritePicoUsd: 10n ** 9n });
    expect(holdFor(request, limits, dear)).toBe(
      chargeOf(inputBound(request, limits) * 10n ** 9n + 1_500_000n),
    );
  });
});
