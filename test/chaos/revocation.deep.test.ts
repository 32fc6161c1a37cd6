// F15: a key is deleted, disabled or expires in the middle of heavy use. From the answer to the revocation, or
// from its expiry, nothing is reserved for it any more and every new request with it is refused, at each gateway,
// also during faults of Redis.
import { creditsOf } from "@gr/money";
import { until } from "@gr/testing";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { call } from "../e2e/http.ts";
import { keysOf } from "../e2e/operator.ts";
import { type Router, startRouter, type Topology, topologies } from "../e2e/topology.ts";
import { expectExactBooks, expectHonestAnswers, holdsOf, noOpenHolds } from "./books.ts";
import { type CustomerKey, mintKey, mintManagementKey, openAccount } from "./customers.ts";
import { type Gateway, startGateway } from "./extra-gateway.ts";
import { flushRedis } from "./flush-redis.ts";
import { chat, type LoadBounds, type RunningLoad, startLoad, tally } from "./load.ts";
import { killProcess } from "./processes.ts";
import { startUpstream, type Upstream } from "./upstream.ts";

/** Requests that end before the revocation of the key, and that begin after it. */
const BEFORE = 150;
const AFTER = 150;
const HEAVY: LoadBounds = { perSecond: 500, most: 5_000, together: 100 };
/** Rate so low that all its holds can be listed. */
const STEADY: LoadBounds = { perSecond: 120, most: 5_000, together: 100 };
const LIFETIME_MS = 6_000;
const NO_LIMITS = {
  RATE_LIMIT_TEXT_PER_SECOND: "100000",
  RATE_LIMIT_BURST_SECONDS: "60",
  RATE_LIMIT_ANONYMOUS_PER_SECOND: "0",
};
const PATIENCE = { timeoutMs: 180_000 };
const TEST_MS = 600_000;

describe.each(topologies)("a key in heavy use: %s", (topology: Topology) => {
  let upstream: Upstream;
  let router: Router;
  let other: Gateway | undefined;
  const accounts: string[] = [];

  beforeAll(async () => {
    upstream = await startUpstream();
    router = await startRouter(topology, { sharedPostgres: true, env: { ...upstream.env, ...NO_LIMITS } });
    if (topology === "split") other = await startGateway(router, NO_LIMITS);
  });
  afterAll(async () => {
    await other?.stop();
    await router?.dispose();
    await upstream?.close();
  });

  async function newKey(expiresAt?: number): Promise<CustomerKey> {
    const accountId = await openAccount(router.dataDir, creditsOf("10"));
    accounts.push(accountId);
    return await mintKey(router.dataDir, accountId, expiresAt === undefined ? {} : { expiresAt });
  }

  function use({ secret }: CustomerKey, bounds: LoadBounds): RunningLoad {
    const doors = [router.baseUrl, ...(other === undefined ? [] : [other.baseUrl])];
    return startLoad(
      (index) => ({ ...chat(20, index % 3 === 0), baseUrl: doors[index % doors.length] ?? "", secret }),
      bounds,
    );
  }

  /**
   * @param end Unix milliseconds: later requests are refused, with this code
   * @param fewest holds that were placed before
   */
  async function expectEnd(
    load: RunningLoad,
    key: CustomerKey,
    { end, code, fewest }: { end: number; code: string; fewest: number },
  ): Promise<void> {
    const begun = load.started();
    await until(() => load.started() >= begun + AFTER, PATIENCE);
    const sent = await load.end();
    // No request fails or is refused for another reason.
    expect(Object.keys(tally(sent)).sort()).toEqual(["200", "401 unauthorized"]);
    const late = sent.filter(({ startedAt }) => startedAt > end);
    expect(late.length).toBeGreaterThan(AFTER / 2);
    expect(late.filter(({ error }) => error?.code !== code)).toEqual([]);
    await noOpenHolds(router.dataDir, PATIENCE.timeoutMs);
    const holds = [...(await holdsOf(router.dataDir, key.accountId)).values()];
    expect(holds.length).toBeGreaterThanOrEqual(fewest);
    expect(holds.filter(({ placedAt }) => Number(placedAt) > end)).toEqual([]);
    await expectHonestAnswers(router.dataDir, key.accountId, sent);
    await expectExactBooks(router.dataDir, upstream, accounts);
  }

  /** @param revoke deletes the key, with the delete call of its owner; quick, so that all holds can be listed */
  async function revokeInUse(
    revoke: (key: CustomerKey, deleteByOwner: () => Promise<void>) => Promise<void>,
  ): Promise<void> {
    const key = await newKey();
    const managementKey = await mintManagementKey(router.dataDir, key.accountId);
    const load = use(key, HEAVY);
    try {
      await until(() => load.sent.length >= BEFORE, PATIENCE);
      await revoke(key, () => deleteByOwner(key, managementKey));
      await expectEnd(load, key, { end: Date.now(), code: "invalid_api_key", fewest: BEFORE / 2 });
    } finally {
      await load.end();
    }
  }

  async function deleteByOwner({ keyId }: CustomerKey, managementKey: string): Promise<void> {
    const { status, body } = await call(router, "DELETE", `/v1/api-keys/${keyId}`, { key: managementKey });
    expect([status, body]).toEqual([200, { id: keyId, deleted: true }]);
  }

  async function disable({ accountId, keyId }: CustomerKey): Promise<void> {
    const { key } = await (await keysOf(router.dataDir)).updateKey({ accountId, keyId, active: false });
    expect(key?.active).toBe(false);
  }

  test(
    "deleted: nothing is spent after the answer",
    () => revokeInUse((_, deleteByOwner) => deleteByOwner()),
    TEST_MS,
  );

  test("disabled: nothing is spent after the answer", () => revokeInUse(disable), TEST_MS);

  test(
    "expired: nothing is spent from that moment on",
    async () => {
      const expiresAt = Date.now() + LIFETIME_MS;
      const key = await newKey(expiresAt);
      const load = use(key, STEADY);
      try {
        await until(() => Date.now() > expiresAt, PATIENCE);
        // The number within its life depends on the machine.
        await expectEnd(load, key, { end: expiresAt - 1, code: "api_key_expired", fewest: 1 });
      } finally {
        await load.end();
      }
    },
    TEST_MS,
  );

  if (topology === "split") {
    test(
      "deleted while Redis is empty: nothing is spent after the answer",
      async () => {
        await revokeInUse(async (_, deleteByOwner) => {
          await flushRedis(router.dataDir);
          await deleteByOwner();
          await flushRedis(router.dataDir);
        });
      },
      TEST_MS,
    );

    test(
      "disabled while Redis dies: nothing is spent after the answer",
      async () => {
        await revokeInUse(async (key) => {
          await killProcess(router.pid, "redis");
          await disable(key);
        });
      },
      TEST_MS,
    );
  }
});
