// Secrets are changed under load: first all processes trust the new one, then all use it, then the old one is
// worthless. The cases are calls between services, stored keys and web tokens; beside them an upstream's key changes.
import { generateKeyPairSync } from "node:crypto";
import { Random } from "@gr/testing/random";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { answered } from "../chaos/answered.ts";
import { noOpenHolds } from "../chaos/books.ts";
import { chat, sendAll, startLoad, tally } from "../chaos/load.ts";
import { type Customer, expectExactMoney, isOwnRepeat, mixOf, openCustomer } from "../chaos/mixed-load.ts";
import type { Sent } from "../chaos/send-order.ts";
import { startUpstream, type Upstream } from "../chaos/upstream.ts";
import { Fleet, ours, type Settings } from "./fleet.ts";

const SEED = 20_261_123;
const LOAD = { perSecond: 6, most: 3_600, together: 24, idleMs: 2_000 };
const ENOUGH = 15;
const PATIENCE = { timeoutMs: 120_000 };

const tokenKey = () =>
  generateKeyPairSync("ed25519").privateKey.export({ format: "der", type: "pkcs8" }).toString("base64");
const secretsOf = (name: string) => ({
  INTERNAL_AUTH_SECRET: `internal-secret-${name}-of-the-rotation-test-0123456789`,
  KEY_PEPPER: `pepper-${name}-of-the-rotation-test-0123456789-abcdef`,
  WEB_TOKEN_PRIVATE_KEY: tokenKey(),
});
const OLD = secretsOf("old");
const NEW = secretsOf("new");
const beside = (secrets: Settings): Settings =>
  Object.fromEntries(Object.entries(secrets).map(([name, value]) => [`${name}_OTHER`, value]));
const NONE = Object.fromEntries(Object.keys(beside(OLD)).map((name) => [name, ""]));

let upstream: Upstream;
let fleet: Fleet;

beforeAll(async () => {
  upstream = await startUpstream({ tokenDelayMs: 20, imageDelayMs: 500 });
  fleet = await Fleet.plan({
    ...upstream.env,
    ...OLD,
    TEXT_UPSTREAM_API_KEY: "the-first-key-of-the-upstream",
    CONSOLE_SECRET: "console-secret-of-the-rotation-test-0123456789",
    RESOLVE_INTERVAL_MS: "500",
  });
  await fleet.migrate(ours);
  await fleet.startAll(ours);
});
afterAll(async () => {
  await fleet?.close();
  await upstream?.close();
});

test("internal secret, pepper, web-token key and upstream key are changed under load: no request fails, every key goes on, the books are exact", async () => {
  const customers: Customer[] = [];
  for (const careful of [true, false, true, false])
    customers.push(await openCustomer(fleet.dataDir, { careful }));
  const load = startLoad(mixOf(new Random(SEED), fleet.baseUrl, customers), LOAD);
  const more: Sent[] = [];
  const replaceAll = async (settings: Settings) => {
    fleet.set(settings);
    await fleet.replaceAll(ours, load, ENOUGH);
  };
  try {
    await answered(load, ENOUGH);
    await replaceAll(beside(NEW));
    await replaceAll({ ...NEW, ...beside(OLD), TEXT_UPSTREAM_API_KEY: "the-second-key-of-the-upstream" });
    // The gateway is a new one with an empty cache: each key is looked up once more, and stored under the new pepper.
    const secrets = customers.flatMap((customer) => customer.secrets);
    const each = (round: string) =>
      sendAll(
        secrets.map((secret) => {
          const idempotencyKey = `${round} ${secret.slice(-8)}`;
          return { ...chat(2, false), baseUrl: fleet.baseUrl, secret, idempotencyKey };
        }),
      ).all();
    more.push(...(await each("both")));
    await replaceAll(NONE);
    more.push(...(await each("the new one alone")));
    expect(tally(more)).toEqual({ 200: 2 * secrets.length });
  } finally {
    await load.end();
  }
  expect(load.sent.filter((one) => one.conclusion !== "paid" && !isOwnRepeat(one))).toEqual([]);
  await fleet.tell();
  await noOpenHolds(fleet.dataDir, PATIENCE.timeoutMs);
  await expectExactMoney(fleet.dataDir, upstream, customers, [...load.sent, ...more]);
}, 900_000);
