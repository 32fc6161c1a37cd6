// OpenAI's image edits: the form in its wire format, pictures that show their inputs, the refusals, the prices.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import OpenAI, { toFile } from "openai";
import sharp from "sharp";
import { type RunningSimulator, startSimulator } from "../../server.ts";
import { TestClient } from "../../test-client.ts";

/** The smallest picture that the rules allow, so that the tests are quick. */
const SMALL = "816x816";

let simulator: RunningSimulator;
let client: TestClient;
beforeAll(async () => {
  simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
  client = new TestClient(simulator.url);
});
afterAll(() => simulator.close());

type Colour = "red" | "blue";
const squareOf = (format: "png" | "jpeg" | "gif", colour: Colour = "red", side = 64, alpha = 1) => {
  const [r, b] = colour === "red" ? [255, 0] : [0, 255];
  return sharp({ create: { width: side, height: side, channels: 4, background: { r, g: 0, b, alpha } } })
    .toFormat(format)
    .toBuffer();
};
const fileOf = (bytes: Buffer, type = "image/png") => new File([new Uint8Array(bytes)], "a.png", { type });

type Fields = readonly (readonly [string, string | File])[];

async function edit(fields: Fields, id = "edit") {
  const form = new FormData();
  for (const [name, value] of fields) form.append(name, value);
  const response = await fetch(`${simulator.url}/openai/v1/images/edits`, {
    method: "POST",
    headers: { authorization: "Bearer test", "x-request-id": id },
    body: form,
  });
  return { status: response.status, body: JSON.parse(await response.text()) };
}

const asked: Fields = [
  ["model", "sandbox/image-edit"],
  ["prompt", "a lighthouse"],
  ["size", SMALL],
];

describe("an edit", () => {
  test("shows the pictures that it started from, in their order", async () => {
    const inputs: Fields = [
      ["image[]", fileOf(await squareOf("png", "red"))],
      ["image[]", fileOf(await squareOf("jpeg", "blue"), "image/jpeg")],
    ];
    const { status, body } = await edit([...asked, ...inputs, ["n", "2"]]);
    expect(status).toBe(200);
    expect(body.data).toHaveLength(2);
    const { data, info } = await sharp(Buffer.from(body.data[1].b64_json, "base64"))
      .raw()
      .toBuffer({ resolveWithObject: true });
    const cell = 816 / 10.4;
    const pixel = (column: number) => {
      const [x, y] = [Math.round(cell * (0.75 + 1.1 * column)), Math.round(cell * 0.75)];
      return [...data.subarray((y * info.width + x) * info.channels)].slice(0, 3);
    };
    expect(pixel(0)).toEqual([255, 0, 0]);
    expect(pixel(1)).toEqual([0, 0, 254]);
  });

  test("is understood by the openai package, files and mask, and billed for its text, its inputs and its outputs", async () => {
    const openai = new OpenAI({ baseURL: `${simulator.url}/openai/v1`, apiKey: "test", maxRetries: 0 });
    const png = { type: "image/png" };
    const answer = await openai.images.edit(
      {
        model: "gpt-image-2",
        prompt: "twelve bytes",
        size: SMALL as "auto",
        quality: "low",
        n: 2,
        image: [
          await toFile(await squareOf("png", "red", 100), "a.png", png),
          await toFile(await squareOf("png", "red", 4_000), "b.png", png),
        ],
        mask: await toFile(await squareOf("png", "red", 100, 0), "mask.png", png),
      },
      { headers: { "x-request-id": "priced" } },
    );
    const { usage } = answer;
    // 4 x 4 patches of 32 pixels, and the largest number that is counted; once for each of the two pictures.
    expect(usage?.input_tokens_details).toEqual({ text_tokens: 2 * 3, image_tokens: 2 * (16 + 1_536) });
    expect(await client.billed("priced")).toBe(
      5_000_000n * 6n + 8_000_000n * 3_104n + 30_000_000n * BigInt(usage?.output_tokens ?? 0),
    );
  });

  test("of the sandbox costs 0.01 USD an image and 0.002 for each that it starts from", async () => {
    const image = fileOf(await squareOf("png"));
    await edit([...asked, ["image", image], ["image[]", image], ["n", "3"]], "sandbox");
    expect(await client.billed("sandbox")).toBe(3n * 14_000_000_000n);
  });
});

describe("an edit is refused", () => {
  test.each<[string, (image: File) => Promise<Fields>, string, string]>([
    ["without a picture", async () => [], "image", "missing_required_parameter"],
    [
      "with 17 pictures",
      async (image) => Array.from({ length: 17 }, () => ["image[]", image]),
      "image",
      "array_above_max_length",
    ],
    [
      "with a text in the place of a picture",
      async () => [["image", "https://x.example/a.png"]],
      "image",
      "invalid_type",
    ],
    [
      "with a GIF",
      async () => [["image", fileOf(await squareOf("gif"), "image/gif")]],
      "image",
      "unsupported_file_mimetype",
    ],
    [
      "with a GIF that says it is a PNG",
      async () => [["image", fileOf(await squareOf("gif"))]],
      "image",
      "invalid_image_file",
    ],
    [
      "with a mask without transparency",
      async (image) => [
        ["image", image],
        ["mask", fileOf(await squareOf("jpeg"))],
      ],
      "mask",
      "invalid_mask_image_format",
    ],
    [
      "with a mask of another size",
      async (image) => [
        ["image", image],
        ["mask", fileOf(await squareOf("png", "red", 32))],
      ],
      "mask",
      "invalid_mask_image_format",
    ],
    [
      "with a response_format",
      async (image) => [
        ["image", image],
        ["response_format", "url"],
      ],
      "response_format",
      "unknown_parameter",
    ],
    [
      "of a model that takes no pictures",
      async (image) => [
        ["model", "sandbox/image"],
        ["image", image],
      ],
      "model",
      "invalid_value",
    ],
  ])("%s", async (_which, more, param, code) => {
    const fields = new Map(asked);
    const others = await more(fileOf(await squareOf("png")));
    const own = others.filter(([name]) => fields.has(name)).map(([name]) => name);
    const { status, body } = await edit([...asked.filter(([name]) => !own.includes(name)), ...others]);
    expect([status, body.error.param, body.error.code]).toEqual([400, param, code]);
  });

  test("as JSON, and as a form that is none", async () => {
    const json = await client.post("/openai/v1/images/edits", { model: "sandbox/image-edit", prompt: "a" });
    const broken = await client.post("/openai/v1/images/edits", "no form", {
      "content-type": "multipart/form-data; boundary=x",
    });
    for (const { status, text } of [json, broken]) {
      expect([status, JSON.parse(text).error.type]).toEqual([400, "invalid_request_error"]);
    }
  });
});
