// Retention of media: files are deleted at the end of their period, the log and the money
// stay. No storage is listed for it.
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { MediaGenerationService } from "@gr/proto/media";
import { createRemoteTransport, createServiceClient, systemClock } from "@gr/runtime";
import { type RunningSimulator, startSimulator } from "@gr/simulator";
import { ManualClock, until } from "@gr/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { SWEEP_EVERY_MS } from "./module.ts";
import { deleteRemovedAgain, expireMedia } from "./retention/expire-media.ts";
import { createRetentionStore, type Days } from "./retention/retention-store.ts";
import { createFolderStorage } from "./storage/folder-storage.ts";
import type { MediaStorage } from "./storage/media-storage.ts";
import { caller } from "./test/edge.ts";
import { fillLog } from "./test/log-store.ts";
import { INTERNAL_AUTH_SECRET, type MediaUnderTest, PATIENT, startMedia } from "./test/start-media.ts";

const DAY_MS = 86_400_000;
/** Sweeps of one process: uploads, files, deliveries. */
const SWEEPS = 3;
const fox = { model: "sandbox/image", prompt: "a fox" };
const { accountId } = caller;

let simulator: RunningSimulator;
let media: MediaUnderTest;
let clock: ManualClock;
let storage: MediaStorage;
let notRemoved: string[];
beforeAll(async () => {
  simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
  media = await startMedia({ upstreamUrl: simulator.url, env: PATIENT });
  storage = await createFolderStorage(join(media.dataDir, "media"));
});
afterAll(async () => {
  await media.stop();
  await simulator.close();
});
beforeEach(async () => {
  clock = new ManualClock(Date.now());
  notRemoved = [];
  await media.db.query("TRUNCATE generation, media_retention");
  for (const name of await media.files()) await storage.delete(name);
});

const deps = (days: Days, files: Pick<MediaStorage, "delete">) => {
  const events = { expired: () => undefined, notRemoved: (id: string) => notRemoved.push(id) };
  return { retention: createRetentionStore(media.db), storage: files, now: clock.now(), days, events };
};
const round = (days: Days, files: Pick<MediaStorage, "delete"> = storage) =>
  expireMedia(deps(days, files), new AbortController().signal);
const rpc = () => {
  const transport = createRemoteTransport(media.rpcUrl(), INTERNAL_AUTH_SECRET, systemClock);
  return createServiceClient(MediaGenerationService, "media-generation", transport);
};
const idOf = (headers: Headers) => headers.get("x-request-id") ?? "";

describe("media that have been kept as long as they were to be", () => {
  test("go after their last day, and no earlier; what was asked for and charged stays in the log", async () => {
    const { headers, body } = await media.generate({ ...fox, n: 2 });
    const id = idOf(headers);
    const { body: before } = await media.logged(id);
    clock.advance(30 * DAY_MS - 60_000);
    await round(30);
    expect((await media.logged(id)).body).toEqual({ ...before, expired: false });
    expect(await media.outputs()).toHaveLength(2);
    clock.advance(120_000);
    await round(30);
    expect((await media.logged(id)).body).toEqual({ ...before, data: [], expired: true });
    expect(await media.files()).toEqual([]);
    expect((await fetch(media.url() + new URL(body.data[0].url).pathname)).status).toBe(404);
  });

  test("are gone for a repeat under the same Idempotency-Key, too", async () => {
    const repeat = () => media.generate(fox, undefined, { "idempotency-key": "the same" });
    await repeat();
    const { length: placed } = media.billing.holds;
    clock.advance(2 * DAY_MS);
    await round(1);
    const { status, body } = await repeat();
    expect([status, body.error.code]).toEqual([409, "idempotency_not_replayable"]);
    expect(media.billing.holds).toHaveLength(placed);
  });

  test("stay for ever where nothing is set", async () => {
    await media.generate(fox);
    clock.advance(36_500 * DAY_MS);
    await round(0);
    expect(await media.outputs()).toHaveLength(1);
  });

  test("are tried again when the storage fails, and the others go all the same", async () => {
    const [stuck, other] = [await media.generate(fox), await media.generate(fox)];
    const stuckName = stuck.body.data[0].url.split("/").at(-1);
    clock.advance(2 * DAY_MS);
    await round(1, {
      delete: async (name) => {
        if (name === stuckName) throw new Error("not now");
        await storage.delete(name);
      },
    });
    expect(notRemoved).toEqual([idOf(stuck.headers)]);
    expect((await media.logged(idOf(stuck.headers))).body.expired).toBe(false);
    expect((await media.logged(idOf(other.headers))).body.expired).toBe(true);
    await round(1);
    expect(await media.files()).toEqual([]);
    expect((await media.logged(idOf(stuck.headers))).body.expired).toBe(true);
  });

  test("are found in an index, also among many that are kept", async () => {
    await fillLog(media.db);
    await media.db.query("UPDATE generation SET outputs = '[\"x.png\"]' WHERE key_id <> 'key-1'");
    // Statistics over all rows, so that the plan does not depend on a sample.
    await media.db.query("SET default_statistics_target = 1000; ANALYZE generation");
    const sent: { text: string; values: unknown[] }[] = [];
    const spy = {
      query: async (text: string, values: unknown[]) => {
        sent.push({ text, values });
        return { rows: [] };
      },
    };
    await createRetentionStore(spy as unknown as typeof media.db).findExpired(30, Date.now(), 100);
    const [query] = sent;
    const { rows } = await media.db.query(`EXPLAIN ${query?.text}`, query?.values);
    const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
    expect(plan).toContain("generation_kept");
    expect(plan).not.toContain("Seq Scan on generation");
  });
});

