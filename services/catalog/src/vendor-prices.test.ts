// Prices re-derived by hand from vendors' publications: each row quotes the rule, in numbers, with its source and day.
// No code here reads the seed's amounts or calls the price function for an expected value.
import { priceOfImageRequest, priceOfTokens, priceOfVideoRequest } from "@gr/models";
import { type Model, ModelKind, type Price } from "@gr/proto/catalog";
import { beforeAll, expect, test } from "@jest/globals";
import { loadSeed, SEED_DIRECTORY } from "./files/seed.ts";

interface Asked {
  readonly images?: number;
  readonly size?: string;
  readonly quality?: string;
  readonly seconds?: number;
  readonly inputImages?: number;
  readonly audio?: boolean;
}

interface Row {
  readonly model: string;
  readonly asked: Asked;
  /** Rule in the vendor's own words. */
  readonly rule: string;
  readonly expected: bigint;
}

const SKILLS = "https://github.com/calesthio/generative-media-skills/blob/8c85352/skills/providers";
const PORTKEY = "https://github.com/Portkey-AI/models/blob/f654307e/pricing";
const PUTER = "https://github.com/HeyPuter/puter/blob/8307e8c9f/src/backend/drivers";
const BFL = "https://github.com/black-forest-labs/skills/blob/d0793c8/skills/bfl-api/SKILL.md";

/** USD with up to 12 decimals, in 1e-12 USD, by moving the point. */
function usd(text: string): bigint {
  const [whole = "", fraction = ""] = text.split(".");
  return BigInt(whole + fraction.padEnd(12, "0"));
}

/** Returns the exact price of tokens at a price per million. Throws for a price with a remainder. */
function tokens(count: bigint, usdPerMillion: string): bigint {
  const product = count * usd(usdPerMillion);
  if (product % 1_000_000n !== 0n) throw new Error("not exact");
  return product / 1_000_000n;
}

/** Video tokens as ModelArk counts them: width x height x frames / 1024. */
function videoTokens(width: bigint, height: bigint, seconds: bigint): bigint {
  const dots = width * height * 24n * seconds;
  if (dots % 1_024n !== 0n) throw new Error("not whole");
  return dots / 1_024n;
}

