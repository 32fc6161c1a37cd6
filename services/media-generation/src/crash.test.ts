// kill -9 at every point where it could hurt: afterwards nobody is charged twice or for nothing, no hold stays open,
// and what the provider billed is in the books. The process is a real one; billing and the provider outlive it.
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HoldState, type Operation, ReleaseReason } from "@gr/proto/billing";
import { type RunningProcess, startProcess } from "@gr/runtime";
import { type TestDatabase, until } from "@gr/testing";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import pg from "pg";
import { fixedCatalog } from "./test/fixed-catalog.ts";
import { migratedDatabase } from "./test/migrated-database.ts";
import { drawPicture } from "./test/pictures.ts";
import { createRecordingBilling, type RecordingBilling } from "./test/recording-billing.ts";
import { type ScriptedServer, startScriptedServer } from "./test/scripted-server.ts";
import { type MediaChild, startChild } from "./test/start-child.ts";
import { environment, postJson, QUICK } from "./test/start-media.ts";

let upstream: ScriptedServer;
let billing: RecordingBilling;
let peers: RunningProcess;
let database: TestDatabase;
let dataDir: string;
let child: MediaChild;
let other: MediaChild | undefined;
let env: Record<string, string>;

beforeEach(async () => {
  upstream = await startScriptedServer();
  billing = createRecordingBilling();
  database = await migratedDatabase();
  dataDir = await mkdtemp(join(tmpdir(), "media-crash-"));
  env = environment(database.url, dataDir, {
    upstreamUrl: upstream.url,
    env: { ...QUICK, MEDIA_TIMEOUT_MS: "3000" },
  });
  peers = await startProcess([billing.module, fixedCatalog], { env });
  const address = { rpc: `http://127.0.0.1:${peers.rpcPort}`, http: `http://127.0.0.1:${peers.httpPort}` };
  env = {
    ...env,
    BILLING_RPC_URL: address.rpc,
    BILLING_HTTP_URL: address.http,
    CATALOG_RPC_URL: address.rpc,
    CATALOG_HTTP_URL: address.http,
  };
  child = await startChild(env);
});
afterEach(async () => {
  await child.kill();
  await other?.kill();
  other = undefined;
  await peers.stop();
  await upstream.close();
  await database.drop();
  await rm(dataDir, { recursive: true, force: true });
});

const is = (kind: Operation["operation"]["case"]) => (operations: readonly Operation[]) =>
  operations.some(({ operation }) => operation.case === kind);

/** Kills the process as soon as `hook` is reached, and starts another one on the same data. */
async function crashAt(arm: (crash: () => Promise<void>) => void): Promise<void> {
  let dead: () => void = () => undefined;
  const death = new Promise<void>((resolve) => {
    dead = resolve;
  });
  arm(async () => {
    await child.kill();
    dead();
  });
  await expect(postJson(`${child.url}/v1/compat/images/generations`, fox)).rejects.toThrow();
  await death;
  billing.before = async () => undefined;
  billing.after = async () => undefined;
  child = await startChild(env);
  await until(() => billing.open().length === 0, { timeoutMs: 15_000 });
}

const fox = { model: "sandbox/image", prompt: "a fox" };
const hold = () => [...billing.holds.values()][0];
const picture = async () => ({
  status: 200,
  body: { data: [{ b64_json: (await drawPicture()).toString("base64") }] },
});
const mediaFiles = async () =>
  (await readdir(join(dataDir, "media"), { recursive: true })).filter((file) => /\.webp$/.test(file));

