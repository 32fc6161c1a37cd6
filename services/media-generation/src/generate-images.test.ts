// Images from request to answer, with the simulator as OpenAI: the delivery, the storage, the charge, and their order.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { HoldState, OutcomeCode, ReleaseReason } from "@gr/proto/billing";
import { type RunningSimulator, startSimulator } from "@gr/simulator";
import { until } from "@gr/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import sharp from "sharp";
import { ACCOUNT_HEADER, caller, FORMAT_HEADER, KEY_HEADER, waiting } from "./test/edge.ts";
import { type MediaUnderTest, movesOf, startMedia, UNDISTURBED } from "./test/start-media.ts";

let simulator: RunningSimulator;
let media: MediaUnderTest;
beforeAll(async () => {
  simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
});
afterAll(() => simulator.close());
beforeEach(async () => {
  media = await startMedia({ upstreamUrl: simulator.url, env: UNDISTURBED });
});
afterEach(() => media.stop());

const nameOf = (url: string) => url.split("/").at(-1) ?? "";
const stored = (name: string) => readFile(join(media.dataDir, "media", name.slice(0, 2), name));
const onlyHold = () => media.billing.holds[0];
const simulatorBill = async (id: string) =>
  (await fetch(`${simulator.url}/bill/${id}`)).json() as Promise<{ pico_usd: string }>;

describe("an image by URL", () => {
  test.each([
    ["webp", "1024x1024", "webp"],
    ["jpeg", "1536x1024", "jpg"],
    ["png", "1024x1536", "png"],
  ])("downloads and decodes as %s of %s", async (format, size, extension) => {
    const { status, body } = await media.generate({
      model: "openai/gpt-image-2",
      prompt: "a fox",
      size,
      quality: "low",
      output_format: format,
    });
    expect(status).toBe(200);
    expect(body.data[0].url).toMatch(
      new RegExp(`^https://media\\.example/media/[0-9a-f]{40}\\.${extension}$`),
    );
    const response = await fetch(`${media.url()}/media/${nameOf(body.data[0].url)}`);
    expect(response.headers.get("content-type")).toBe(`image/${format}`);
    const picture = await sharp(Buffer.from(await response.arrayBuffer())).metadata();
    const [width, height] = size.split("x").map(Number);
    expect(picture).toMatchObject({ format, width, height });
  });

  test("is the default, as webp in the model's first size, on both paths", async () => {
    for (const path of ["/v1/compat/images/generations", "/v1/compat/images/edits"]) {
      const { body } = await media.generate({ model: "sandbox/image", prompt: "a fox" }, path);
      const picture = await sharp(await stored(nameOf(body.data[0].url))).metadata();
      expect(picture).toMatchObject({ format: "webp", width: 1024, height: 1024 });
    }
  });

  test("answers created, latency and cost as numbers, and nothing else", async () => {
    const { body } = await media.generate({ model: "openai/gpt-image-2", prompt: "a fox", quality: "low" });
    expect(Object.keys(body).sort()).toEqual(["cost", "created", "data", "latency"]);
    expect(Number.isInteger(body.created) && Number.isInteger(body.latency)).toBe(true);
    expect(body.cost).toBe(0.006);
  });

  test("n images are n different files", async () => {
    const { body } = await media.generate({ model: "sandbox/image", prompt: "a fox", n: 3 });
    const names = body.data.map(({ url }: { url: string }) => nameOf(url));
    expect(new Set(names).size).toBe(3);
    expect((await media.outputs()).sort()).toEqual([...names].sort());
    expect((await media.row())["outputs"]).toEqual(names);
    expect(body.cost).toBe(0.03);
  });
});

