// Guarantees of allow-lists on the routes of media: a refused model places no hold and reaches no provider, and a refused
// provider is never asked, also not after the failure of an allowed one.
import { create } from "@bufbuild/protobuf";
import { RouteSchema } from "@gr/proto/catalog";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import type { ImageJob, MediaProvider, Progress } from "./providers/provider.ts";
import { ProviderError } from "./providers/provider-error.ts";
import { ALLOWED_HEADER } from "./test/edge.ts";
import { fixedModels } from "./test/fixed-catalog.ts";
import { artifactOf, drawPicture } from "./test/pictures.ts";
import { type MediaUnderTest, startMedia, UNDISTURBED } from "./test/start-media.ts";

let media: MediaUnderTest;
/** Providers that received a request, in order. */
let asked: string[];
let isFirstBroken: boolean;

beforeEach(async () => {
  asked = [];
  isFirstBroken = false;
  const providers = ["first", "second"].map(provider);
  media = await startMedia({
    upstreamUrl: "http://127.0.0.1:9",
    env: UNDISTURBED,
    providers: () => new Map(providers.map((each) => [each.name, each])),
  });
  await media.restart({
    models: fixedModels.map((model) => ({
      ...model,
      routes: ["first", "second"].map((each) => create(RouteSchema, { provider: each, upstreamModel: "m" })),
    })),
  });
});
afterEach(() => media?.stop());

function provider(name: string): MediaProvider {
  const submit = async (_: ImageJob): Promise<Progress> => {
    asked.push(name);
    if (name === "first" && isFirstBroken) throw new ProviderError("unavailable", "no", { accepted: false });
    return { state: "succeeded", artifacts: [artifactOf(await drawPicture())], usage: { billed: 7n } };
  };
  const poll = () => Promise.reject(new Error("the job has ended"));
  return { name, kinds: { image: { mostAtOnce: 10, submit } }, poll, cancel: async () => undefined };
}

const fox = { model: "sandbox/image", prompt: "a fox" };
const post = (path: string, body: object, lists: object, headers = {}) =>
  media.generate(body, `/v1/${path}`, { [ALLOWED_HEADER]: JSON.stringify(lists), ...headers });

const film = { model: "sandbox/video", prompt: "a fox", seconds: 4 };
const picture = "data:image/png;base64,AAAA";

test.each([
  ["compat/images/generations", fox, {}],
  ["compat/images/generations", fox, { prefer: "respond-async" }],
  ["compat/images/edits", { ...fox, model: "sandbox/image-edit", image: picture }, {}],
  ["compat/videos/generations", film, {}],
  ["compat/videos/generations", film, { prefer: "respond-async" }],
  ["compat/videos", film, {}],
  ["quote/images/generations", fox, {}],
  ["quote/images/edits", { ...fox, model: "sandbox/image-edit", image: picture }, {}],
  ["quote/videos/generations", film, {}],
  ["quote/videos", film, {}],
])("%s refuses a model that the key does not allow, before any hold (%#)", async (path, body, headers) => {
  for (const lists of [{ models: ["sandbox/i", "openai/*"] }, { providers: ["third"] }]) {
    const refused = await post(path, body, lists, headers);
    expect([refused.status, refused.body.error]).toEqual([
      403,
      expect.objectContaining({ type: "forbidden", code: "model_not_allowed", param: "model" }),
    ]);
  }
  expect(media.billing.holds).toEqual([]);
  expect(asked).toEqual([]);
});

test("the id after the resolution of a bare name is compared", async () => {
  const bare = { ...fox, model: "image" };
  expect((await post("compat/images/generations", bare, { models: ["image"] })).status).toBe(403);
  expect((await post("compat/images/generations", bare, { models: ["sandbox/image"] })).status).toBe(200);
});

test.each([
  [{ models: ["sandbox/*"] }, ["first"]],
  [{ providers: ["first"] }, ["first"]],
  [{ providers: ["second"] }, ["second"]],
])("%j sends the request to %j", async (lists, expected) => {
  expect((await post("compat/images/generations", fox, lists)).status).toBe(200);
  expect(asked).toEqual(expected);
});

test("no fail-over leads to a provider that the key does not allow", async () => {
  isFirstBroken = true;
  expect((await post("compat/images/generations", fox, { models: ["sandbox/*"] })).status).toBe(200);
  expect(asked).toEqual(["first", "second"]);
  const bound = await post("compat/images/generations", fox, { providers: ["first"] });
  expect(bound.status).toBeGreaterThanOrEqual(500);
  expect(asked).toEqual(["first", "second", "first"]);
  expect(media.billing.holds.at(-1)).toMatchObject({ chargedCredits: 0n });
});
