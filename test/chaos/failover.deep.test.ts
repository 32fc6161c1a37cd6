// C12: PostgreSQL fails over to its standby. With synchronous replication no confirmed commit is lost, no commit is
// confirmed without the standby, and the router finds the new primary without help. Without it charges are lost, and
// the same checks notice.
import { creditsOf } from "@gr/money";
import { type ReplicatedPostgres, startReplicatedPostgres, until } from "@gr/testing";
import { Random } from "@gr/testing/random";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Router, startRouter } from "../e2e/topology.ts";
import { expectExactBooks, expectHonestAnswers, holdsOf, noOpenHolds } from "./books.ts";
import { mintKey, openAccount } from "./customers.ts";
import { chat, image, type RunningLoad, sendAll, startLoad, tally } from "./load.ts";
import { type Customer, expectExactMoney, mixOf, openCustomer, SHORT_WAITS } from "./mixed-load.ts";
import type { Conclusion, Order, Sent } from "./send-order.ts";
import { startUpstream, type Upstream } from "./upstream.ts";

const SEED = 20_261_122;
const LOAD = { perSecond: 40, most: 2_000, together: 24, backOffMs: 500 };
const PATIENCE = { timeoutMs: 180_000 };
const REFUSED = { status: 503, conclusion: "refused", error: { code: "billing_unavailable" } };

let upstream: Upstream;
let database: ReplicatedPostgres;
let router: Router;

async function start(replication: { synchronous: boolean }): Promise<void> {
  upstream = await startUpstream({ tokenDelayMs: 10, imageDelayMs: 100 });
  database = await startReplicatedPostgres(replication);
  const env = { ...upstream.env, ...SHORT_WAITS, DATABASE_URL: database.address.url };
  router = await startRouter("all-in-one", { env });
}

async function stop(): Promise<void> {
  await router?.dispose();
  await database?.close();
  await upstream?.close();
}

/** Waits until this number of further such orders has this conclusion. */
async function more(load: RunningLoad, count: number, conclusion: Conclusion, of: (order: Order) => boolean) {
  const answers = () => load.sent.filter((one) => one.conclusion === conclusion && of(one.order)).length;
  const wanted = answers() + count;
  await until(() => {
    if (answers() >= wanted) return true;
    throw new Error(`${wanted - answers()} too few are ${conclusion}: ${JSON.stringify(tally(load.sent))}`);
  }, PATIENCE);
}

describe("with a synchronous standby", () => {
  let careful: Customer;
  let careless: Customer;
  beforeAll(async () => {
    await start({ synchronous: true });
    careful = await openCustomer(router.dataDir, { careful: true });
    careless = await openCustomer(router.dataDir, { careful: false });
  });
  afterAll(stop, 120_000);

  test("that is away nothing is started, and once it is back everything is as before", async () => {
    // One for each service, since each of them waits for its own calls.
    const [secret = ""] = careless.secrets;
    const orders = [chat(20, true), image("a lighthouse")].map((what) => {
      return { ...what, baseUrl: router.baseUrl, secret };
    });
    await database.stopStandby();
    const refused = await sendAll(orders).all();
    expect(refused).toMatchObject([REFUSED, REFUSED]);
    expect((await upstream.bill()).items).toEqual([]);
    await database.startStandby();
    const paid: Sent[] = [];
    await until(async () => {
      const answers = await sendAll(orders).all();
      paid.push(...answers.filter(({ conclusion }) => conclusion === "paid"));
      return answers.every(({ conclusion }) => conclusion === "paid");
    }, PATIENCE);
    await noOpenHolds(router.dataDir, PATIENCE.timeoutMs);
    await expectHonestAnswers(router.dataDir, careless.accountId, [...refused, ...paid]);
    await expectExactBooks(router.dataDir, upstream, [careless.accountId]);
  });

  test("a fail-over under load loses nothing, charges nothing twice, and needs no restart", async () => {
    const customers = [careful, careless];
    const load = startLoad(mixOf(new Random(SEED), router.baseUrl, customers), LOAD);
    try {
      for (const { secrets } of customers) {
        await more(load, 12, "paid", ({ secret }) => secrets.includes(secret));
      }
      await database.killPrimary();
      // The address resolves to the standby before it may write, as when names and servers change one by one.
      database.address.leadTo(database.standbyUrl);
      await more(load, 10, "refused", () => true);
      await database.promote();
      await more(load, 20, "paid", ({ path }) => path.includes("chat"));
      await more(load, 2, "paid", ({ path }) => path.includes("images"));
    } finally {
      await load.end();
    }
    expect(load.sent.filter(({ error }) => /TIMEOUT/.test(error?.code ?? ""))).toEqual([]);
    await noOpenHolds(router.dataDir, PATIENCE.timeoutMs);
    await expectExactMoney(router.dataDir, upstream, customers, load.sent);
  });
});

describe("without a synchronous standby", () => {
  beforeAll(() => start({ synchronous: false }), 240_000);
  afterAll(stop, 120_000);

  test("a fail-over loses charges, and these checks notice", async () => {
    const account = await openAccount(router.dataDir, creditsOf("10"));
    const { secret } = await mintKey(router.dataDir, account);
    const order = { ...chat(20, false), baseUrl: router.baseUrl, secret };
    const kept = await sendAll([order, order, order]).all();
    await database.caughtUp();
    await database.stopStandby();
    const lost = await sendAll([order, order, order]).all();
    expect(tally([...kept, ...lost])).toEqual({ 200: 6 });
    await database.killPrimary();
    await database.startStandby();
    await database.promote();
    database.address.leadTo(database.standbyUrl);
    await until(async () => (await sendAll([order]).all())[0]?.status === 200, PATIENCE);
    await noOpenHolds(router.dataDir, PATIENCE.timeoutMs);
    const holds = await holdsOf(router.dataDir, account);
    expect(lost.filter(({ requestId }) => holds.has(requestId))).toEqual([]);
    await expectHonestAnswers(router.dataDir, account, kept);
    await expect(expectHonestAnswers(router.dataDir, account, lost)).rejects.toThrow();
    await expect(expectExactBooks(router.dataDir, upstream, [account])).rejects.toThrow();
  });
});
