// Costs are read to the last digit; counts that cannot be counts are no usage.
import { create } from "@bufbuild/protobuf";
import { chargeOf, formatPicoUsd } from "@gr/money";
import { TokenPriceSchema, ToolFeeSchema } from "@gr/proto/catalog";
import { UPSTREAM_KINDS } from "@gr/text-upstream";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { readWholeAnswer } from "../cost/whole-answer.ts";
import { costOf, type Usage } from "./usage.ts";

const price = create(TokenPriceSchema, {
  inputPicoUsd: 3n,
  outputPicoUsd: 5n,
  cachedInputPicoUsd: 1n,
  reasoningPicoUsd: 7n,
  requestPicoUsd: 1_000n,
});

/** Reads a usage that is written in an answer of an upstream of this kind. */
function read(usage: string, kind: "openrouter" | "openai" | "vercel" = "openrouter"): Usage | undefined {
  const body = `{"id":"x","choices":[{"message":{}}],"usage":${usage}}`;
  return readWholeAnswer("chat", UPSTREAM_KINDS[kind], Buffer.from(body))?.usage;
}

const withCost = (cost: string) =>
  `{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12,"cost":${cost}}`;
const TOKENS_COST = 10n * 3n + 2n * 5n + 1_000n;

describe("the cost", () => {
  test.each([
    ["1e-7", 100_000n],
    ["1E-7", 100_000n],
    ["0.0000001", 100_000n],
    ["0.30000000000000004", 300_000_000_001n],
    ["0.1234567890123456789", 123_456_789_013n],
    ["1.5e-5", 15_000_000n],
    ["0", 0n],
    ["-0", 0n],
    ["0.0", 0n],
    ["12", 12_000_000_000_000n],
    ['"0.00012"', 120_000_000n],
    ['"1e-7"', 100_000n],
    ['"\\u0030.5"', 500_000_000_000n],
  ])("%s is read exactly", (text, pico) => {
    expect(read(withCost(text))?.reportedCost).toBe(pico);
    expect(read(withCost(text), "vercel")?.reportedCost).toBe(pico);
  });

  test("of any amount survives being written and read", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 16n }), (pico) => {
        expect(read(withCost(formatPicoUsd(pico)))?.reportedCost).toBe(pico);
        expect(read(withCost(`"${formatPicoUsd(pico)}"`))?.reportedCost).toBe(pico);
      }),
    );
  });

  test.each(["10000.000000000001", "40500", "9000000", '"40500"'])(
    "%s counts as 10,000 USD, which closes the route",
    (text) => {
      expect(read(withCost(text))).toMatchObject({ reportedCost: 10n ** 16n, reportsCost: false });
    },
  );

  test.each(["-0.1", "null", '"free"', "{}", "true", "1e300", "10000000000", '"NaN"'])(
    "%s is not believed: the tokens are priced instead",
    (text) => {
      const usage = read(withCost(text));
      expect(usage?.reportedCost).toBeUndefined();
      expect(usage === undefined ? undefined : costOf(usage, price)).toBe(TOKENS_COST);
    },
  );

  test("of an upstream that does not bill by it is ignored", () => {
    const usage = read(withCost("99"), "openai");
    expect(usage === undefined ? undefined : costOf(usage, price)).toBe(TOKENS_COST);
  });

  test("with a key of our own is the gateway's fee and what the provider bills", () => {
    const usage = read(
      '{"prompt_tokens":1,"completion_tokens":1,"cost":0.05,"is_byok":true,"cost_details":{"upstream_inference_cost":1e-7}}',
    );
    expect(usage?.reportedCost).toBe(50_000_100_000n);
    expect(usage?.reportsCost).toBe(false);
  });
});

describe("the time of an answer", () => {
  const timed = (member: string) =>
    readWholeAnswer(
      "chat",
      UPSTREAM_KINDS.openai,
      Buffer.from(
        `{"id":"x",${member}"choices":[{"message":{}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`,
      ),
    )?.usage?.meters.createdAt;

  test("is the provider's, in both APIs", () => {
    expect(timed('"created":1795521600,')).toBe(1_795_521_600_000);
    expect(timed('"created_at":1795521600,')).toBe(1_795_521_600_000);
  });

  test.each(["", '"created":"soon",', '"created":-5e300,'])("is not known from %p", (member) => {
    expect(timed(member)).toBeUndefined();
  });
});