describe("kill -9", () => {
  test("between hold and call: the hold is released, nothing was sent", async () => {
    await crashAt((crash) => {
      billing.after = async (operations) => {
        if (is("place")(operations)) await crash();
      };
    });
    expect(hold()).toMatchObject({ state: HoldState.RELEASED, releaseReason: ReleaseReason.NOT_SENT });
    expect(upstream.requests).toEqual([]);
  }, 60_000);

  test("while the provider works, which bills it: found by look-up, ours, not the caller's", async () => {
    await crashAt((crash) =>
      upstream.play(crash, { status: 404 }, { status: 200, body: { pico_usd: "42" } }),
    );
    expect(hold()).toMatchObject({
      state: HoldState.RELEASED,
      releaseReason: ReleaseReason.FAILED,
      chargedCredits: 0n,
      costPicoUsd: 42n,
    });
    expect(upstream.requests.map(({ method }) => method)).toEqual(["POST", "GET", "GET"]);
  }, 60_000);

  test("while the provider works, which never bills it: two look-ups, then given up", async () => {
    await crashAt((crash) => upstream.play(crash, { status: 404 }));
    expect(hold()).toMatchObject({
      state: HoldState.RELEASED,
      releaseReason: ReleaseReason.UNRESOLVED,
      costPicoUsd: 0n,
    });
    expect(upstream.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
    expect(upstream.requests.filter(({ method }) => method === "GET").length).toBeGreaterThanOrEqual(2);
  }, 60_000);

  test("before the capture commits: captured once, by the next process, and the image is there", async () => {
    upstream.play(await picture());
    await crashAt((crash) => {
      billing.before = async (operations) => {
        if (!is("capture")(operations)) return;
        await crash();
        throw new Error("the caller is dead");
      };
    });
    expect(hold()).toMatchObject({ state: HoldState.CAPTURED, chargedCredits: 100n });
    expect(billing.charged()).toBe(100n);
    expect(await mediaFiles()).toHaveLength(1);
    expect(upstream.requests).toHaveLength(1);
  }, 60_000);

  test("after the capture committed, before its answer: still charged once", async () => {
    upstream.play(await picture());
    await crashAt((crash) => {
      billing.after = async (operations) => {
        if (is("capture")(operations)) await crash();
      };
    });
    await until(() => billing.log.filter((entry) => entry === "capture").length >= 2, { timeoutMs: 10_000 });
    expect(billing.charged()).toBe(100n);
    expect(await mediaFiles()).toHaveLength(1);
  }, 60_000);

  test("between the files and the row: the files are removed, the cost is found, nobody is charged", async () => {
    const row = new pg.Client({ connectionString: database.url, options: "-c search_path=media_generation" });
    await row.connect();
    await crashAt((crash) =>
      upstream.play(
        async (response) => {
          // The row cannot be ended while somebody else holds it.
          await row.query("BEGIN");
          await row.query("SELECT FROM generation FOR UPDATE");
          response.end(JSON.stringify((await picture()).body));
          await until(async () => (await mediaFiles()).length === 1, { timeoutMs: 5_000 });
          await crash();
          await row.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
          );
          await row.query("COMMIT");
        },
        { status: 200, body: { pico_usd: "42" } },
      ),
    );
    await row.end();
    expect(hold()).toMatchObject({ state: HoldState.RELEASED, chargedCredits: 0n, costPicoUsd: 42n });
    await until(async () => (await mediaFiles()).length === 0, { timeoutMs: 5_000 });
  }, 60_000);

  test("before a release commits: released by the next process", async () => {
    upstream.play({ status: 500 });
    await crashAt((crash) => {
      billing.before = async (operations) => {
        if (!is("release")(operations)) return;
        await crash();
        throw new Error("the caller is dead");
      };
    });
    expect(hold()).toMatchObject({ state: HoldState.RELEASED, releaseReason: ReleaseReason.FAILED });
    expect(upstream.requests).toHaveLength(1);
  }, 60_000);
});

describe("two processes on one database", () => {
  test("do not take a generation from each other while its process lives", async () => {
    const patient = { ...env, MEDIA_TIMEOUT_MS: "20000", MEDIA_LEASE_MS: "1500" };
    await child.kill();
    child = await startChild(patient);
    const second = await startChild(patient);
    other = second;
    const longerThanTheLease = 3_000;
    upstream.play(async (response) => {
      await new Promise((resolve) => setTimeout(resolve, longerThanTheLease));
      response.end(JSON.stringify((await picture()).body));
    });
    const answers = await Promise.all(
      [child, second].map(({ url }) => postJson(`${url}/v1/compat/images/generations`, fox)),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(billing.charged()).toBe(200n);
    expect(upstream.requests.map(({ method }) => method)).toEqual(["POST", "POST"]);
  }, 60_000);

  test("the survivor ends what the dead one has begun", async () => {
    other = await startChild(env);
    upstream.play(child.kill, { status: 200, body: { pico_usd: "9" } });
    await expect(postJson(`${child.url}/v1/compat/images/generations`, fox)).rejects.toThrow();
    await until(() => billing.open().length === 0, { timeoutMs: 15_000 });
    expect(hold()).toMatchObject({ state: HoldState.RELEASED, chargedCredits: 0n, costPicoUsd: 9n });
  }, 60_000);
});
