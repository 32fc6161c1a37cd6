// Pictures and money: nothing is decoded for a quote or for a client without credit. A picture that turns out unusable
// during the hold costs nothing and is removed. Hostile texts are refused in every form of a request.
import { create } from "@bufbuild/protobuf";
import { OutcomeCode } from "@gr/proto/billing";
import { PriceSchema } from "@gr/proto/catalog";
import { type RunningSimulator, startSimulator } from "@gr/simulator";
import { until } from "@gr/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { caller, waiting } from "./test/edge.ts";
import { fixedModels } from "./test/fixed-catalog.ts";
import { drawPicture } from "./test/pictures.ts";
import { answerOf, type MediaUnderTest, movesOf, startMedia, UNDISTURBED } from "./test/start-media.ts";

const EDITS = "/v1/compat/images/edits";
const QUOTE = "/v1/quote/images/edits";
const asked = { model: "sandbox/image-edit", prompt: "a fox" };

let simulator: RunningSimulator;
let media: MediaUnderTest;
let photo: string;
/** A PNG that declares 49 megapixels, and has none: the decoder refuses it. */
let hollow: string;
/** Counts at the start of the test. */
let before: { moves: number; rows: number };
beforeAll(async () => {
  simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
  const bytes = await drawPicture("png");
  photo = uriOf(bytes);
  const head = Buffer.from(bytes.subarray(0, 33));
  head.writeUInt32BE(7_000, 16);
  head.writeUInt32BE(7_000, 20);
  hollow = uriOf(head);
  media = await startMedia({ upstreamUrl: simulator.url, env: UNDISTURBED });
});
afterAll(async () => {
  await media?.stop();
  await simulator?.close();
});
beforeEach(async () => {
  before = { moves: movesOf(media.billing).length, rows: await countRows() };
});

const uriOf = (bytes: Buffer) => `data:image/png;base64,${bytes.toString("base64")}`;

const moves = () => movesOf(media.billing).slice(before.moves);

async function countRows(): Promise<number> {
  const { rows } = await media.db.query("SELECT count(*)::int AS rows FROM generation");
  return rows[0].rows;
}

function postForm(path: string, fields: Readonly<Record<string, string>>, headers = {}) {
  const form = new FormData();
  for (const [name, value] of Object.entries({ ...asked, ...fields })) form.append(name, value);
  return fetch(media.url() + path, { method: "POST", body: form, headers }).then(answerOf);
}

describe("a quote", () => {
  test("of sixteen pictures of 49 megapixels looks at headers only", async () => {
    const quoted = await media.generate({ ...asked, image: Array(16).fill(hollow) }, QUOTE);
    expect([quoted.status, quoted.body]).toEqual([200, expect.objectContaining({ cost: 0.042 })]);
    expect(moves()).toEqual([]);
  });

  test("fetches no URL for a price that goes by no pixels, and refuses one that would not be fetched", async () => {
    const quoted = await media.generate({ ...asked, image: "https://pictures.example/a.png" }, QUOTE);
    expect([quoted.status, quoted.body]).toEqual([200, expect.objectContaining({ cost: 0.012 })]);
    const refused = await media.generate({ ...asked, image: "http://127.0.0.1/a.png" }, QUOTE);
    expect([refused.status, refused.body.error.code]).toEqual([400, "url_not_allowed"]);
  });
});