/** Sources and their days; the rows below each quote one of them. */
const rows: readonly (readonly [source: string, day: string, Row[]])[] = [
  [
    `${PORTKEY}/openai.json`,
    "2026-08-21",
    [
      {
        model: "openai/gpt-image-2",
        asked: { quality: "high", size: "1024x1536", images: 4 },
        rule: "an image of 1024x1536 in high quality: about 0.165, which is 5,488 tokens at 30 a million",
        expected: tokens(4n * 5_488n, "30"),
      },
      {
        model: "openai/gpt-image-2",
        asked: { quality: "low", size: "1024x1024" },
        rule: "an image of 1024x1024 in low quality: about 0.006, which is 196 tokens at 30 a million",
        expected: tokens(196n, "30"),
      },
      {
        model: "openai/gpt-image-1.5",
        asked: { quality: "high", size: "1536x1024", images: 3 },
        rule: "high: 0.133 for 1024x1024, 0.2 for 1536x1024 and 1024x1536",
        expected: usd("0.2") * 3n,
      },
    ],
  ],
  [
    "https://community.openai.com/t/openai-must-document-the-input-image-pricing-of-gpt-image-2/1382940",
    "2026-06-25",
    [
      {
        model: "openai/gpt-image-2",
        asked: { quality: "medium", size: "1024x1024", images: 2, inputImages: 3 },
        rule: "1,756 tokens an image at 30 a million; an input image at most 1,536 tokens at 8 a million, with each image made",
        expected: 2n * (tokens(1_756n, "30") + 3n * tokens(1_536n, "8")),
      },
    ],
  ],
  [
    `${PUTER}/ai-image/providers/openai/models.ts`,
    "2026-08-21",
    [
      {
        model: "openai/gpt-image-1-mini",
        asked: { quality: "medium", size: "1536x1024", images: 10 },
        rule: "medium: 1.1 cents for 1024x1024, 1.5 cents for the oblong sizes",
        expected: usd("0.015") * 10n,
      },
    ],
  ],
  [
    `${PUTER}/ai-image/providers/together/models.ts`,
    "2026-08-21",
    [
      {
        model: "google/gemini-3-pro-image",
        asked: { size: "5504x3072" },
        rule: "1K and 2K 13.4 cents, 4K 24 cents; 16:9 in 4K is 5504x3072",
        expected: usd("0.24"),
      },
      {
        model: "google/gemini-3-pro-image",
        asked: { size: "2752x1536", images: 2 },
        rule: "1,120 tokens in 1K and 2K at 120 a million; 16:9 in 2K is 2752x1536",
        expected: tokens(2n * 1_120n, "120"),
      },
      {
        model: "google/gemini-3.1-flash-image",
        asked: { size: "1696x2528", inputImages: 2 },
        rule: "1,680 tokens in 2K at 60 a million, an input image at most 1,120 at 0.5; 2:3 in 2K is 1696x2528",
        expected: tokens(1_680n, "60") + 2n * tokens(1_120n, "0.5"),
      },
    ],
  ],
  [
    `${PUTER}/ai-image/providers/gemini/models.ts`,
    "2026-08-21",
    [
      {
        model: "google/gemini-3.1-flash-lite-image",
        asked: { size: "1376x768", images: 5 },
        rule: "1,120 tokens an image at 30 a million",
        expected: 5n * tokens(1_120n, "30"),
      },
    ],
  ],
  [
    `${PUTER}/ai-image/providers/xai/models.ts`,
    "2026-08-21",
    [
      {
        model: "xai/grok-imagine-image",
        asked: { size: "2048x2048", images: 3, inputImages: 1 },
        rule: "edit = inputs x 0.002 + n x 0.02, in 1k and in 2k",
        expected: usd("0.002") + 3n * usd("0.02"),
      },
    ],
  ],
  [
    `${SKILLS}/video-generation/xai-grok-imagine-video/SKILL.md`,
    "2026-07-14",
    [
      {
        model: "xai/grok-imagine-video",
        asked: { size: "1280x720", seconds: 15, inputImages: 2 },
        rule: "480p 0.05, 720p 0.07 a second, 0.002 an input image",
        expected: 15n * usd("0.07") + 2n * usd("0.002"),
      },
      {
        model: "xai/grok-imagine-video-1.5",
        asked: { size: "1080x1920", seconds: 6, inputImages: 1 },
        rule: "480p 0.08, 720p 0.14, 1080p 0.25 a second, 0.01 an input image",
        expected: 6n * usd("0.25") + usd("0.01"),
      },
    ],
  ],
  [
    BFL,
    "2026-02-03",
    [
      {
        model: "black-forest-labs/flux-2-pro",
        asked: { size: "1024x1024" },
        rule: "first MP 3 cents, each further MP 1.5 cents; 1024x1024 is 1 MP",
        expected: usd("0.03"),
      },
      {
        model: "black-forest-labs/flux-2-pro",
        asked: { size: "1920x1088", images: 2 },
        rule: "first MP 3 cents, each further MP 1.5 cents; 1920x1088 is 2 MP",
        expected: 2n * (usd("0.03") + usd("0.015")),
      },
      {
        model: "black-forest-labs/flux-2-max",
        asked: { size: "2000x2000" },
        rule: "first MP 7 cents, each further MP 3 cents; 2000x2000 is begun 4 MP",
        expected: usd("0.07") + 3n * usd("0.03"),
      },
      {
        model: "black-forest-labs/flux-2-klein-9b",
        asked: { size: "2048x1024" },
        rule: "first MP 1.5 cents, each further MP 0.2 cents; 2048x1024 is 2 MP",
        expected: usd("0.015") + usd("0.002"),
      },
      {
        model: "black-forest-labs/flux-kontext-max",
        asked: { size: "1280x720", inputImages: 1 },
        rule: "0.08 an image",
        expected: usd("0.08"),
      },
      {
        model: "black-forest-labs/flux-pro-1.1-ultra",
        asked: { size: "1680x720", images: 2 },
        rule: "0.06 an image",
        expected: usd("0.06") * 2n,
      },
    ],
  ],
  [
    `${PUTER}/ai-image/providers/replicate/models.ts and .../together/models.ts`,
    "2026-08-21",
    [
      {
        model: "black-forest-labs/flux-2-dev",
        asked: { size: "1024x1024", images: 2 },
        rule: "1.4 cents a megapixel at Replicate, where 1024x1024 is one; 1.54 cents an image at Together",
        expected: usd("0.0154") * 2n,
      },
    ],
  ],
  [
    `${PORTKEY}/fal-ai.json`,
    "2026-08-21",
    [
      {
        model: "black-forest-labs/flux-1-schnell",
        asked: { size: "1024x1024" },
        rule: "0.3 cents an image, whatever its size",
        expected: usd("0.003"),
      },
    ],
  ],
  [
    `${PUTER}/ai-image/providers/byteplus/models.ts`,
    "2026-08-21",
    [
      {
        model: "bytedance/seedream-5.0-pro",
        asked: { size: "2048x1152", images: 2, inputImages: 3 },
        rule: "4.5 cents up to 2.61 MP, 9 above; 0.3 cents an input image from the second on",
        expected: 2n * (usd("0.045") + 2n * usd("0.003")),
      },
      {
        model: "bytedance/seedream-5.0-pro",
        asked: { size: "2816x1584" },
        rule: "4.5 cents up to 2.61 MP, 9 above; 2816x1584 is 4.46 MP",
        expected: usd("0.09"),
      },
      {
        model: "bytedance/seedream-4.5",
        asked: { size: "4096x4096", images: 6, inputImages: 10 },
        rule: "4 cents an image, input images free",
        expected: usd("0.04") * 6n,
      },
    ],
  ],
  [
    `${PUTER}/ai-video/providers/byteplus/models.ts`,
    "2026-08-21",
    [
      {
        model: "bytedance/seedance-2.0",
        asked: { size: "1280x720", seconds: 5 },
        rule: "480p and 720p 7.0, 1080p 7.7, 4k 4.0 a million video tokens, 24 frames a second",
        expected: tokens(videoTokens(1_280n, 720n, 5n), "7.0"),
      },
      {
        model: "bytedance/seedance-2.0",
        asked: { size: "2160x3840", seconds: 15 },
        rule: "480p and 720p 7.0, 1080p 7.7, 4k 4.0 a million video tokens, 24 frames a second",
        expected: tokens(videoTokens(2_160n, 3_840n, 15n), "4.0"),
      },
      {
        model: "bytedance/seedance-1-pro",
        asked: { size: "1920x1088", seconds: 12 },
        rule: "2.5 a million video tokens; 16:9 in 1080p is 1920x1088",
        expected: tokens(videoTokens(1_920n, 1_088n, 12n), "2.5"),
      },
    ],
  ],
  [
    `${SKILLS}/video-generation/kling-video/SKILL.md`,
    "2026-07-14",
    [
      {
        model: "kling/kling-v3.0",
        asked: { size: "1280x720", seconds: 15 },
        rule: "720p: 0.084 a second silent, 0.126 with native audio",
        expected: 15n * usd("0.084"),
      },
      {
        model: "kling/kling-v3.0",
        asked: { size: "1080x1920", seconds: 5, audio: true },
        rule: "1080p: 0.112 a second silent, 0.168 with native audio",
        expected: 5n * usd("0.168"),
      },
    ],
  ],
  [
    `${SKILLS}/video-generation/minimax-hailuo-video/SKILL.md`,
    "2026-07-14",
    [
      {
        model: "minimax/hailuo-2.3",
        asked: { size: "1366x768", seconds: 10 },
        rule: "768P: 0.28 for 6 seconds, 0.56 for 10",
        expected: usd("0.56"),
      },
      {
        model: "minimax/hailuo-2.3-fast",
        asked: { size: "1366x768", seconds: 6, inputImages: 1 },
        rule: "768P: 0.19 for 6 seconds, 0.32 for 10",
        expected: usd("0.19"),
      },
    ],
  ],
  [
    `${SKILLS}/video-generation/luma-ray-video/SKILL.md`,
    "2026-07-14",
    [
      {
        model: "luma/ray-3.2",
        asked: { size: "1920x1080", seconds: 10 },
        rule: "5 s: 0.15 / 0.3 / 1.2, 10 s: 0.45 / 0.9 / 3.6 for 540p / 720p / 1080p",
        expected: usd("3.6"),
      },
    ],
  ],
  [
    "https://bfl.ai/pricing",
    "2026-10-08",
    [
      {
        model: "black-forest-labs/flux-3-video",
        asked: { size: "1080x1920", seconds: 20, audio: true, inputImages: 1 },
        rule: "HD 0.17 a second, FHD 0.29, from text or pictures",
        expected: 20n * usd("0.29"),
      },
    ],
  ],
  [
    "https://fal.ai/models/blackforestlabs/flux-3-max/text-to-video/llms.txt",
    "2026-11-07",
    [
      {
        model: "black-forest-labs/flux-3-max",
        asked: { size: "1920x1080", seconds: 7, audio: true },
        rule: "0.17 a second of 720p, 0.29 of 1080p, with or without sound",
        expected: 7n * usd("0.29"),
      },
    ],
  ],
  [
    `${SKILLS}/video-generation/moonvalley-marey/SKILL.md`,
    "2026-07-14",
    [
      {
        model: "moonvalley/marey",
        asked: { size: "1920x1080", seconds: 5 },
        rule: "1.5 for 5 seconds, 3 for 10",
        expected: usd("1.5"),
      },
    ],
  ],
  [
    `${SKILLS}/video-generation/runway-video/SKILL.md`,
    "2026-07-14",
    [
      {
        model: "runway/gen4.5",
        asked: { size: "720x1280", seconds: 10 },
        rule: "12 credits a second, a credit is 0.01",
        expected: 10n * 12n * usd("0.01"),
      },
    ],
  ],
  [
    `${SKILLS}/image-generation/runway-image/SKILL.md`,
    "2026-07-14",
    [
      {
        model: "runway/gen4_image",
        asked: { size: "720x960", images: 2 },
        rule: "5 credits in 720p, 8 in 1080p, a credit is 0.01",
        expected: 2n * 5n * usd("0.01"),
      },
    ],
  ],
  [
    `${SKILLS}/video-generation/vidu-video/SKILL.md`,
    "2026-07-14",
    [
      {
        model: "vidu/vidu-q3-pro",
        asked: { size: "960x540", seconds: 16 },
        rule: "9 / 20 / 24 credits a second for 540p / 720p / 1080p, a credit is 0.005",
        expected: 16n * 9n * usd("0.005"),
      },
    ],
  ],
  [
    `${SKILLS}/video-generation/ltx-2-video/SKILL.md`,
    "2026-07-14",
    [
      {
        model: "lightricks/ltx-2.3-pro",
        asked: { size: "2560x1440", seconds: 8 },
        rule: "1080p 0.08, 1440p 0.16, 4k 0.32 a second",
        expected: 8n * usd("0.16"),
      },
      {
        model: "lightricks/ltx-2.3-fast",
        asked: { size: "3840x2160", seconds: 10 },
        rule: "1080p 0.06, 1440p 0.12, 4k 0.24 a second",
        expected: 10n * usd("0.24"),
      },
    ],
  ],
  [
    `${SKILLS}/video-generation/alibaba-wan-video/SKILL.md`,
    "2026-07-14",
    [
      {
        model: "wan/wan-2.7",
        asked: { size: "1080x1920", seconds: 15 },
        rule: "720P 0.1, 1080P 0.15 a second, Singapore",
        expected: 15n * usd("0.15"),
      },
    ],
  ],
  [
    `${SKILLS}/image-generation/ideogram-image/SKILL.md`,
    "2026-07-14",
    [
      {
        model: "ideogram/ideogram-v4",
        asked: { quality: "high", size: "2048x2048", images: 8 },
        rule: "TURBO 0.03, DEFAULT 0.06, QUALITY 0.10 an image",
        expected: 8n * usd("0.10"),
      },
    ],
  ],
  [
    `${SKILLS}/image-generation/recraft-image-design/SKILL.md`,
    "2026-07-14",
    [
      {
        model: "recraft/recraftv4_1_pro",
        asked: { size: "1024x1024", images: 2 },
        rule: "210 units an image, 1,000 units are 1 USD",
        expected: 2n * 210n * usd("0.001"),
      },
    ],
  ],
  [
    `${SKILLS}/image-generation/stability-ai-image/SKILL.md`,
    "2026-07-14",
    [
      {
        model: "stability/sd3.5-large",
        asked: { size: "1024x1024", images: 3 },
        rule: "6.5 credits an image, a credit is 0.01",
        expected: (3n * 65n * usd("0.01")) / 10n,
      },
    ],
  ],
  [
    `${PUTER}/ai-image/providers/replicate/models.ts`,
    "2026-08-21",
    [
      {
        model: "leonardoai/phoenix-1.0",
        asked: { quality: "high" },
        rule: "fast 1.8, quality 3.75, ultra 7.5 cents an image",
        expected: usd("0.075"),
      },
    ],
  ],
];