describe("base64", () => {
  test("b64_json is the stored file, byte for byte", async () => {
    const { body } = await media.generate({
      model: "sandbox/image",
      prompt: "a fox",
      response_format: "b64_json",
      output_format: "png",
    });
    const [name = ""] = await media.outputs();
    expect(Object.keys(body.data[0])).toEqual(["b64_json"]);
    expect(Buffer.from(body.data[0].b64_json, "base64")).toEqual(await stored(name));
    expect((await media.row())["outputs"]).toEqual([name]);
  });

  test("is what a request without response_format gets if its key says so; one with it gets what it asks", async () => {
    const made = async (more: object, byDefault: string) => {
      const headers = { [FORMAT_HEADER]: byDefault };
      const { body } = await media.generate({ model: "sandbox/image", prompt: "a fox", ...more }, undefined, headers);
      return Object.keys(body.data[0]);
    };
    expect(await made({}, "b64_json")).toEqual(["b64_json"]);
    expect(await made({ response_format: null }, "b64_json")).toEqual(["b64_json"]);
    expect(await made({ response_format: "url" }, "b64_json")).toEqual(["url"]);
    expect(await media.outputs()).toHaveLength(3);
    expect(await made({}, "b64_ephemeral")).toEqual(["b64_json"]);
    expect(await media.outputs()).toHaveLength(3);
  });

  test("by default or by name is the same request under an Idempotency-Key", async () => {
    const asked = { model: "sandbox/image", prompt: "a fox" };
    const key = { "idempotency-key": "a" };
    const first = await media.generate(asked, undefined, { ...key, [FORMAT_HEADER]: "b64_json" });
    const again = await media.generate({ ...asked, response_format: "b64_json" }, undefined, key);
    expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([200, "true"]);
    expect(again.body).toEqual(first.body);
    expect((await media.generate(asked, undefined, key)).status).toBe(422);
  });

  test("b64_ephemeral leaves no file, no output and no prompt behind, and is charged", async () => {
    const { body } = await media.generate({
      model: "sandbox/image",
      prompt: "a secret fox",
      response_format: "b64_ephemeral",
    });
    expect((await sharp(Buffer.from(body.data[0].b64_json, "base64")).metadata()).format).toBe("webp");
    expect(await media.files()).toEqual([]);
    const row = await media.row();
    expect(row["outputs"]).toEqual([]);
    expect(JSON.stringify(row)).not.toContain("secret fox");
    expect(media.billing.charged).toBe(100n);
  });
});