describe("counts", () => {
  test.each([
    "null",
    "[]",
    '"none"',
    "{}",
    '{"prompt_tokens":1}',
    '{"prompt_tokens":-1,"completion_tokens":2}',
    '{"prompt_tokens":1.5,"completion_tokens":2}',
    '{"prompt_tokens":"1","completion_tokens":2}',
    '{"prompt_tokens":1e99,"completion_tokens":2}',
    '{"prompt_tokens":1,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":-1}}',
    '{"prompt_tokens":1,"completion_tokens":2,"completion_tokens_details":{"reasoning_tokens":0.5}}',
  ])("of %s are no usage", (usage) => {
    expect(read(usage)).toBeUndefined();
  });

  test("of zero are zero, not missing", () => {
    const usage = read('{"prompt_tokens":0,"completion_tokens":0,"cost":0}');
    expect(usage === undefined ? undefined : chargeOf(costOf(usage, price))).toBe(0n);
  });

  test("of each meter are billed at its own price", () => {
    const usage = read(
      '{"prompt_tokens":100,"completion_tokens":50,"total_tokens":150,"prompt_tokens_details":{"cached_tokens":40},"completion_tokens_details":{"reasoning_tokens":20}}',
      "openai",
    );
    const cost = 60n * 3n + 40n * 1n + 30n * 5n + 20n * 7n + 1_000n;
    expect(usage === undefined ? undefined : costOf(usage, price)).toBe(cost);
  });

  test("of every other meter are billed at its own price too, and those of tools by the call", () => {
    const usage = (more: string) =>
      `{"input_tokens":1000,"output_tokens":900,"total_tokens":1900,"input_tokens_details":{"cached_tokens":10,"cache_write_tokens":20,"audio_tokens":30,"image_tokens":40},"output_tokens_details":{"reasoning_tokens":50,"audio_tokens":60,"image_tokens":70}${more}}`;
    const output =
      '[{"type":"web_search_call","status":"completed"},{"type":"web_search_call","status":"failed"},{"type":"file_search_call"},{"type":"function_call"},{"type":"message"}]';
    const rates = create(TokenPriceSchema, {
      ...price,
      cacheWritePicoUsd: 11n,
      audioInputPicoUsd: 13n,
      imageInputPicoUsd: 17n,
      audioOutputPicoUsd: 19n,
      imageOutputPicoUsd: 23n,
      toolFees: [
        { call: "function_call", picoUsd: 10n ** 9n },
        { call: "web_search_call", picoUsd: 10_000n },
      ].map((fee) => create(ToolFeeSchema, fee)),
    });
    const readIn = (more: string) => {
      const body = `{"id":"x","output":${output},"usage":${usage(more)}}`;
      const read = readWholeAnswer("responses", UPSTREAM_KINDS.openai, Buffer.from(body))?.usage;
      return read === undefined ? undefined : costOf(read, rates);
    };
    const input = 900n * 3n + 10n * 1n + 20n * 11n + 30n * 13n + 40n * 17n;
    const written = 720n * 5n + 50n * 7n + 60n * 19n + 70n * 23n;
    expect(readIn("")).toBe(input + written + 1_000n + 10_000n);
    expect(readIn(',"server_tool_use":{"web_search_requests":4}')).toBe(input + written + 1_000n + 40_000n);
    expect(readIn(',"server_tool_use":{"web_search_requests":-4}')).toBeUndefined();
  });

  test("of nothing at all are missing, unless the upstream says that it costs nothing", () => {
    const nothing = '{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}';
    expect(read(nothing, "openai")).toBeUndefined();
    expect(read(nothing, "openrouter")).toBeUndefined();
    expect(read(nothing.replace("}", ',"cost":0}'))).toBeDefined();
  });

  test("of reasoning beside the output, as the total tells, are billed too", () => {
    const usage = read(
      '{"prompt_tokens":10,"completion_tokens":5,"total_tokens":115,"completion_tokens_details":{"reasoning_tokens":100}}',
      "openai",
    );
    expect(usage === undefined ? undefined : costOf(usage, price)).toBe(
      10n * 3n + 5n * 5n + 100n * 7n + 1_000n,
    );
  });
});