let seed: ReadonlyMap<string, Model>;
beforeAll(async () => {
  seed = new Map((await loadSeed(SEED_DIRECTORY, { sandbox: true })).map((model) => [model.id, model]));
});

function priced(model: Model | undefined, asked: Asked): bigint | undefined {
  if (model?.price === undefined) throw new Error("not in the seed");
  const meters = { ...asked, size: asked.size ?? "auto", quality: asked.quality ?? "auto" };
  const { rule } = model.price;
  // The margins of a bound are ours, so no vendor's page has them.
  const price: Price =
    rule.case === "metered"
      ? {
          ...model.price,
          rule: { ...rule, value: { ...rule.value, otherInputTokens: 0n, otherOutputTokens: 0n } },
        }
      : model.price;
  return model.kind === ModelKind.VIDEO
    ? priceOfVideoRequest(price, { ...meters, seconds: asked.seconds ?? 0 })
    : priceOfImageRequest(price, { ...meters, images: asked.images ?? 1 });
}

const cases = rows.flatMap(([source, day, of]) => of.map((row) => ({ ...row, source, day })));

test.each(cases)("$model, $asked: $rule ($source, $day)", ({ model, asked, expected }) => {
  expect(priced(seed.get(model), asked)).toBe(expected);
});

test("these are at least 25 models, of every kind of price that the seed has", () => {
  const models = new Set(cases.map(({ model }) => model));
  expect(models.size).toBeGreaterThanOrEqual(25);
  const kinds = (ids: Iterable<string>) => new Set([...ids].map((id) => seed.get(id)?.price?.rule.case));
  expect(kinds(models)).toEqual(kinds(seed.keys()));
});

