// Real refusals of providers, from the wire to the ledger: the client's error, the next route, and the payment
// for a refused picture that its provider bills.
import { create } from "@bufbuild/protobuf";
import { HoldState } from "@gr/proto/billing";
import { RouteSchema } from "@gr/proto/catalog";
import { capturedAnswer } from "@gr/simulator/captured-answers";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { MediaProvider, Progress } from "./providers/provider.ts";
import { ProviderError } from "./providers/provider-error.ts";
import { fixedModels } from "./test/fixed-catalog.ts";
import { artifactOf, drawPicture } from "./test/pictures.ts";
import { type ScriptedServer, startScriptedServer } from "./test/scripted-server.ts";
import { type MediaUnderTest, movesOf, startMedia, UNDISTURBED } from "./test/start-media.ts";

const fox = { model: "sandbox/image", prompt: "a fox" };
const onlyHold = () => media.billing.holds[0];
let xai: ScriptedServer;
let openai: ScriptedServer;
let media: MediaUnderTest;

const played = (name: string) => {
  const { status, body } = capturedAnswer(name);
  return { status, body: body as object };
};

beforeEach(async () => {
  xai = await startScriptedServer();
  openai = await startScriptedServer();
  const picture = (await drawPicture()).toString("base64");
  openai.play({ status: 200, body: { data: [{ b64_json: picture }] } });
  const env = { ...UNDISTURBED, XAI_API_KEY: "k", XAI_BASE_URL: xai.url, MEDIA_LOOKUP_URL: "" };
  media = await startMedia({ upstreamUrl: openai.url, env });
});
afterEach(async () => {
  await media.stop();
  await xai.close();
  await openai.close();
});

const routed = (...providers: string[]) =>
  media.restart({
    models: fixedModels.map((model) => ({
      ...model,
      routes: providers.map((provider) => create(RouteSchema, { provider, upstreamModel: "m" })),
    })),
  });

test("a billed refusal by moderation is the caller's, stays with its provider, and its bill is booked as ours", async () => {
  await routed("xai", "openai");
  xai.play(played("xai/moderation-output-billed"));
  const { status, body } = await media.generate(fox);
  expect([status, body.error.code]).toEqual([400, "content_policy_violation"]);
  expect(movesOf(media.billing)).toEqual(["place", "release"]);
  expect(onlyHold()).toMatchObject({ state: HoldState.RELEASED, costPicoUsd: 50_000_000_000n });
  expect(openai.requests).toEqual([]);
});

test.each(["xai/bad-key", "xai/no-credit", "xai/overload-422"])("%s goes to the next route", async (name) => {
  await routed("xai", "openai");
  xai.play(played(name));
  expect((await media.generate(fox)).status).toBe(200);
  expect(movesOf(media.billing)).toEqual(["place", "nextAttempt", "capture"]);
});

test("without another route our account is 503 for the caller, and an alarm for the operator", async () => {
  await routed("xai");
  xai.play(played("xai/bad-key"));
  const { status, headers, body } = await media.generate(fox);
  expect([status, body.error.code]).toEqual([503, "provider_unavailable"]);
  expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
  expect(JSON.stringify(body)).not.toMatch(/key/i);
  expect(await media.metrics()).toMatch(
    /media_generations_total\{provider="xai",outcome="misconfigured"\} 1/,
  );
  expect(onlyHold()).toMatchObject({ state: HoldState.RELEASED, costPicoUsd: 0n });
});

describe("an operator hears of a refused account", () => {
  const refused = new ProviderError("misconfigured", "our key is refused", { accepted: false });
  const lost = new ProviderError("unknown_outcome", "the connection was lost", { accepted: true });

  test.each([
    ["when other pictures of the request are delivered", undefined, 200],
    ["when nobody knows the outcome of another picture", lost, 502],
  ] as const)("%s", async (_, other, status) => {
    let submitted = 0;
    const submit = async (): Promise<Progress> => {
      submitted += 1;
      if (submitted === 2) throw refused;
      if (other !== undefined) throw other;
      return { state: "succeeded", artifacts: [artifactOf(await drawPicture())], usage: { billed: 7n } };
    };
    const first: MediaProvider = {
      name: "first",
      kinds: { image: { mostAtOnce: 1, submit } },
      poll: () => Promise.reject(lost),
      cancel: async () => undefined,
    };
    await media.stop();
    media = await startMedia({
      upstreamUrl: "http://127.0.0.1:9",
      env: UNDISTURBED,
      providers: () => new Map([["first", first]]),
    });
    await routed("first");
    expect((await media.generate({ ...fox, n: 3 })).status).toBe(status);
    expect(await media.metrics()).toContain(
      'media_generations_total{provider="first",outcome="misconfigured"} 1',
    );
  });
});
