// F22: five times as many clients as places. A client without a place is refused at once and for free, the places stay
// in use, and no hold stays open. After the crowd the state is as before. The amount of work meanwhile is printed.
import { creditsOf } from "@gr/money";
import { until } from "@gr/testing";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Router, startRouter } from "../e2e/topology.ts";
import { expectExactBooks, expectHonestAnswers, noOpenHolds } from "./books.ts";
import { mintKey, openAccount } from "./customers.ts";
import { chat, type RunningLoad, startLoad, tally } from "./load.ts";
import type { Sent } from "./send-order.ts";
import { startUpstream, type Upstream } from "./upstream.ts";

const PLACES = 40;
const TIMES = 5;
const CUSTOMERS = 10;
const ANSWERS = 150;
/** Pause of a refused client before it retries like all others. */
const BACK_OFF_MS = 100;
const REFUSALS = new Set(["429 rate_limit_exceeded", "503 provider_unavailable"]);
const PATIENCE = { timeoutMs: 120_000 };

let upstream: Upstream;
let router: Router;
beforeAll(async () => {
  upstream = await startUpstream({ tokenDelayMs: 10 });
  const env = { ...upstream.env, TEXT_MAX_RUNNING: String(PLACES), RATE_LIMIT_TEXT_PER_SECOND: "0" };
  router = await startRouter("all-in-one", { sharedPostgres: true, env });
});
afterAll(async () => {
  await router?.dispose();
  await upstream?.close();
});

const paidOf = (sent: readonly Sent[]) => sent.filter(({ conclusion }) => conclusion === "paid");

test(`${TIMES} times as many callers as places: refusals are free, started requests are finished`, async () => {
  const accounts = await Promise.all(
    Array.from({ length: CUSTOMERS }, () => openAccount(router.dataDir, creditsOf("10"))),
  );
  const keys = await Promise.all(accounts.map((account) => mintKey(router.dataDir, account)));
  const crowd = (together: number): RunningLoad =>
    startLoad(
      (index) => ({
        ...chat(40, index % 2 === 0),
        baseUrl: router.baseUrl,
        secret: keys[index % CUSTOMERS]?.secret ?? "",
      }),
      { perSecond: Number.POSITIVE_INFINITY, most: 100_000, together, backOffMs: BACK_OFF_MS },
    );
  const run = async (together: number) => {
    const begun = performance.now();
    const load = crowd(together);
    await until(() => paidOf(load.sent).length >= ANSWERS, PATIENCE).finally(() => load.end());
    const seconds = (performance.now() - begun) / 1_000;
    const sent = await load.end();
    return { sent, perSecond: paidOf(sent).length / seconds };
  };
  // Fair places reserve the last of them for others, so that a crowd of one account never has all.
  const alone = await run(PLACES / 2);
  const crowded = await run(PLACES * TIMES);
  const afterwards = await run(PLACES / 2);

  const refused = crowded.sent.filter(({ conclusion }) => conclusion !== "paid");
  expect(refused.length).toBeGreaterThan(0);
  // 429 above the share of an account or a key, 503 if no place is free.
  const refusals = new Set(refused.map(({ status, error }) => `${status} ${error?.code}`));
  expect([...refusals].filter((one) => !REFUSALS.has(one))).toEqual([]);
  for (const { sent } of [alone, afterwards]) expect(tally(sent)).toEqual({ 200: sent.length });
  await noOpenHolds(router.dataDir, PATIENCE.timeoutMs);
  const all = [alone, crowded, afterwards].flatMap(({ sent }) => sent);
  let charges = 0;
  for (const [index, account] of accounts.entries()) {
    const own = all.filter(({ order }) => order.secret === keys[index]?.secret);
    charges += await expectHonestAnswers(router.dataDir, account, own);
  }
  expect(charges).toBe(paidOf(all).length);
  await expectExactBooks(router.dataDir, upstream, accounts);
  const facts = {
    "answers a second with half of the places taken": Math.round(alone.perSecond),
    [`with ${TIMES} times as many callers as places`]: Math.round(crowded.perSecond),
    answers: tally(crowded.sent),
  };
  process.stdout.write(`${JSON.stringify(facts)}\n`);
});