/** https://github.com/HeyPuter/puter/blob/8307e8c9f/src/backend/drivers/ai-image, 2026-08-21: USD a million tokens. */
test.each([
  {
    model: "openai/gpt-image-2",
    rule: "text in 5, image in 8, image out 30",
    used: { inputTokens: 50, imageInputTokens: 40, outputTokens: 7_024 },
    expected: tokens(10n, "5") + tokens(40n, "8") + tokens(7_024n, "30"),
  },
  {
    model: "openai/gpt-image-1-mini",
    rule: "text in 2, image in 2.5, image out 8",
    used: { inputTokens: 1_000, imageInputTokens: 1, outputTokens: 3 },
    expected: tokens(999n, "2") + tokens(1n, "2.5") + tokens(3n, "8"),
  },
  {
    model: "google/gemini-3-pro-image",
    rule: "in 2, text and thinking out 12, image out 120; an image in 2K is 1,120 tokens",
    used: { inputTokens: 300, outputTokens: 1_400, reasoningTokens: 200, imageOutputTokens: 1_120 },
    expected: tokens(300n, "2") + tokens(280n, "12") + tokens(1_120n, "120"),
  },
])("what $model costs us by the token: $rule", ({ model, used, expected }) => {
  const rule = seed.get(model)?.routes[0]?.cost?.rule;
  if (rule?.case !== "token") throw new Error("no price per token");
  expect(priceOfTokens(rule.value, used)).toBe(expected);
});
