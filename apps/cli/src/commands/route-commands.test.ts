// Commands on closed routes: an operator sees the closings of both services, and reopens a route at the service that has it.
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { runWith } from "../simulated.ts";
import { type RouterUnderTest, SECRET, startRouter } from "../test/start-router.ts";

const ACCOUNT = "0190c0de-0000-7000-8000-00000000000a";
const REOPENS = "2027-01-01T00:15:00.000Z";

let router: RouterUnderTest;
beforeAll(async () => {
  router = await startRouter();
});
afterAll(() => router?.stop());
beforeEach(() => {
  const reopensAt = BigInt(Date.parse(REOPENS));
  const { text, media } = router.peers.closedRoutes;
  const loss = { reopensAt, lossPicoUsd: 40_500_000_000_000_000n };
  text.splice(0, 9, { provider: "openrouter", upstreamModel: "vendor/chat", accountId: ACCOUNT, ...loss });
  media.splice(0, 9, { provider: "runway", upstreamModel: "gen5", ...loss });
});

test("closed routes of both services are listed with their losses and accounts", async () => {
  const more = { loss: "40500", reopens_at: REOPENS };
  expect(await router.json("route", "closed")).toEqual({
    routes: [
      {
        ...{ service: "text-proxy", provider: "openrouter", upstream_model: "vendor/chat" },
        ...{ account_id: ACCOUNT, ...more },
      },
      {
        ...{ service: "media-generation", provider: "runway", upstream_model: "gen5" },
        ...{ account_id: null, ...more },
      },
    ],
  });
  expect((await router.cli("route", "closed")).out).toMatch(/runway +gen5 +all +40500 +2027/);
});

test.each([
  ["openrouter", "vendor/chat"],
  ["runway", "gen5"],
])("a route of %s is reopened at its service, once", async (provider, model) => {
  const reopen = ["route", "reopen", "--provider", provider, "--model", model];
  expect(await router.cli(...reopen)).toMatchObject({
    code: 0,
    out: `The route to ${model} at ${provider} is open again.\n`,
  });
  expect((await router.json("route", "closed")).routes).toHaveLength(1);
  expect(await router.cli(...reopen)).toMatchObject({
    code: 1,
    out: `The route to ${model} at ${provider} is not closed.\n`,
  });
});

test("only services whose addresses are known are asked, and one is needed", async () => {
  const env = { INTERNAL_AUTH_SECRET: SECRET, TEXT_PROXY_RPC_URL: router.rpcUrl };
  const { out } = await runWith(env, "route", "closed", "--json");
  expect(JSON.parse(out).routes).toMatchObject([{ service: "text-proxy" }]);
  const { err } = await runWith(
    { INTERNAL_AUTH_SECRET: SECRET, KEYS_RPC_URL: router.rpcUrl },
    ...["route", "closed"],
  );
  expect(err).toBe("Set TEXT_PROXY_RPC_URL or MEDIA_GENERATION_RPC_URL to an RPC address.\n");
});
