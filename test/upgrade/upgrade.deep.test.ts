// The last release and this version side by side. Every service is replaced under load: the new one first beside the old callers, then
// with all of them, and all but billing back again. Requests fail in the stop of billing alone, with 503 and without a charge. No charge
// is lost, each process ends by itself, the books are exact.
import { execFile } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { promisify } from "node:util";
import { Random } from "@gr/testing/random";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { lastRelease } from "../../scripts/release/last-release.ts";
import { answered } from "../chaos/answered.ts";
import { noOpenHolds } from "../chaos/books.ts";
import { startLoad } from "../chaos/load.ts";
import { type Customer, expectExactMoney, isOwnRepeat, mixOf, openCustomer } from "../chaos/mixed-load.ts";
import type { Sent } from "../chaos/send-order.ts";
import { startUpstream, type Upstream } from "../chaos/upstream.ts";
import { type Build, Fleet, ours, SERVICES, TABLES } from "./fleet.ts";
import { lastBuild } from "./last-build.ts";

const SEED = 20_261_122;
const LOAD = { perSecond: 6, most: 3_600, together: 24, idleMs: 2_000 };
/** Orders that each mixture of versions answers, at least. */
const ENOUGH = 15;
/** Milliseconds of the longest order, so an order that began as long before the stop can be in it. */
const LONGEST_MS = 15_000;
const PATIENCE = { timeoutMs: 120_000 };

let last: Build;
let upstream: Upstream;
let fleet: Fleet;

beforeAll(async () => {
  last = await lastBuild(SERVICES);
  upstream = await startUpstream({ tokenDelayMs: 20, imageDelayMs: 500 });
  fleet = await Fleet.plan({
    ...upstream.env,
    INTERNAL_AUTH_SECRET: "internal-secret-of-the-upgrade-test-0123456789",
    KEY_PEPPER: "pepper-of-the-upgrade-test-0123456789-abcdef",
    CONSOLE_SECRET: "console-secret-of-the-upgrade-test-0123456789",
    WEB_TOKEN_PRIVATE_KEY: generateKeyPairSync("ed25519")
      .privateKey.export({ format: "der", type: "pkcs8" })
      .toString("base64"),
    RESOLVE_INTERVAL_MS: "500",
  });
  await fleet.migrate(last);
  await fleet.startAll(last);
});
afterAll(async () => {
  await fleet?.close();
  await upstream?.close();
});

test("the build beside ours is that of the last release", async () => {
  const { version, commit } = await lastRelease();
  const { stdout } = await promisify(execFile)(process.execPath, [last("billing"), "--version"]);
  expect(stdout).toBe(`${version} (${commit.slice(0, 12)})\n`);
});

test("every service is replaced by ours under load, and all but billing by the last release again: no request fails but in the stop of billing, nothing is lost, the books are exact", async () => {
  const customers: Customer[] = [];
  for (const careful of [true, false, true, false])
    customers.push(await openCustomer(fleet.dataDir, { careful }));
  // Decision 43: the two versions do not find each other's Idempotency-Keys, so an order at both is charged by both.
  const mix = mixOf(new Random(SEED), fleet.baseUrl, customers, { repeats: false });
  const load = startLoad(mix, LOAD);
  let stop = { from: 0, until: 0 };
  try {
    await answered(load, ENOUGH);
    await fleet.migrate(
      ours,
      TABLES.filter((service) => service !== "billing"),
    );
    await answered(load, ENOUGH);
    // Decision 77: the migration of billing ends the writes of the version before.
    stop = await fleet.replaceWithStop("billing", ours);
    await answered(load, ENOUGH);
    for (const build of [ours, last]) {
      for (const service of SERVICES) {
        if (service === "billing") continue;
        await fleet.replace(service, build, load, ENOUGH);
        await answered(load, ENOUGH);
      }
    }
  } finally {
    await load.end();
  }
  const failed = load.sent.filter((one) => one.conclusion !== "paid" && !isOwnRepeat(one));
  const inStop = ({ startedAt }: Sent) => startedAt > stop.from - LONGEST_MS && startedAt < stop.until;
  expect(failed.filter((one) => !inStop(one))).toEqual([]);
  expect(failed.filter(({ conclusion, status }) => conclusion === "refused" && status !== 503)).toEqual([]);
  expect(
    load.sent.filter((one) => one.startedAt < stop.from && one.conclusion === "paid").length,
  ).toBeGreaterThan(ENOUGH);
  await noOpenHolds(fleet.dataDir, PATIENCE.timeoutMs);
  await expectExactMoney(fleet.dataDir, upstream, customers, load.sent);
}, 1_800_000);
