// A key with a limit of 0.01 USD requests long answers without a limit on output, once and 1,000 times in parallel.
// They are streams and whole answers of the sandbox's most expensive model. The key never pays more; the excess of its
// answers is printed.
import { type Credits, chargeOf, creditsOf, formatCredits, larger } from "@gr/money";
import { HoldState } from "@gr/proto/billing";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Router, startRouter } from "../e2e/topology.ts";
import { expectExactBooks, holdsOf, noOpenHolds } from "./books.ts";
import { mintKey, openAccount } from "./customers.ts";
import { sendAll, tally } from "./load.ts";
import { startUpstream, type Upstream } from "./upstream.ts";

const CAP: Credits = 100n;
/** Credits of one stream of sandbox/chat-vision while billing decides about it: never more than its first hold. */
const SLICE_CREDITS: Credits = 16n;
const UNHINDERED = {
  RATE_LIMIT_BURST_SECONDS: "60",
  RATE_LIMIT_TEXT_PER_SECOND: "100000",
  LOG_LEVEL: "error",
};
const SETTLED_MS = 60_000;
const TEST_MS = 600_000;

describe("a key with a limit of 0.01 USD, and no limit on output", () => {
  let upstream: Upstream;
  let router: Router;
  const accounts: string[] = [];

  beforeAll(async () => {
    upstream = await startUpstream({ tokenDelayMs: 5 });
    router = await startRouter("all-in-one", {
      sharedPostgres: true,
      env: { ...upstream.env, ...UNHINDERED },
    });
  }, TEST_MS);
  afterAll(async () => {
    await router?.dispose();
    await upstream?.close();
  });

  test.each([
    [1, false],
    [1, true],
    [1_000, false],
    [1_000, true],
  ])(
    "%i at once, streams: %s",
    async (requests, stream) => {
      const accountId = await openAccount(router.dataDir, creditsOf("10"));
      accounts.push(accountId);
      const { secret } = await mintKey(router.dataDir, accountId, { cap: CAP });
      const messages = [{ role: "user", content: "#tokens=16000" }];
      const order = {
        baseUrl: router.baseUrl,
        secret,
        path: "/v1/compat/chat/completions",
        body: { model: "sandbox/chat-vision", stream, messages },
      };
      const sent = await sendAll(Array.from({ length: requests }, () => order)).all();
      await noOpenHolds(router.dataDir, SETTLED_MS);
      const holds = [...(await holdsOf(router.dataDir, accountId)).values()];
      const begun = holds.filter(({ state }) => state === HoldState.CAPTURED);
      const charged = begun.reduce((sum, { chargedCredits }) => sum + chargedCredits, 0n);
      const cost = begun.reduce((sum, { costPicoUsd }) => sum + costPicoUsd, 0n);
      const excess = larger(chargeOf(cost) - CAP, 0n);
      const words = `${begun.length} begun, ${formatCredits(charged)} USD charged, ${formatCredits(excess)} beyond the limit`;
      process.stdout.write(`${requests} at once, ${stream ? "streams" : "in one piece"}: ${words}\n`);
      expect(begun.length).toBeGreaterThan(0);
      expect(Object.keys(tally(sent)).filter((kind) => !/^(200|402)/.test(kind))).toEqual([]);
      expect(charged).toBeLessThanOrEqual(CAP);
      // An answer in one piece ends with its hold; a stream may be a moment ahead of our reading.
      expect(excess).toBeLessThanOrEqual(stream ? SLICE_CREDITS * BigInt(begun.length) : 0n);
      await expectExactBooks(router.dataDir, upstream, accounts);
    },
    TEST_MS,
  );
});