describe("money", () => {
  test.each([
    ["sandbox/image", 200n],
    ["openai/gpt-image-2", 1_060n],
  ])("of %s, two of three are delivered, and charged and booked as two", async (model, charge) => {
    const { status, body } = await media.generate({ model, prompt: "a fox #partial", n: 3 });
    expect([status, body.data.length, body.cost]).toEqual([200, 2, Number(charge) / 10_000]);
    expect(await media.outputs()).toHaveLength(2);
    expect((await media.row())["outputs"]).toHaveLength(2);
    const bill = await simulatorBill(onlyHold()?.holdId ?? "");
    expect(onlyHold()).toMatchObject({
      state: HoldState.CAPTURED,
      chargedCredits: charge,
      costPicoUsd: BigInt(bill.pico_usd),
    });
  });

  test.each([
    [{}, 530n],
    [{ quality: "high", size: "1536x1024" }, 1_650n],
    [{ quality: "low", size: "1024x1536", n: 2 }, 100n],
  ])(
    "%j of gpt-image-2 holds and charges %s credits, and books the tokens as the cost",
    async (fields, charge) => {
      const { status, body } = await media.generate({
        model: "openai/gpt-image-2",
        prompt: "a fox",
        ...fields,
      });
      expect(status).toBe(200);
      expect(body.cost).toBe(Number(charge) / 10_000);
      expect(onlyHold()).toMatchObject({
        accountId: caller.accountId,
        spenderId: caller.keyId,
        service: "media-generation",
        provider: "openai",
        model: "openai/gpt-image-2",
        priceVersion: "gpt-1",
        credits: charge,
        chargedCredits: charge,
        state: HoldState.CAPTURED,
      });
      const bill = await simulatorBill(onlyHold()?.holdId ?? "");
      expect(onlyHold()?.costPicoUsd).toBe(BigInt(bill.pico_usd));
    },
  );

  test("the request's id is the hold's, the provider's and the log's", async () => {
    const { headers } = await media.generate({ model: "sandbox/image", prompt: "a fox" });
    const id = headers.get("x-request-id") ?? "";
    expect(media.billing.hold(id) !== undefined).toBe(true);
    expect((await media.row())["id"]).toBe(id);
    expect((await simulatorBill(id)).pico_usd).toBe("10000000000");
  });

  test("a free model is held and captured at zero", async () => {
    const { body } = await media.generate({ model: "sandbox/image-free", prompt: "a fox" });
    expect(body.cost).toBe(0);
    expect(movesOf(media.billing)).toEqual(["place", "capture"]);
    expect(onlyHold()?.costPicoUsd).toBe(0n);
  });

  test("no answer leaves before the capture has committed", async () => {
    let commit: () => void = () => undefined;
    const committed = new Promise<void>((resolve) => {
      commit = resolve;
    });
    let captured: () => void = () => undefined;
    const capturing = new Promise<void>((resolve) => {
      captured = resolve;
    });
    media.billing.before = async ({ kind }) => {
      if (kind !== "capture") return;
      captured();
      await committed;
    };
    let answered = false;
    const answer = media.generate({ model: "sandbox/image", prompt: "a fox" }).then((value) => {
      answered = true;
      return value;
    });
    await capturing;
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(answered).toBe(false);
    commit();
    expect((await answer).status).toBe(200);
  });

  test("a refused hold leaves no row and no call", async () => {
    media.billing.placeOutcome = OutcomeCode.INSUFFICIENT_CREDITS;
    const { status, body } = await media.generate({ model: "sandbox/image", prompt: "a fox" });
    expect(status).toBe(402);
    expect(body.error.code).toBe("insufficient_credits");
    expect(await media.row()).toBeUndefined();
    expect(await media.files()).toEqual([]);
  });

  test("the row tells the whole story afterwards", async () => {
    await media.generate({ model: "openai/gpt-image-2", prompt: "a \0 fox", quality: "low" });
    expect(await media.row()).toMatchObject({
      account_id: caller.accountId,
      key_id: caller.keyId,
      state: "succeeded",
      provider: "openai",
      upstream_model: "gpt-image-2",
      request: { prompt: "a \0 fox", n: 1, size: "1024x1024", quality: "low", response_format: "url" },
      price_version: "gpt-1",
      charge_credits: "60",
      error_kind: null,
    });
    expect((await media.row())["booked_at"]).toEqual(expect.any(Date));
  });
});

