// Input pictures from the request to the answer, with the simulator as OpenAI: the same order in every form, priced
// with its pictures, and no hold for an unusable one.
import { type RunningSimulator, startSimulator } from "@gr/simulator";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import sharp from "sharp";
import { drawPicture } from "./test/pictures.ts";
import { type ScriptedServer, startScriptedServer } from "./test/scripted-server.ts";
import { answerOf, type MediaUnderTest, movesOf, PATIENT, startMedia } from "./test/start-media.ts";

const EDITS = "/v1/compat/images/edits";
const asked = { model: "sandbox/image-edit", prompt: "a fox", output_format: "png" };

let simulator: RunningSimulator;
let media: MediaUnderTest;
let photo: Buffer;
let mask: Buffer;
beforeAll(async () => {
  simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
  photo = await sharp({ create: { width: 40, height: 30, channels: 3, background: "#f00" } })
    .withExif({ IFD0: { Copyright: "canary-1234" } })
    .jpeg()
    .toBuffer();
  const clear = { width: 40, height: 30, channels: 4, background: "#0000" } as const;
  mask = await sharp({ create: clear }).png().toBuffer();
});
afterAll(() => simulator.close());
beforeEach(async () => {
  media = await startMedia({ upstreamUrl: simulator.url, env: PATIENT });
});
afterEach(() => media.stop());

const uriOf = (bytes: Buffer) => `data:image/x;base64,${bytes.toString("base64")}`;
const blobOf = (bytes: Buffer) => new Blob([new Uint8Array(bytes)]);

async function post(
  fields: readonly (readonly [string, string | Blob])[],
  headers: Record<string, string> = {},
) {
  const form = new FormData();
  for (const [name, value] of [...Object.entries(asked), ...fields]) form.append(name, value);
  const response = await fetch(media.url() + EDITS, { method: "POST", body: form, headers });
  return answerOf(response);
}

test.each<[string, () => Promise<{ status: number; body: { cost: number; data: { url: string }[] } }>]>([
  [
    "files",
    () =>
      post([
        ["image[]", blobOf(photo)],
        ["image[]", blobOf(photo)],
        ["mask", blobOf(mask)],
      ]),
  ],
  [
    "texts of a form",
    () =>
      post([
        ["image", uriOf(photo)],
        ["image", uriOf(photo)],
        ["mask[]", uriOf(mask)],
      ]),
  ],
  [
    "a mix",
    () =>
      post([
        ["image", blobOf(photo)],
        ["image[]", uriOf(photo)],
        ["mask", blobOf(mask)],
      ]),
  ],
  ["JSON", () => media.generate({ ...asked, image: [uriOf(photo), uriOf(photo)], mask: uriOf(mask) }, EDITS)],
  [
    "JSON of OpenAI",
    () => {
      const images = [{ image_url: uriOf(photo) }, { image_url: uriOf(photo) }];
      return media.generate({ ...asked, images, mask: { image_url: uriOf(mask) } }, EDITS);
    },
  ],
])("two images and a mask as %s are shown in what is made, and charged by the image", async (_form, send) => {
  const { status, body } = await send();
  expect([status, body.cost]).toEqual([200, 0.014]);
  const [name = ""] = await media.outputs();
  const hosted = await fetch(`${media.url()}/media/${name}`);
  const { data, info } = await sharp(Buffer.from(await hosted.arrayBuffer()))
    .raw()
    .toBuffer({ resolveWithObject: true });
  const cell = 1024 / 10.4;
  const at = (Math.round(cell * 0.75) * info.width + Math.round(cell * 1.85)) * info.channels;
  expect(data[at]).toBeGreaterThan(240);
  expect([data[at + 1], data[at + 2]].every((value) => (value ?? 255) < 15)).toBe(true);
  expect(await media.row()).toMatchObject({
    request: { input_pixels: [1_200, 1_200] },
    charge_credits: "140",
  });
});

test("what one request has made, the next begins with, by its URL", async () => {
  const first = await media.generate({ ...asked, model: "sandbox/image" });
  const { status, body } = await media.generate({ ...asked, image: first.body.data[0].url }, EDITS);
  expect([status, body.cost]).toEqual([200, 0.012]);
});

describe("the same request under an Idempotency-Key", () => {
  test("is the same as files, as data URIs and under either name, and another one for other pictures", async () => {
    const key = { "idempotency-key": "k-1" };
    const first = await post(
      [
        ["image[]", blobOf(photo)],
        ["mask", blobOf(mask)],
      ],
      key,
    );
    const again = await media.generate(
      { ...asked, image: [uriOf(photo)], "mask[]": uriOf(mask) },
      EDITS,
      key,
    );
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(again.body).toEqual(first.body);
    const other = await media.generate({ ...asked, image: uriOf(mask), mask: uriOf(mask) }, EDITS, key);
    expect([other.status, other.body.error.code]).toEqual([422, "idempotency_mismatch"]);
    expect(movesOf(media.billing).filter((move) => move === "place")).toHaveLength(1);
  });
});

describe("pictures that cannot be used", () => {
  let internal: ScriptedServer;
  beforeEach(async () => {
    internal = await startScriptedServer();
    internal.play({ status: 200, body: await drawPicture() });
  });
  afterEach(() => internal.close());

  test("are refused by name, before anything is held; what is named elsewhere is not fetched from here", async () => {
    const url = `${internal.url}/a.png`;
    const many = Array.from({ length: 17 }, () => url);
    const cases: [object, string, string][] = [
      [{ image: url }, "url_not_allowed", "image: "],
      // A configured host is not allowed in a client's URL either.
      [{ image: `${simulator.url}/bill` }, "url_not_allowed", "image: "],
      [{ image: [uriOf(photo), uriOf(Buffer.from("<svg/>"))] }, "invalid_image", "image[1]: "],
      [{ image: uriOf(photo), mask: uriOf(photo.subarray(0, 300)) }, "invalid_image", "mask: "],
      [{ image: many }, "invalid_value", "image: at most 16"],
      [{ image: uriOf(photo), mask: [uriOf(mask), uriOf(mask)] }, "invalid_value", "one mask"],
      [{}, "invalid_value", "needs an input image"],
      [{ image: url, model: "sandbox/image" }, "invalid_value", "no input images"],
      [{ image: uriOf(photo), stream: "yes" }, "invalid_value", "stream"],
    ];
    for (const [fields, code, words] of cases) {
      const { status, body } = await media.generate({ ...asked, ...fields }, EDITS);
      expect([status, body.error.code]).toEqual([400, code]);
      expect(body.error.message).toContain(words);
    }
    expect(internal.requests).toEqual([]);
    expect(movesOf(media.billing)).toEqual([]);
    expect(await media.row()).toBeUndefined();
  });

  test("at the provider are refused in its words, and cost nothing", async () => {
    const { status, body } = await media.generate(
      { ...asked, image: uriOf(photo), mask: uriOf(await drawPicture()) },
      EDITS,
    );
    expect([status, body.error.code]).toEqual([400, "rejected_by_provider"]);
    expect(body.error.message).toContain("mask size does not match");
    expect(media.billing.charged).toBe(0n);
  });
});
