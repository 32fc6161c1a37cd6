// The restore drill: a base backup of a running database, its archived log, and the restore to a moment that was not
// chosen beforehand. The books of that moment are exact. All later items are only on the upstream's bill, item by item.
import { chmod, cp, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { type PostgresServer, startPostgres } from "@gr/embedded";
import { connectPostgres, createLogger, type PoolClient } from "@gr/runtime";
import { until } from "@gr/testing";
import { Random } from "@gr/testing/random";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { billingOf } from "../e2e/operator.ts";
import { type Router, startRouter } from "../e2e/topology.ts";
import { answered } from "./answered.ts";
import { expectExactBooks, expectHonestAnswers, holdsOf, noOpenHolds } from "./books.ts";
import { startLoad } from "./load.ts";
import { type Customer, mixOf, openCustomer } from "./mixed-load.ts";
import type { Order } from "./send-order.ts";
import { startUpstream, type Upstream } from "./upstream.ts";

const SEED = 20_261_122;
const LOAD = { perSecond: 20, most: 600, together: 16 };
const MOMENT = "before_the_mistake";
const PATIENCE = { timeoutMs: 120_000 };
/** Files of a running server alone, or recreated at the start; the log is restored from the archive. */
const NOT_COPIED = /^(lock|lock\..*|postmaster\.(pid|opts)|\.s\.PGSQL.*|pg_internal\.init.*)$/;

let folder: string;
let archive: string;
let server: PostgresServer;
let upstream: Upstream;
let router: Router;

/** Runs work like the operator of the server, in one session. */
async function onServer<T>(work: (session: PoolClient) => Promise<T>): Promise<T> {
  const log = createLogger("silent", "test");
  const pool = await connectPostgres({ url: server.url, poolSize: 1, schema: "operator", log });
  try {
    const session = await pool.connect();
    return await work(session).finally(() => session.release());
  } finally {
    await pool.end();
  }
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "restore-"));
  await chmod(folder, 0o755);
  archive = join(folder, "archive");
  await mkdir(archive);
  // The server may run as another user.
  await chmod(archive, 0o777);
  server = await startPostgres({
    dataDir: join(folder, "original"),
    durable: true,
    settings: {
      wal_level: "replica",
      archive_mode: "on",
      archive_command: `test ! -f ${archive}/%f && cp %p ${archive}/%f`,
    },
  });
  upstream = await startUpstream({ tokenDelayMs: 5, imageDelayMs: 100 });
  router = await startRouter("all-in-one", { env: { ...upstream.env, DATABASE_URL: server.url } });
});
afterAll(async () => {
  await router?.dispose();
  await server?.stop();
  await upstream?.close();
  await rm(folder, { recursive: true, force: true });
});

test("a database that is restored to a moment has the exact books of that moment, and goes on", async () => {
  const customers: Customer[] = [];
  for (const careful of [true, false]) customers.push(await openCustomer(router.dataDir, { careful }));
  const accounts = customers.map(({ accountId }) => accountId);
  const before = startLoad(mix(customers, 0), LOAD);
  await answered(before, 40);
  const backup = await createBackup();
  await answered(before, 40);
  await before.end();
  await noOpenHolds(router.dataDir, PATIENCE.timeoutMs);
  await expectExactBooks(router.dataDir, upstream, accounts);
  const verdict = await (await billingOf(router.dataDir)).verifyLedger({});
  await reach(MOMENT);

  const after = startLoad(mix(customers, 1), LOAD);
  await answered(after, 40);
  await after.end();
  await noOpenHolds(router.dataDir, PATIENCE.timeoutMs);
  expect(await router.stop()).toBe(0);
  await archiveAll();
  await server.stop();

  await restore(backup);
  router = await startRouter("all-in-one", {
    dataDir: router.dataDir,
    env: { ...upstream.env, DATABASE_URL: server.url },
  });
  // All of it was restored, and no later commit.
  expect(await (await billingOf(router.dataDir)).verifyLedger({})).toEqual(verdict);
  for (const { accountId, secrets } of customers) {
    const answers = before.sent.filter(({ order }) => secrets.includes(order.secret));
    await expectHonestAnswers(router.dataDir, accountId, answers);
  }
  const known = new Set<string>();
  for (const id of accounts) for (const hold of (await holdsOf(router.dataDir, id)).keys()) known.add(hold);
  const { total, items } = await upstream.bill();
  const missing = items.filter(({ requestId }) => !known.has(requestId));
  expect(missing.length).toBeGreaterThanOrEqual(40);
  expect(missing.filter(({ requestId }) => before.sent.some((one) => one.requestId === requestId))).toEqual(
    [],
  );
  const lost = missing.reduce((sum, { picoUsd }) => sum + picoUsd, 0n);
  expect(BigInt(verdict.chargedCostPicoUsd) + BigInt(verdict.lostCostPicoUsd)).toBe(total - lost);

  const again = startLoad(mix(customers, 2), LOAD);
  await answered(again, 20);
  await again.end();
  await noOpenHolds(router.dataDir, PATIENCE.timeoutMs);
  expect((await (await billingOf(router.dataDir)).verifyLedger({})).differences).toEqual([]);
});

/** Other orders in each part, with other Idempotency-Keys. */
function mix(customers: readonly Customer[], part: number): (index: number) => Order {
  const next = mixOf(new Random(SEED + part), router.baseUrl, customers);
  return (index) => next(part * LOAD.most + index);
}

/** Copies the files of a running server between two marks, like pg_basebackup. @returns their folder */
async function createBackup(): Promise<string> {
  const backup = join(folder, "backup");
  await onServer(async (session) => {
    await session.query("SELECT pg_backup_start('drill', true)");
    await cp(join(folder, "original"), backup, { recursive: true, filter: isCopied });
    const { rows } = await session.query<{ labelfile: string }>("SELECT labelfile FROM pg_backup_stop(true)");
    await writeFile(join(backup, "cluster", "backup_label"), rows[0]?.labelfile ?? "");
  });
  return backup;
}

const isCopied = (path: string) => !NOT_COPIED.test(basename(path)) && !/\/pg_wal\/[0-9A-F]{24}$/.test(path);

/** Names this moment. */
async function reach(moment: string): Promise<void> {
  await onServer((session) => session.query("SELECT pg_create_restore_point($1)", [moment]));
}

/** Resolves once the log so far is in the archive. */
async function archiveAll(): Promise<void> {
  await onServer(async (session) => {
    const { rows } = await session.query<{ file: string }>("SELECT pg_walfile_name(pg_switch_wal()) AS file");
    await until(async () => (await readdir(archive)).includes(rows[0]?.file ?? ""), PATIENCE);
  });
}

/** Starts another server, from the backup and the archive. */
async function restore(backup: string): Promise<void> {
  await writeFile(join(backup, "cluster", "recovery.signal"), "");
  server = await startPostgres({
    dataDir: backup,
    durable: true,
    settings: {
      wal_level: "replica",
      hot_standby: "off",
      restore_command: `cp ${archive}/%f %p`,
      recovery_target_name: MOMENT,
      recovery_target_action: "promote",
    },
  });
}