describe("a picture that is named by URL", () => {
  /** A picture of 1024x1024 that is hosted here. */
  const hosted = async (): Promise<string> => {
    const response = await media.generate({ model: "sandbox/image", prompt: "a fox" });
    return response.body.data[0].url;
  };
  const kept = async () => {
    const { rows } = await media.db.query("SELECT request FROM generation ORDER BY created_at DESC LIMIT 1");
    return rows[0].request.input_pixels;
  };

  test("is in the log with its pixels, whose number the price did not need", async () => {
    const { status, body } = await media.generate({ ...asked, image: [await hosted(), photo] }, EDITS);
    expect([status, body.cost, await kept()]).toEqual([200, 0.014, [1024 * 1024, 16 * 16]]);
  });

  describe("where the price goes by its pixels", () => {
    const inputs = { unitPixels: 524_288n, maxPixels: 0n, once: true };
    const rule = {
      case: "image" as const,
      value: { tiers: [{ picoUsd: 10_000_000_000n }], inputImagePicoUsd: 2_000_000_000n, inputs },
    };
    const models = fixedModels.map((model) =>
      model.id === asked.model ? { ...model, price: create(PriceSchema, { version: "areas", rule }) } : model,
    );
    beforeAll(() => media.restart({ models }));
    afterAll(() => media.restart());

    test("costs the same in a quote and in the request, before which it is read", async () => {
      const image = [await hosted(), photo];
      const quoted = await media.generate({ ...asked, image }, QUOTE);
      expect([quoted.status, quoted.body.cost]).toEqual([200, 0.016]);
      const { status, body } = await media.generate({ ...asked, image }, EDITS);
      expect([status, body.cost, await kept()]).toEqual([200, 0.016, [1024 * 1024, 16 * 16]]);
    });

    test("is not fetched for a client that has left, and nothing is held", async () => {
      const asking = Promise.withResolvers<void>();
      const answering = Promise.withResolvers<void>();
      media.billing.before = async ({ kind }) => {
        if (kind !== "checkSpender") return;
        asking.resolve();
        await answering.promise;
      };
      const leaves = new AbortController();
      const { signal } = leaves;
      const body = JSON.stringify({ ...asked, image: await hosted() });
      before = { ...before, moves: movesOf(media.billing).length };
      const headers = { "content-type": "application/json" };
      const left = fetch(media.url() + EDITS, { method: "POST", body, headers, signal }).catch(() => "left");
      await asking.promise;
      leaves.abort();
      expect(await left).toBe("left");
      await until(async () => waiting.size === 0, { timeoutMs: 60_000 });
      answering.resolve();
      media.billing.before = async () => undefined;
      // The process finishes its running work before it ends.
      await media.restart({ models });
      expect(moves()).toEqual([]);
    });

    test("is not fetched for a caller who can pay for nothing", async () => {
      const image = `https://media.example/media/${"ab".repeat(20)}.png`;
      media.billing.cap(caller.accountId, caller.keyId, 0n);
      const refused = await media.generate({ ...asked, image }, EDITS);
      media.billing.cap(caller.accountId, caller.keyId, 1_000_000n);
      expect([refused.status, refused.body.error.code]).toEqual([402, "spend_limit_exceeded"]);
      const missing = await media.generate({ ...asked, image }, EDITS);
      expect([missing.status, missing.body.error.code]).toEqual([400, "image_download_failed"]);
    });
  });
});

test("a caller without credit is refused before a picture is decoded", async () => {
  media.billing.placeOutcome = OutcomeCode.INSUFFICIENT_CREDITS;
  const { status, body } = await media.generate({ ...asked, image: hollow, mask: hollow }, EDITS);
  media.billing.placeOutcome = OutcomeCode.DONE;
  expect([status, body.error.code]).toEqual([402, "insufficient_credits"]);
  expect([media.billing.openHolds, await countRows()]).toEqual([[], before.rows]);
});

describe("a picture that does not decode once the money is held", () => {
  test.each([
    ["for a caller who waits", {}],
    ["for one who does not", { prefer: "respond-async" }],
  ])("is refused by name, charged nothing, and in no log: %s", async (_, headers) => {
    const { status, body } = await media.generate({ ...asked, image: [photo, hollow] }, EDITS, headers);
    expect([status, body.error.code, body.error.param]).toEqual([400, "invalid_image", "image"]);
    expect(body.error.message).toContain("image[1]: ");
    expect(moves()).toEqual(["place", "release"]);
    expect([media.billing.openHolds, await countRows()]).toEqual([[], before.rows]);
  });

  test("frees its Idempotency-Key", async () => {
    const key = { "idempotency-key": "k-1" };
    const refused = await media.generate({ ...asked, image: hollow }, EDITS, key);
    expect(refused.status).toBe(400);
    const again = await media.generate({ ...asked, image: photo }, EDITS, key);
    expect([again.status, again.body.cost]).toEqual([200, 0.012]);
  });
});

// Work in the square of these lengths lasts minutes, which the runner's time limit does not allow.
describe.each([
  ["before a digit", `${"=".repeat(900_000)}A`],
  ["alone", "=".repeat(900_000)],
])("a data URI that is padding, %s, is refused", (_, padding) => {
  const image = `data:image/png;base64,${padding}`;
  const key = { "idempotency-key": "k-2" };

  test.each<[string, () => ReturnType<MediaUnderTest["generate"]>]>([
    ["as a quote", () => media.generate({ ...asked, image }, QUOTE)],
    ["as a quote of a form", () => postForm(QUOTE, { image })],
    ["as JSON", () => media.generate({ ...asked, image }, EDITS)],
    ["as JSON of OpenAI", () => media.generate({ ...asked, images: [{ image_url: image }] }, EDITS)],
    ["as a form", () => postForm(EDITS, { image })],
    ["as a mask of a form", () => postForm(EDITS, { image: photo, mask: image })],
    ["in the fingerprint of a claim", () => media.generate({ ...asked, image }, EDITS, key)],
    ["in the fingerprint of a form's claim", () => postForm(EDITS, { image }, key)],
  ])("%s", async (_way, send) => {
    const { status, body } = await send();
    expect([status, body.error.code]).toEqual([400, "invalid_value"]);
    expect(body.error.message).toContain("the data URI is not valid base64");
    expect(moves()).toEqual([]);
  });
});
