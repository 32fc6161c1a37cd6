// kill -9 at every dangerous point: afterwards no account is charged twice or for nothing, no hold stays open,
// and the provider's bill is booked. The process is a real one; billing and the provider outlive it.
import { HoldState, ReleaseReason } from "@gr/proto/billing";
import { until } from "@gr/testing";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { CrashRing, fox, generate, pictureAnswer, type RunningMedia } from "./test/crash-ring.ts";
import { cutConnections, otherConnections } from "./test/log-store.ts";
import type { ScriptEntry } from "./test/scripted-server.ts";
import { answerOf, movesOf } from "./test/start-media.ts";
import { mp4Of } from "./test/videos.ts";
import { startWebhookReceiver, type WebhookReceiver } from "./test/webhook-receiver.ts";

/** An unknown outcome is released when its deadline has passed, and not before. */
const SOON_OVERDUE = { MEDIA_TIMEOUT_MS: "8000" };

let ring: CrashRing;
beforeEach(async () => {
  ring = await CrashRing.start();
});
afterEach(() => ring.stop());

/** Crashes the process before billing has received the operation. */
function beforeCommitOf(kind: "capture" | "release") {
  return (crash: () => Promise<void>) => {
    ring.billing.before = async (call) => {
      if (call.kind !== kind) return;
      await crash();
      throw new Error("the caller is dead");
    };
  };
}

function afterCommitOf(kind: "place" | "capture") {
  return (crash: () => Promise<void>) => {
    ring.billing.after = async (call) => {
      if (call.kind === kind) await crash();
    };
  };
}

/**
 * The row cannot be ended during another connection's lock: the crash happens after the answer and before any ending.
 */
function withTheRowLocked(crashWhen: () => Promise<void>) {
  return (crash: () => Promise<void>) =>
    ring.upstream.play(
      lockedWhile(async () => (await pictureAnswer()).body, crashWhen, crash),
      { status: 200, body: { pico_usd: "42" } },
    );
}

function lockedWhile(
  answer: () => object | Promise<object>,
  crashWhen: () => Promise<void>,
  crash: () => Promise<void>,
): ScriptEntry {
  return async (response) => {
    await ring.db.query("BEGIN");
    await ring.db.query("SELECT FROM generation FOR UPDATE");
    const body = JSON.stringify(await answer());
    await new Promise<void>((sent) => response.end(body, sent));
    await crashWhen();
    const connections = await otherConnections(ring.db);
    await crash();
    await cutConnections(ring.db, connections);
    await ring.db.query("COMMIT");
  };
}