describe("requests that cannot be met", () => {
  test.each([
    [{ model: "no/such" }, 404, "model_not_found", "model"],
    [{ model: "sandbox/chat" }, 400, "wrong_endpoint", "model"],
    [{ model: "openai/gpt-image-2", size: "7x7" }, 400, "invalid_value", "size"],
    [{ model: "openai/gpt-image-2", image: "https://x.example/a.png" }, 400, "invalid_value", "image"],
    [{ model: "sandbox/image", n: 11 }, 400, "invalid_value", "n"],
    [{ prompt: "a" }, 400, "invalid_value", "model"],
  ])("%j is %i %s of %s, without a hold or a row", async (fields, status, code, param) => {
    const answer = await media.generate({ prompt: "a fox", ...fields });
    expect(answer.status).toBe(status);
    expect(answer.body.error).toMatchObject({ type: "invalid_request_error", code, param });
    expect(movesOf(media.billing)).toEqual([]);
    expect(await media.row()).toBeUndefined();
  });

  test("a model without a configured provider is unavailable; the caller does not learn which variable is missing", async () => {
    const { status, body } = await media.generate({ model: "sandbox/elsewhere", prompt: "a fox" });
    expect(status).toBe(503);
    expect(body.error.code).toBe("provider_unavailable");
    expect(body.error.message).not.toMatch(/KEY|nobody/);
    expect(movesOf(media.billing)).toEqual([]);
    expect(await media.metrics()).toContain('media_trouble_total{what="no_provider"} 1');
  });

  test("more than the process can run are refused at once", async () => {
    await media.stop();
    media = await startMedia({ upstreamUrl: simulator.url, env: { MEDIA_MAX_RUNNING: "1" } });
    const refused = Promise.withResolvers<void>();
    media.billing.before = () => refused.promise;
    let answered = 0;
    const asked = [1, 2, 3].map(async () => {
      const { status } = await media.generate({ model: "sandbox/image", prompt: "a fox" });
      answered += 1;
      if (answered === 2) refused.resolve();
      return status;
    });
    expect((await Promise.all(asked)).sort()).toEqual([200, 503, 503]);
    expect(movesOf(media.billing)).toEqual(["place", "capture"]);
  });

  test("more than the share of one account are refused as its own, and another account gets a place", async () => {
    await media.stop();
    media = await startMedia({ upstreamUrl: simulator.url, env: { MEDIA_MAX_RUNNING: "4" } });
    const fox = { model: "sandbox/image", prompt: "a fox" };
    const refused = Promise.withResolvers<void>();
    media.billing.before = () => refused.promise;
    const asked = [1, 2, 3, 4].map(async () => {
      const answer = await media.generate(fox);
      if (answer.status !== 200) refused.resolve();
      return answer;
    });
    await refused.promise;
    const id = "5d9c3f1f-0f4a-4a51-9d5c-0b1f5f2e7fff";
    const other = { [ACCOUNT_HEADER]: id, [KEY_HEADER]: id };
    expect((await media.generate(fox, undefined, other)).status).toBe(200);
    const answers = await Promise.all(asked);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 429]);
    const share = answers.find(({ status }) => status === 429);
    expect(share?.body.error.code).toBe("rate_limit_exceeded");
    expect(share?.headers.get("retry-after")).toBe("1");
  });
});

describe("a client that leaves", () => {
  test("before anything is sent has nothing made, and pays nothing", async () => {
    const leave = new AbortController();
    const left = Promise.withResolvers<void>();
    media.billing.after = () => left.promise;
    const request = fetch(`${media.url()}/v1/compat/images/generations`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "sandbox/image", prompt: "a fox" }),
      signal: leave.signal,
    });
    await until(() => movesOf(media.billing).length > 0, { timeoutMs: 60_000 });
    leave.abort();
    await expect(request).rejects.toThrow();
    await until(() => waiting.size === 0, { timeoutMs: 60_000 });
    left.resolve();
    await until(() => media.billing.openHolds.length === 0, { timeoutMs: 60_000 });
    expect(onlyHold()).toMatchObject({ releaseReason: ReleaseReason.NOT_SENT, costPicoUsd: 0n });
    expect(await media.row()).toBeUndefined();
  });

  test("pays for a generation that goes on, and finds it in the log", async () => {
    await simulator.close();
    simulator = await startSimulator({ host: "127.0.0.1", port: 0, imageDelayMs: 400 });
    await media.stop();
    media = await startMedia({ upstreamUrl: simulator.url });
    const leave = new AbortController();
    const request = fetch(`${media.url()}/v1/compat/images/generations`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "sandbox/image", prompt: "a fox" }),
      signal: leave.signal,
    });
    await until(async () => (await media.row()) !== undefined, { timeoutMs: 60_000 });
    leave.abort();
    await expect(request).rejects.toThrow();
    await until(() => media.billing.openHolds.length === 0, { timeoutMs: 60_000 });
    expect(movesOf(media.billing)).toEqual(["place", "capture"]);
    expect(await media.outputs()).toEqual((await media.row())["outputs"]);
  });
});