describe("files that a client has had removed", () => {
  const roundOfRemoved = (files: Pick<MediaStorage, "delete"> = storage) =>
    deleteRemovedAgain(deps(0, files), new AbortController().signal);

  test("are deleted once more, a day later: a process that stood still may have written them again", async () => {
    const { headers } = await media.generate(fox);
    const [name = ""] = await media.outputs();
    await fetch(`${media.url()}/v1/generations/${idOf(headers)}`, { method: "DELETE" });
    expect(await media.files()).toEqual([]);
    await storage.put(name, Buffer.from("late"));
    clock.advance(DAY_MS - 60_000);
    await roundOfRemoved();
    expect(await media.files()).toEqual([name]);
    clock.advance(120_000);
    await roundOfRemoved({ delete: () => Promise.reject(new Error("not now")) });
    expect([notRemoved, await media.files()]).toEqual([[idOf(headers)], [name]]);
    await roundOfRemoved();
    expect(await media.files()).toEqual([]);
    const deleted: string[] = [];
    await roundOfRemoved({ delete: async (file) => void deleted.push(file) });
    expect(deleted).toEqual([]);
  });

  test("stay as they are where nobody has removed them", async () => {
    await media.generate(fox);
    clock.advance(2 * DAY_MS);
    await roundOfRemoved();
    expect(await media.outputs()).toHaveLength(1);
  });
});

describe("an account's own term", () => {
  test("goes before the installation's, in both directions, and for what is there already", async () => {
    const other = randomUUID();
    await media.generate(fox);
    await media.db.query("UPDATE generation SET account_id = $1", [other]);
    const mine = await media.generate(fox);
    await rpc().setMediaRetention({ accountId, days: 90 });
    clock.advance(31 * DAY_MS);
    await round(30);
    expect(await media.outputs()).toEqual([mine.body.data[0].url.split("/").at(-1)]);
    await rpc().setMediaRetention({ accountId, days: 7 });
    await round(0);
    expect(await media.files()).toEqual([]);
  });

  test("is told, may be for ever, and can be taken back", async () => {
    const term = async () => {
      const { days, own } = await rpc().getMediaRetention({ accountId });
      return { days, own };
    };
    expect(await term()).toEqual({ days: 0, own: false });
    expect(await rpc().setMediaRetention({ accountId, days: 0 })).toMatchObject({ days: 0, own: true });
    await media.generate(fox);
    clock.advance(31 * DAY_MS);
    await round(30);
    expect(await media.outputs()).toHaveLength(1);
    expect(await rpc().setMediaRetention({ accountId })).toMatchObject({ days: 0, own: false });
    await round(30);
    expect(await media.files()).toEqual([]);
  });

  test.each([
    [{ accountId: "7", days: 1 }, /account_id must be a UUID/],
    [{ accountId, days: -1 }, /days/],
    [{ accountId, days: 36_501 }, /days/],
  ])("%j is refused", async (request, sentence) => {
    await expect(rpc().setMediaRetention(request)).rejects.toThrow(sentence);
    expect(await rpc().getMediaRetention({ accountId })).toMatchObject({ own: false });
  });
});

/** Counts the pauses between two sweeps, which begin after the first ones. */
class SweepClock extends ManualClock {
  sweeps = 0;

  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms === SWEEP_EVERY_MS) this.sweeps += 1;
    return super.sleep(ms, signal);
  }
}

test("a process with a clock a year ahead deletes no file", async () => {
  await media.generate(fox);
  const ahead = new SweepClock(Date.now() + 365 * DAY_MS);
  await media.restart({ env: { MEDIA_RETENTION_DAYS: "30" }, clock: ahead });
  try {
    await until(() => ahead.sweeps === SWEEPS, { timeoutMs: 60_000 });
  } finally {
    await media.restart();
  }
  expect(await media.outputs()).toHaveLength(1);
});

test("a process removes by itself what is over when it starts, and shows it to the account's owner", async () => {
  const { headers } = await media.generate(fox);
  await media.db.query("UPDATE generation SET finished_at = now() - interval '31 days'");
  await media.restart({ env: { MEDIA_RETENTION_DAYS: "30" } });
  await until(async () => (await media.files()).length === 0, { timeoutMs: 60_000 });
  await until(async () => (await media.logged(idOf(headers))).body.expired, { timeoutMs: 60_000 });
  const { generations } = await rpc().listGenerations({ accountId });
  expect(generations).toMatchObject([{ expired: true, urls: [], deleted: false }]);
  expect(await media.metrics()).toContain("media_expired_total 1");
});
