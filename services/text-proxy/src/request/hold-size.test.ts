// A hold is at least the largest cost of its request at the catalogue's price. Without a limit it uses all available
// credit, and the limit that is then added keeps the answer within the hold.

import { create } from "@bufbuild/protobuf";
import { chargeOf, PICO_PER_CREDIT } from "@gr/money";
import { TokenPriceSchema } from "@gr/proto/catalog";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { holdSizeOf, inputBound, limitToAdd, outputBound, type SizedModel } from "./hold-size.ts";
import { readTextRequest, type TextApi } from "./text-request.ts";

const price = create(TokenPriceSchema, { inputPicoUsd: 500_000n, outputPicoUsd: 1_500_000n });
const free = create(TokenPriceSchema, {});
const limits: SizedModel = {
  contextTokens: 1_000_000n,
  maxOutputTokens: 16_000n,
  capabilities: [],
  supportedParameters: [],
};
const thinking = { ...limits, capabilities: ["reasoning"] };
const unknown = { ...limits, contextTokens: 0n, maxOutputTokens: 0n };
const request = (api: TextApi, body: object) =>
  readTextRequest(api, Buffer.from(JSON.stringify({ model: "m", ...body })));
const chat = (more: object, content: unknown = "hi") =>
  request("chat", { messages: [{ role: "user", content }], ...more });