describe("kill -9 before anything is sent", () => {
  test("C2, after the hold: released, nothing was sent", async () => {
    await ring.crashAt(afterCommitOf("place"), { env: SOON_OVERDUE });
    expect(ring.hold()).toMatchObject({
      state: HoldState.RELEASED,
      releaseReason: ReleaseReason.NOT_SENT,
    });
    expect(ring.upstream.requests).toEqual([]);
  });

  test("C2, after the row: cannot be told from C3, so it takes two look-ups", async () => {
    ring.upstream.play({ status: 404 });
    await ring.crashAt(
      (crash) => {
        ring.billing.before = async ({ kind }) => {
          if (kind !== "place") return;
          await ring.db.query("BEGIN");
          await ring.db.query("LOCK TABLE generation IN ACCESS EXCLUSIVE MODE");
        };
        ring.billing.after = async ({ kind }) => {
          if (kind !== "place") return;
          void until(waitsForTheTable, { timeoutMs: 60_000 })
            .then(crash)
            .then(() => ring.db.query("COMMIT"));
        };
      },
      { env: SOON_OVERDUE },
    );
    expect(ring.hold()).toMatchObject({
      state: HoldState.RELEASED,
      releaseReason: ReleaseReason.UNRESOLVED,
      chargedCredits: 0n,
    });
    expect(new Set(ring.methods())).toEqual(new Set(["GET"]));
    expect(ring.methods().length).toBeGreaterThanOrEqual(2);
  });

  async function waitsForTheTable(): Promise<boolean> {
    // Within a transaction PostgreSQL repeats its first snapshot.
    await ring.db.query("SELECT pg_stat_clear_snapshot()");
    const { rows } = await ring.db.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
       AND query LIKE 'INSERT INTO generation%'`,
    );
    return rows.length > 0;
  }
});

describe("kill -9 while the provider works", () => {
  test("C3, which bills it: found by look-up, ours, not the caller's", async () => {
    await ring.crashAt((crash) =>
      ring.upstream.play(crash, { status: 404 }, { status: 200, body: { pico_usd: "42" } }),
    );
    expect(ring.hold()).toMatchObject({
      state: HoldState.RELEASED,
      releaseReason: ReleaseReason.FAILED,
      chargedCredits: 0n,
      costPicoUsd: 42n,
    });
    expect(ring.methods()).toEqual(["POST", "GET", "GET"]);
  });

  test("C3, which never bills it: two look-ups, then given up; never sent again", async () => {
    await ring.crashAt((crash) => ring.upstream.play(crash, { status: 404 }), { env: SOON_OVERDUE });
    expect(ring.hold()).toMatchObject({
      state: HoldState.RELEASED,
      releaseReason: ReleaseReason.UNRESOLVED,
      costPicoUsd: 0n,
    });
    expect(ring.methods().filter((method) => method === "POST")).toHaveLength(1);
    expect(ring.methods().filter((method) => method === "GET").length).toBeGreaterThanOrEqual(2);
  });

  test("C3, with an Idempotency-Key: in progress until it is known, then free; charged once at last", async () => {
    const headers = { "idempotency-key": "k" };
    const next = await ring.crashAt(
      (crash) => ring.upstream.play(crash, { status: 404 }, { status: 200, body: { pico_usd: "42" } }),
      { headers },
    );
    ring.upstream.play(await pictureAnswer());
    const again = await generate(next, fox, headers);
    expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([200, null]);
    expect(ring.billing.charged).toBe(100n);
  });

  test("C6, after its answer was read: as C3, and no file is left", async () => {
    await ring.crashAt(withTheRowLocked(async () => undefined));
    expect(ring.hold()).toMatchObject({
      state: HoldState.RELEASED,
      chargedCredits: 0n,
      costPicoUsd: 42n,
    });
    expect(await ring.files()).toEqual([]);
  });

  test("C9, after the files were stored: they are removed, the cost is found, nobody is charged", async () => {
    const stored = () => until(async () => (await ring.outputs()).length === 1, { timeoutMs: 60_000 });
    await ring.crashAt(withTheRowLocked(stored));
    expect(ring.hold()).toMatchObject({
      state: HoldState.RELEASED,
      chargedCredits: 0n,
      costPicoUsd: 42n,
    });
    await until(async () => (await ring.files()).length === 0, { timeoutMs: 60_000 });
  });
});

describe("kill -9 when the row has ended", () => {
  beforeEach(async () => {
    ring.upstream.play(await pictureAnswer());
  });

  test("C6, before the capture commits: captured once, by the next process, and the image is there", async () => {
    await ring.crashAt(beforeCommitOf("capture"));
    expect(ring.hold()).toMatchObject({ state: HoldState.CAPTURED, chargedCredits: 100n });
    expect(ring.billing.charged).toBe(100n);
    expect(await ring.outputs()).toHaveLength(1);
    expect(ring.upstream.requests).toHaveLength(1);
  });

  test("C8, after the capture committed: still charged once, and the image is there", async () => {
    await ring.crashAt(afterCommitOf("capture"));
    const captures = () => movesOf(ring.billing).filter((entry) => entry === "capture").length;
    await until(() => captures() >= 2, { timeoutMs: 60_000 });
    expect(ring.billing.charged).toBe(100n);
    expect(await ring.outputs()).toHaveLength(1);
  });

  test.each([
    ["C6, before the capture commits", () => beforeCommitOf("capture")],
    ["C8, after the capture committed", () => afterCommitOf("capture")],
  ])(
    "%s, with an Idempotency-Key: the answer that was lost is given, and nothing charged again",
    async (_point, arm) => {
      const headers = { "idempotency-key": "k" };
      const next = await ring.crashAt(arm(), { headers });
      const again = await generate(next, fox, headers);
      expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([200, "true"]);
      const name = String(again.body.data[0].url).split("/").at(-1) ?? "";
      expect((await ring.outputs()).map((file) => file.split("/").at(-1))).toEqual([name]);
      expect((await fetch(`${next.url}/media/${name}`)).status).toBe(200);
      expect((await generate(next, fox, headers)).body).toEqual(again.body);
      expect(ring.billing.charged).toBe(100n);
      expect(ring.upstream.requests).toHaveLength(1);
    },
  );

  test("C6, before a release commits: released by the next process", async () => {
    ring.upstream.play({ status: 500 });
    await ring.crashAt(beforeCommitOf("release"));
    expect(ring.hold()).toMatchObject({
      state: HoldState.RELEASED,
      releaseReason: ReleaseReason.FAILED,
    });
    expect(ring.upstream.requests).toHaveLength(1);
  });
});

describe("kill -9 while a video is made that nobody waits for", () => {
  let receiver: WebhookReceiver;
  let callbackUrl: string;
  beforeEach(async () => {
    receiver = await startWebhookReceiver();
    callbackUrl = `${receiver.origin}/hook`;
    await ring.stop();
    ring = await CrashRing.start({ WEBHOOK_PRIVATE_ORIGINS: receiver.origin });
  });
  afterEach(() => receiver.close());

  /** The end of the only job has reached its receiver, and there is one delivery of it. */
  async function expectWebhook(type: string): Promise<void> {
    const isDelivered = async () =>
      (await ring.db.query("SELECT FROM webhook_delivery WHERE state = 'delivered'")).rowCount === 1;
    await until(isDelivered, { timeoutMs: 60_000 });
    const { rows } = await ring.db.query<{ id: string; job: string }>(
      "SELECT webhook_delivery.id, generation.id AS job FROM webhook_delivery, generation",
    );
    expect(rows).toHaveLength(1);
    expect(rows[0]?.id).toBe(rows[0]?.job);
    expect(new Set(receiver.received.map(({ body }) => `${body.id} ${body.type}`))).toEqual(
      new Set([`evt_${rows[0]?.id} ${type}`]),
    );
  }

  const job = { status: 200, body: { job: "7" } };
  const waiting = { status: 200, body: {} };
  const done = { status: 200, body: { b64_json: mp4Of().toString("base64") } };
  const film = { status: 200, headers: { "content-type": "video/mp4" }, body: mp4Of() };
  const bill = { status: 200, body: { pico_usd: "42" } };
  const urls = () => ({ status: 200, body: { urls: [`${ring.upstream.url}/film.mp4`] } });

  /** The only entry of the log, once it has ended. */
  async function ended(child: RunningMedia) {
    const list = async () => (await answerOf(await fetch(`${child.url}/v1/generations`))).body.data;
    await until(async () => (await list())[0]?.status !== "running", { timeoutMs: 60_000 });
    const entries = await list();
    expect(entries).toHaveLength(1);
    expect((await ring.db.query("SELECT FROM generation WHERE asynchronous")).rowCount).toBe(1);
    return entries[0];
  }

  const stored = () => until(async () => (await ring.outputs()).length === 1, { timeoutMs: 60_000 });

  test.each<[string, (crash: () => Promise<void>) => void]>([
    ["it is polled", (crash) => ring.upstream.play(job, waiting, crash, waiting, done)],
    ["its file is fetched", (crash) => ring.upstream.play(job, urls(), crash, urls(), film)],
    ["its file is stored and its row not ended", (crash) => playLocked(crash, stored)],
    ["its capture is asked for", (crash) => played(beforeCommitOf("capture"), crash)],
    ["its capture is answered", (crash) => played(afterCommitOf("capture"), crash)],
  ])("while %s: the next process ends it; made once, charged once, and its file is there", async (_, arm) => {
    const next = await ring.crashAt(arm, { later: true, callbackUrl });
    const entry = await ended(next);
    expect(entry).toMatchObject({ status: "succeeded", cost: 0.2, error: null });
    const name = String(entry.data[0].url).split("/").at(-1) ?? "";
    const served = await fetch(`${next.url}/media/${name}`);
    expect(Buffer.from(await served.arrayBuffer())).toEqual(mp4Of());
    expect(await ring.outputs()).toHaveLength(1);
    expect(ring.hold()).toMatchObject({ state: HoldState.CAPTURED, chargedCredits: 2_000n });
    expect(ring.billing.charged).toBe(2_000n);
    expect(ring.methods().filter((method) => method === "POST")).toHaveLength(1);
    await expectWebhook("video.completed");
  });

  test("while its webhook is sent: it is charged once, and the next process sends the webhook again", async () => {
    const answer = Promise.withResolvers<number>();
    receiver.status = answer.promise;
    await ring.crashAt(
      (crash) => {
        ring.upstream.play(job, done);
        void until(() => receiver.received.length === 1, { timeoutMs: 60_000 }).then(crash);
      },
      { later: true, callbackUrl },
    );
    receiver.status = 200;
    answer.resolve(200);
    // The lease of the dead process is over.
    await ring.db.query("UPDATE webhook_delivery SET due_at = now() WHERE state = 'pending'");
    await expectWebhook("video.completed");
    expect(receiver.received).toHaveLength(2);
    expect(ring.billing.charged).toBe(2_000n);
  });

  test("while it is submitted: never sent again, free, and what the provider billed is ours", async () => {
    const next = await ring.crashAt((crash) => ring.upstream.play(crash, bill), { later: true, callbackUrl });
    expect(await ended(next)).toMatchObject({ status: "failed", cost: 0, data: [] });
    expect(ring.hold()).toMatchObject({ state: HoldState.RELEASED, chargedCredits: 0n, costPicoUsd: 42n });
    expect(ring.methods()).toEqual(["POST", "GET"]);
    await expectWebhook("video.failed");
  });

  function played(arm: (crash: () => Promise<void>) => void, crash: () => Promise<void>): void {
    ring.upstream.play(job, done);
    arm(crash);
  }

  /** The row is locked from the last poll on; the next process polls once more. */
  function playLocked(crash: () => Promise<void>, when: () => Promise<void>): void {
    const locked = lockedWhile(() => done.body, when, crash);
    ring.upstream.play(job, locked, done);
  }
});
