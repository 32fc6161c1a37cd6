// Guarantee against a provider with bills above the charges. After one such bill, the account's generations
// skip the route. After bills of two accounts, or one bill far above its hold, all accounts skip it.
// Refused requests have no hold.
import { create } from "@bufbuild/protobuf";
import { PICO_PER_CREDIT, type PicoUsd } from "@gr/money";
import { RouteSchema } from "@gr/proto/catalog";
import { MediaGenerationService } from "@gr/proto/media";
import { createRemoteTransport, createServiceClient, systemClock } from "@gr/runtime";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import type { ImageJob, MediaProvider, Progress } from "./providers/provider.ts";
import { ACCOUNT_HEADER, KEY_HEADER } from "./test/edge.ts";
import { fixedModels } from "./test/fixed-catalog.ts";
import { artifactOf, drawPicture } from "./test/pictures.ts";
import { INTERNAL_AUTH_SECRET, type MediaUnderTest, startMedia, UNDISTURBED } from "./test/start-media.ts";

const ACCOUNTS = ["a", "b", "c"].map((letter) => `0190c0de-0000-7000-8000-00000000000${letter}`);
/** Charge of one picture. */
const CHARGE: PicoUsd = 100n * PICO_PER_CREDIT;

let media: MediaUnderTest;
/** Providers that received a request, in order. */
let asked: string[];
/** Bill for each picture at the first provider. */
let billed: PicoUsd;

beforeEach(async () => {
  asked = [];
  const providers = [provider("first", () => billed), provider("second", () => CHARGE)];
  media = await startMedia({
    upstreamUrl: "http://127.0.0.1:9",
    env: UNDISTURBED,
    providers: () => new Map(providers.map((each) => [each.name, each])),
  });
});
afterEach(() => media?.stop());

function provider(name: string, bill: () => PicoUsd): MediaProvider {
  const submit = async (_: ImageJob): Promise<Progress> => {
    asked.push(name);
    return { state: "succeeded", artifacts: [artifactOf(await drawPicture())], usage: { billed: bill() } };
  };
  const notPolled = () => Promise.reject(new Error("the job has ended"));
  const cancel = async () => undefined;
  return { name, kinds: { image: { mostAtOnce: 10, submit } }, poll: notPolled, cancel };
}

const routedTo = (...names: readonly string[]) =>
  media.restart({
    models: fixedModels.map((model) => ({
      ...model,
      routes: names.map((each) => create(RouteSchema, { provider: each, upstreamModel: "m" })),
    })),
  });
const ask = (account = "", path = "/v1/compat/images/generations") => {
  const headers = { [ACCOUNT_HEADER]: account, [KEY_HEADER]: account.replace("-0000-", "-000f-") };
  return media.generate({ model: "sandbox/image", prompt: "a fox" }, path, headers);
};
const gauge = async () =>
  Number(/^media_routes_closed_by_losses\{provider="first"\} (\d+)$/m.exec(await media.metrics())?.[1] ?? -1);

test("a loss closes the last route for its account, and losses of two accounts for all", async () => {
  await routedTo("first");
  expect(await gauge()).toBe(0);
  const [a, b, c] = ACCOUNTS;
  billed = 3n * CHARGE;
  expect((await ask(a)).status).toBe(200);
  expect(await gauge()).toBe(1);
  const refused = await ask(a);
  expect(refused.status).toBe(503);
  expect(refused.body.error).toMatchObject({ code: "provider_unavailable" });
  expect((await ask(a, "/v1/quote/images/generations")).status).toBe(503);
  expect((await ask(b)).status).toBe(200);
  expect((await ask(c)).status).toBe(503);
  expect(asked).toEqual(["first", "first"]);
  const transport = createRemoteTransport(media.rpcUrl(), INTERNAL_AUTH_SECRET, systemClock);
  const operator = createServiceClient(MediaGenerationService, "media-generation", transport);
  const [closed] = (await operator.listClosedRoutes({})).routes;
  expect(closed).toMatchObject({ provider: "first", upstreamModel: "m", accountId: "" });
  expect(await operator.reopenRoute({ provider: "first", upstreamModel: "m" })).toMatchObject({
    reopened: true,
  });
  expect(await gauge()).toBe(0);
  expect(media.billing.holds.map(({ chargedCredits, costPicoUsd }) => [chargedCredits, costPicoUsd])).toEqual(
    [
      [100n, billed],
      [100n, billed],
    ],
  );
});

test("one bill far above its hold closes the route for all, and the next route serves", async () => {
  await routedTo("first", "second");
  const [a, b] = ACCOUNTS;
  billed = 40_500n * 10_000n * PICO_PER_CREDIT;
  expect((await ask(a)).status).toBe(200);
  for (const account of [a, b]) expect((await ask(account)).status).toBe(200);
  expect(asked).toEqual(["first", "second", "second"]);
  expect(media.billing.holds.map(({ costPicoUsd }) => costPicoUsd)).toEqual([billed, CHARGE, CHARGE]);
});

test("a bill within the tolerance closes nothing", async () => {
  await routedTo("first");
  billed = 2n * CHARGE;
  for (const account of [ACCOUNTS[0], ACCOUNTS[0]]) expect((await ask(account)).status).toBe(200);
});