describe("output", () => {
  test.each([
    [{}, limits, 16_000n],
    [{}, { ...limits, maxOutputTokens: 100n }, 100n],
    [{}, { ...limits, maxOutputTokens: 0n }, 131_072n],
    [{}, { ...unknown, contextTokens: 8_000n }, 8_000n],
    [{}, unknown, 131_072n],
    [{ max_tokens: 10 }, limits, 10n],
    [{ max_completion_tokens: 10, max_tokens: 20 }, limits, 20n],
    [{ max_tokens: 1_000_000 }, limits, 16_000n],
    [{ max_tokens: 1_000_000 }, unknown, 1_000_000n],
  ])("of one answer to %j is bounded", (more, known, bound) => {
    expect(outputBound(chat(more), known)).toBe(bound);
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

  test("is not cut to the listed context, which may be wrong", () => {
    const small = { ...limits, contextTokens: 4_000n };
    expect(inputBound(chat({}, "x".repeat(5_000)), small)).toBeGreaterThan(5_000n);
    const remote = { previous_response_id: "resp_1" };
    expect(inputBound(chat(remote, "x".repeat(5_000)), small)).toBeGreaterThan(5_000n);
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
  test("with a limit is at least the charge of any use within the bounds", () => {
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
          const limited = chat({ max_tokens: 100 });
          const reasoned = BigInt(Math.floor(100 * part));
          const most =
            inputBound(limited, limits) * input +
            (100n - reasoned) * output +
            reasoned * (reasoning ?? output) +
            7n;
          const { credits, mostCredits } = holdSizeOf(limited, limits, rule);
          expect(credits).toBeGreaterThanOrEqual(chargeOf(most));
          expect(mostCredits).toBeUndefined();
        },
      ),
    );
  });

  const of = (body: ReturnType<typeof chat>, known = limits, rule = price) => holdSizeOf(body, known, rule);
  const priced = (input: bigint, output: bigint) => chargeOf(input * 500_000n + output * 1_500_000n);

  test("without a limit is a slice of output at least, and the model's maximum at most", () => {
    const open = chat({});
    const input = inputBound(open, limits);
    expect(of(open)).toMatchObject({ credits: priced(input, 512n), mostCredits: priced(input, 16_000n) });
    expect(of(chat({ n: 3 }))).toMatchObject({
      credits: priced(inputBound(chat({ n: 3 }), limits), 3n * 512n),
      stepCredits: priced(0n, 3n * 512n),
    });
  });

  test("of a stream with a limit begins with a slice, and its limit is the bound", () => {
    const stream = chat({ stream: true, max_tokens: 4_000 });
    const input = inputBound(stream, limits);
    expect(of(stream)).toMatchObject({ credits: priced(input, 512n), mostCredits: priced(input, 4_000n) });
    const short = chat({ stream: true, max_tokens: 100 });
    expect(of(short)).toMatchObject({ credits: priced(input, 100n), mostCredits: undefined });
    // The least budget of thoughts is larger than a slice.
    const budgeted = chat({ stream: true, max_tokens: 4_000, reasoning: { max_tokens: 2_000 } });
    expect(of(budgeted).mostCredits).toBeUndefined();
  });

  test("of a model whose maximum is less than a slice is that maximum", () => {
    const open = chat({});
    const short = { ...limits, maxOutputTokens: 100n };
    expect(of(open, short)).toMatchObject({
      credits: priced(inputBound(open, limits), 100n),
      mostCredits: undefined,
    });
  });

  test("counts the tokens of a prediction, which are billed when they are rejected", () => {
    const more = { max_tokens: 10, prediction: { type: "content", content: "x".repeat(500) } };
    expect(of(chat(more)).inputCost).toBeGreaterThan(500n * 1_500_000n);
  });

  test("uses the dearest price that can apply", () => {
    const one = chat({ max_tokens: 1 });
    const dear = create(TokenPriceSchema, { ...price, cacheWritePicoUsd: 10n ** 9n });
    expect(of(one, limits, dear).credits).toBe(chargeOf(inputBound(one, limits) * 10n ** 9n + 1_500_000n));
    const drawing = create(TokenPriceSchema, { ...price, imageOutputPicoUsd: 10n ** 9n });
    expect(of(one, limits, drawing).tokenCost).toBe(10n ** 9n);
  });

  test("of a free model is zero, whatever it may say", () => {
    expect(of(chat({}), limits, free)).toMatchObject({ credits: 0n, mostCredits: undefined });
  });

  test.each([
    ["a plugin", chat({ plugins: [{ id: "web" }] }), limits],
    ["a tool that the provider runs", chat({ tools: [{ type: "web_search" }] }), limits],
    ["a search", chat({ web_search_options: {} }), limits],
    ["a file", chat({}, [{ type: "file", file: {} }]), limits],
    [
      "a tool of a response",
      request("responses", { input: "hi", tools: [{ type: "code_interpreter" }] }),
      limits,
    ],
    ["a model that searches", chat({}), { ...limits, supportedParameters: ["web_search_options"] }],
  ])("has 0.20 USD for %s, also where tokens are free", (_what, body, known) => {
    expect(of(body, known, free).credits).toBe(2_000n);
  });

  const mcpTool = { type: "function", name: "read", parameters: {} };
  test.each<[string, object]>([
    ["a function", mcpTool],
    ["a free-form tool", { type: "custom", name: "apply_patch", format: { type: "grammar" } }],
    ["functions in a namespace", { type: "namespace", name: "agents", tools: [mcpTool, mcpTool] }],
    ["tools of an MCP server that the client calls", { type: "namespace", name: "mcp__files", tools: [mcpTool] }],
    ["an empty namespace", { type: "namespace", name: "mcp__none", tools: [] }],
    ["a tool of each kind in a namespace", { type: "namespace", tools: [{ type: "custom" }, { type: "apply_patch" }] }],
    ["a shell of the client", { type: "local_shell" }],
    ["a shell whose environment is the client's", { type: "shell", environment: { type: "local" } }],
    ["a patch that the client applies", { type: "apply_patch" }],
    ["a search among tools by the client", { type: "tool_search", execution: "client", parameters: {} }],
  ])("has nothing for %s", (_tool, tool) => {
    const body = request("responses", { input: "hi", tools: [tool] });
    expect(of(body, limits, free).credits).toBe(0n);
    expect(inputBound(body, limits)).toBeLessThan(limits.contextTokens);
  });

  test.each<[string, object]>([
    ["a namespace with one tool of the provider", { type: "namespace", tools: [mcpTool, { type: "web_search" }] }],
    ["a namespace without a list", { type: "namespace" }],
    ["an MCP server that the provider calls", { type: "mcp", server_label: "s", server_url: "https://mcp.example" }],
    ["a search among tools by the provider", { type: "tool_search" }],
    ["a shell in a container", { type: "shell", environment: { type: "container_auto" } }],
    ["a shell without an environment", { type: "shell" }],
  ])("has 0.20 USD and a full context for %s", (_tool, tool) => {
    const body = request("responses", { input: "hi", tools: [tool] });
    expect(of(body, limits, free).credits).toBe(2_000n);
    expect(inputBound(body, limits)).toBe(limits.contextTokens);
  });
});

describe("a limit on output is added", () => {
  const limitOf = (body: ReturnType<typeof chat>, output: bigint, known = limits, rule = price) => {
    const size = holdSizeOf(body, known, rule);
    return limitToAdd(body, size, chargeOf(size.inputCost + output * size.tokenCost));
  };

  test("to an answer in one piece whose hold does not cover the model's maximum", () => {
    expect(limitOf(chat({}), 15_900n)).toBeGreaterThanOrEqual(15_900n);
    expect(limitOf(chat({}), 15_000n)).toBeLessThan(15_000n + PICO_PER_CREDIT / 1_500_000n + 1n);
    expect(limitOf(chat({ n: 2 }), 15_000n)).toBeLessThan(7_500n + PICO_PER_CREDIT / 1_500_000n + 1n);
    expect(limitOf(chat({}), 16_000n)).toBeUndefined();
  });

  test("so that the hold covers the whole of it", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 512n, max: 20_000n }), fc.integer({ min: 1, max: 5 }), (tokens, n) => {
        const body = chat({ n });
        const size = holdSizeOf(body, limits, price);
        const held = chargeOf(size.inputCost + tokens * BigInt(n) * size.tokenCost);
        const limit = limitToAdd(body, size, held) ?? size.mostTokens;
        expect(limit).toBeGreaterThanOrEqual(512n);
        expect(chargeOf(size.inputCost + limit * BigInt(n) * size.tokenCost)).toBeLessThanOrEqual(held);
      }),
    );
  });

  test("to a stream only where the model thinks, which a stream need not show", () => {
    expect(limitOf(chat({ stream: true }), 1_000n)).toBeUndefined();
    expect(limitOf(chat({ stream: true }), 1_000n, thinking)).toBeGreaterThanOrEqual(1_000n);
    expect(limitOf(chat({ stream: true }), 16_000n, thinking)).toBeUndefined();
  });

  test("in the place of a client's higher limit on a stream of a model that thinks, and never above it", () => {
    const stream = chat({ stream: true, max_tokens: 4_000 });
    expect(limitOf(stream, 1_000n)).toBeUndefined();
    expect(limitOf(stream, 1_000n, thinking)).toBeGreaterThanOrEqual(1_000n);
    expect(limitOf(stream, 1_000n, thinking)).toBeLessThan(4_000n);
    expect(limitOf(stream, 4_000n, thinking)).toBeUndefined();
    expect(limitOf(chat({ max_tokens: 4_000 }), 1_000n, thinking)).toBeUndefined();
  });

  test("never to a request that has one, nor where output is free", () => {
    expect(limitOf(chat({ max_tokens: 16_000 }), 1_000n)).toBeUndefined();
    expect(limitOf(chat({}), 1_000n, limits, free)).toBeUndefined();
  });

  test("no larger than what the context has room for, which some servers insist on", () => {
    const short = { ...unknown, contextTokens: 8_000n };
    expect(limitOf(chat({}, "x".repeat(5_000)), 6_000n, short)).toBeLessThan(3_000n);
    expect(limitOf(chat({}, "x".repeat(9_000)), 6_000n, short)).toBe(512n);
  });
});
