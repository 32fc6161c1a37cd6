// F10: the disk of PostgreSQL is really full. First tables cannot grow, then its log cannot be written and it dies, and
// cannot be started. Requests are refused with 503 before the upstream; with free space again all parts recover without
// help, and the money is exact.
import { connectPostgres, createLogger, type Pool } from "@gr/runtime";
import { until } from "@gr/testing";
import { Random } from "@gr/testing/random";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { type Router, startRouter } from "../e2e/topology.ts";
import { noOpenHolds } from "./books.ts";
import { chat, sendAll, startLoad, tally } from "./load.ts";
import { expectExactMoney, mixOf, openCustomer, SHORT_WAITS } from "./mixed-load.ts";
import { type SmallDiskPostgres, startSmallDiskPostgres } from "./small-disk-postgres.ts";
import { startUpstream, type Upstream } from "./upstream.ts";

const SEED = 20_261_123;
const LOAD = { perSecond: 40, most: 3_000, together: 24, backOffMs: 500 };
const PATIENCE = { timeoutMs: 120_000 };
const SOME = 15;

let upstream: Upstream;
let database: SmallDiskPostgres;
let router: Router;
/** The operator's session, opened while there is space. */
let session: Pool;
beforeEach(async () => {
  upstream = await startUpstream({ tokenDelayMs: 5, imageDelayMs: 50 });
  database = await startSmallDiskPostgres();
  const log = createLogger("silent", "test");
  session = await connectPostgres({ url: database.url, poolSize: 1, schema: "operator", log });
  router = await startRouter("all-in-one", {
    env: { ...upstream.env, ...SHORT_WAITS, DATABASE_URL: database.url },
  });
});
afterEach(async () => {
  await router?.dispose();
  await session?.end();
  await database?.close();
  await upstream?.close();
});

/** Begins new files of the log until there is no space for one; the server dies of that. */
async function exhaustLog(session: Pool): Promise<void> {
  const fill = "SELECT pg_logical_emit_message(false, 'full', repeat('x', 1000000)), pg_switch_wal()";
  await until(async () => {
    const alive = await session.query(fill).then(
      () => true,
      () => false,
    );
    return !alive;
  }, PATIENCE);
}

test("a full disk refuses, forgets nothing, and with room again needs no restart", async () => {
  const customers = [
    await openCustomer(router.dataDir, { careful: true }),
    await openCustomer(router.dataDir, { careful: false }),
  ];
  const load = startLoad(mixOf(new Random(SEED), router.baseUrl, customers), LOAD);
  const more = async (conclusion: "paid" | "refused") => {
    const count = () => load.sent.filter((one) => one.conclusion === conclusion).length;
    const wanted = count() + SOME;
    await until(() => {
      if (count() >= wanted) return true;
      throw new Error(`${wanted - count()} too few are ${conclusion}: ${JSON.stringify(tally(load.sent))}`);
    }, PATIENCE);
  };
  try {
    await more("paid");
    await database.fill();
    await exhaustLog(session);
    await more("refused");
    const order = { ...chat(5, false), baseUrl: router.baseUrl, secret: customers[1]?.secrets[0] ?? "" };
    const [refused] = await sendAll([order]).all();
    expect(refused).toMatchObject({ status: 503, conclusion: "refused" });
    await database.empty();
    await more("paid");
  } finally {
    await load.end();
  }
  await noOpenHolds(router.dataDir, PATIENCE.timeoutMs);
  await expectExactMoney(router.dataDir, upstream, customers, load.sent);
});
