// Every possible failure of a provider, of billing or of the disk: the client's error, the end of the hold, the row,
// and that no account pays for nothing.
import { chmod, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { HoldState, ReleaseReason } from "@gr/proto/billing";
import { RouteSchema } from "@gr/proto/catalog";
import { type RunningSimulator, startSimulator } from "@gr/simulator";
import { until } from "@gr/testing";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { ImageJob, KindSupport, MediaProvider, Progress } from "./providers/provider.ts";
import { ProviderError, type ProviderFailure } from "./providers/provider-error.ts";
import { fixedModels } from "./test/fixed-catalog.ts";
import { artifactOf, drawPicture } from "./test/pictures.ts";
import { type ScriptedServer, startScriptedServer } from "./test/scripted-server.ts";
import {
  type Answer,
  type MediaUnderTest,
  movesOf,
  PATIENT,
  QUICK,
  startMedia,
  UNDISTURBED,
} from "./test/start-media.ts";

const fox = { model: "sandbox/image", prompt: "a fox" };
const onlyHold = (media: MediaUnderTest) => media.billing.holds[0];
const settled = async (media: MediaUnderTest) => {
  await until(() => media.billing.openHolds.length === 0, { timeoutMs: 60_000 });
  await until(async () => (await media.row())["booked_at"] !== null, { timeoutMs: 60_000 });
};
/** Expires the leases of all rows now. */
const setDue = (media: MediaUnderTest) => media.db.query("UPDATE generation SET due_at = now()");
const pictureAnswer = async (count = 1, usage?: object) => ({
  status: 200,
  body: {
    data: Array.from({ length: count }, () => ({ b64_json: "" })).fill({
      b64_json: (await drawPicture()).toString("base64"),
    }),
    usage,
  },
});

describe("the simulator's faults", () => {
  let simulator: RunningSimulator;
  let media: MediaUnderTest;
  beforeEach(async () => {
    simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
    media = await startMedia({ upstreamUrl: simulator.url, env: PATIENT });
  });
  afterEach(async () => {
    await media.stop();
    await simulator.close();
  });

  test("an error is 502, free, and released at once", async () => {
    const { status, headers, body } = await media.generate({ ...fox, model: "sandbox/image-error" });
    expect(status).toBe(502);
    expect(body.error).toMatchObject({ type: "provider_error", code: "provider_error" });
    expect(headers.get("x-should-retry")).toBe("false");
    expect(onlyHold(media)).toMatchObject({
      state: HoldState.RELEASED,
      releaseReason: ReleaseReason.FAILED,
      costPicoUsd: 0n,
    });
    expect(await media.row()).toMatchObject({ state: "failed", error_kind: "failed", charge_credits: "0" });
  });

  test("a blocked prompt is 400 content_policy_violation, free, and blocked in the log", async () => {
    const { status, body } = await media.generate({ ...fox, model: "sandbox/image-blocked" });
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ type: "invalid_request_error", code: "content_policy_violation" });
    expect(onlyHold(media)).toMatchObject({ state: HoldState.RELEASED, costPicoUsd: 0n });
    expect(await media.row()).toMatchObject({ state: "blocked" });
  });

  test("a hang is 504; the hold stays open until two look-ups found no bill", async () => {
    await media.stop();
    media = await startMedia({ upstreamUrl: simulator.url, env: { ...QUICK, MEDIA_TIMEOUT_MS: "5000" } });
    const { status, body, headers } = await media.generate({ ...fox, model: "sandbox/image-hang" });
    expect(status).toBe(504);
    expect(body.error.code).toBe("provider_timeout");
    // The log has the client's error, before the look-ups and after them.
    const logged = { status: 200, body: { status: "failed", error: body.error, cost: 0, data: [] } };
    expect(await media.logged(headers.get("x-request-id"))).toMatchObject(logged);
    await settled(media);
    expect(await media.logged(headers.get("x-request-id"))).toMatchObject(logged);
    expect(onlyHold(media)).toMatchObject({
      state: HoldState.RELEASED,
      releaseReason: ReleaseReason.UNRESOLVED,
      costPicoUsd: 0n,
    });
    const row = await media.row();
    expect(row).toMatchObject({ state: "failed", error_kind: "unresolved", charge_credits: "0" });
    expect(row["unbilled_lookups"]).toBeGreaterThanOrEqual(1);
  });
});

describe("a scripted provider", () => {
  let upstream: ScriptedServer;
  let media: MediaUnderTest;
  beforeEach(async () => {
    upstream = await startScriptedServer();
    media = await startMedia({ upstreamUrl: upstream.url, env: UNDISTURBED });
  });
  afterEach(async () => {
    await media.stop();
    await upstream.close();
  });

  test.each([
    [{ status: 429, headers: { "retry-after": "7" } }, 503, "provider_unavailable", "7"],
    [{ status: 503 }, 503, "provider_unavailable", "2"],
    [{ status: 500 }, 502, "provider_error", null],
    [{ status: 401, body: { error: { message: "bad key sk-1" } } }, 503, "provider_unavailable", "30"],
    [{ status: 400, body: { error: { message: "Bad size." } } }, 400, "rejected_by_provider", null],
  ])("%j is %i %s, and free", async (answer, status, code, retryAfter) => {
    upstream.play(answer);
    const refused = await media.generate(fox);
    expect(refused.status).toBe(status);
    expect(refused.body.error.code).toBe(code);
    expect(refused.headers.get("retry-after")).toBe(retryAfter);
    expect(refused.body.error.message).not.toContain("sk-1");
    expect(movesOf(media.billing)).toEqual(["place", "release"]);
    expect(onlyHold(media)).toMatchObject({ state: HoldState.RELEASED, costPicoUsd: 0n });
  });

  test("a provider that is not there is 503, and free", async () => {
    await upstream.close();
    expect((await media.generate(fox)).status).toBe(503);
    expect(onlyHold(media)).toMatchObject({ state: HoldState.RELEASED, costPicoUsd: 0n });
    upstream = await startScriptedServer();
  });

  test("a reset after dispatch that was billed is 502; the cost is found and ours", async () => {
    upstream.play(
      (response) => {
        response.destroy();
      },
      { status: 200, body: { pico_usd: "123" } },
    );
    const { status, body } = await media.generate(fox);
    expect(status).toBe(502);
    expect(body.error.message).toContain("not charged");
    await settled(media);
    expect(upstream.requests[1]?.path).toBe(`/bill/${onlyHold(media)?.holdId}`);
    expect(onlyHold(media)).toMatchObject({
      state: HoldState.RELEASED,
      releaseReason: ReleaseReason.FAILED,
      chargedCredits: 0n,
      costPicoUsd: 123n,
    });
    expect(await media.row()).toMatchObject({ state: "failed", error_kind: "billed_without_answer" });
  });

  test("a bill that comes late is found by the second look-up", async () => {
    upstream.play(
      (response) => {
        response.destroy();
      },
      { status: 404 },
      { status: 200, body: { pico_usd: "5" } },
    );
    await media.generate(fox);
    await settled(media);
    expect(onlyHold(media)).toMatchObject({ state: HoldState.RELEASED, costPicoUsd: 5n });
    expect((await media.row())["unbilled_lookups"]).toBe(1);
  });

  test("look-ups take no place from those who want images", async () => {
    await media.stop();
    const env = { ...PATIENT, MEDIA_MAX_RUNNING: "1" };
    media = await startMedia({ upstreamUrl: upstream.url, env });
    const asked = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    upstream.play(
      (response) => {
        response.destroy();
      },
      async (response) => {
        asked.resolve();
        await released.promise;
        response.end('{"pico_usd":"5"}');
      },
      await pictureAnswer(),
    );
    await media.generate(fox);
    await asked.promise;
    expect((await media.generate(fox)).status).toBe(200);
    released.resolve();
    await until(() => media.billing.openHolds.length === 0, { timeoutMs: 60_000 });
  });

  test("a look-up that fails is no answer: the hold stays open", async () => {
    upstream.play(
      (response) => {
        response.destroy();
      },
      { status: 500 },
      { status: 200, body: "<html>" },
      { status: 200, body: { pico_usd: "-5" } },
      { status: 404 },
      { status: 200, body: { pico_usd: "5" } },
    );
    await media.generate(fox);
    await until(() => upstream.requests.length >= 4, { timeoutMs: 60_000 });
    expect(media.billing.openHolds).toHaveLength(1);
    await settled(media);
    expect(onlyHold(media)).toMatchObject({ state: HoldState.RELEASED, costPicoUsd: 5n });
  });

  test("nonsense instead of a picture is 502, free, and its cost is looked up", async () => {
    upstream.play({ status: 200, body: "{}" }, { status: 200, body: { pico_usd: "77" } });
    expect((await media.generate(fox)).status).toBe(502);
    await settled(media);
    expect(onlyHold(media)).toMatchObject({
      state: HoldState.RELEASED,
      chargedCredits: 0n,
      costPicoUsd: 77n,
    });
  });

  test("a picture that does not decode is 502 and free; what the provider bills is booked", async () => {
    const usage = { input_tokens: 10, output_tokens: 100 };
    const body = { data: [{ b64_json: Buffer.from("no picture").toString("base64") }], usage };
    upstream.play({ status: 200, body });
    const { status } = await media.generate({ ...fox, model: "openai/gpt-image-2" });
    expect(status).toBe(502);
    expect(onlyHold(media)).toMatchObject({
      state: HoldState.RELEASED,
      chargedCredits: 0n,
      costPicoUsd: 10n * 5_000_000n + 100n * 30_000_000n,
    });
    expect(await media.files()).toEqual([]);
  });

  const tokens = { input_tokens: 10, output_tokens: 100 };

  test.each([
    ["none", 0, { ...fox, n: 2 }, tokens, 0n],
    ["three, by the token", 3, { ...fox, model: "openai/gpt-image-2", n: 2 }, tokens, 3_050_000_000n],
    ["three, by the picture", 3, { ...fox, n: 2 }, tokens, 30_000_000_000n],
  ])("%s instead of two is 502 and free; what was made is booked", async (_, count, asked, usage, cost) => {
    upstream.play(await pictureAnswer(count, usage));
    expect((await media.generate(asked)).status).toBe(502);
    expect(onlyHold(media)).toMatchObject({
      state: HoldState.RELEASED,
      chargedCredits: 0n,
      costPicoUsd: cost,
    });
  });

  test("one bad picture of two makes both free, and leaves no file", async () => {
    const good = (await drawPicture()).toString("base64");
    const data = [{ b64_json: good }, { b64_json: Buffer.from("bad").toString("base64") }];
    upstream.play({ status: 200, body: { data } });
    expect((await media.generate({ ...fox, n: 2 })).status).toBe(502);
    expect(media.billing.charged).toBe(0n);
    expect(await media.files()).toEqual([]);
  });

  test("a disk that takes nothing is 500 and free", async () => {
    upstream.play(await pictureAnswer());
    const folder = join(media.dataDir, "media");
    await rm(folder, { recursive: true });
    await writeFile(folder, "not a folder");
    expect((await media.generate(fox)).status).toBe(500);
    expect(onlyHold(media)).toMatchObject({ state: HoldState.RELEASED, chargedCredits: 0n });
    expect(await media.row()).toMatchObject({ state: "failed", error_kind: "not_stored" });
    await chmod(folder, 0o600);
  });

  test("a database that cannot take the row is 503; nothing is sent, and the hold is freed", async () => {
    const locker = await media.db.connect();
    try {
      await locker.query("BEGIN; LOCK TABLE generation IN ACCESS EXCLUSIVE MODE");
      const { status, body } = await media.generate(fox);
      expect(status).toBe(503);
      expect(body.error).toMatchObject({
        code: "service_unavailable",
        message: expect.stringContaining("not charged"),
      });
    } finally {
      await locker.query("ROLLBACK");
      locker.release();
    }
    expect(upstream.requests).toEqual([]);
    expect(onlyHold(media)).toMatchObject({
      state: HoldState.RELEASED,
      releaseReason: ReleaseReason.NOT_SENT,
    });
    expect(await media.row()).toBeUndefined();
  });

  test("a process that stood still until its time was over sends nothing, and frees the hold", async () => {
    await media.stop();
    const env = { ...UNDISTURBED, MEDIA_TIMEOUT_MS: QUICK.MEDIA_TIMEOUT_MS };
    media = await startMedia({ upstreamUrl: upstream.url, env });
    media.billing.after = async ({ kind, deadlineAt }) => {
      if (kind !== "place") return;
      await until(() => BigInt(Date.now()) > deadlineAt, { timeoutMs: 60_000 });
    };
    const { status, body } = await media.generate(fox);
    expect(status).toBe(503);
    expect(body.error.code).toBe("provider_unavailable");
    expect(upstream.requests).toEqual([]);
    expect(onlyHold(media)).toMatchObject({ state: HoldState.RELEASED, costPicoUsd: 0n });
  });

  test("billing that cannot be reached before dispatch is 503, and nothing is sent", async () => {
    media.billing.before = async () => {
      throw new Error("down");
    };
    const { status, body } = await media.generate(fox);
    expect(status).toBe(503);
    expect(body.error.code).toBe("billing_unavailable");
    expect(upstream.requests).toEqual([]);
    expect(await media.row()).toBeUndefined();
  });

  test("billing that cannot be reached afterwards: no image, an honest error, and one charge once it is back", async () => {
    upstream.play(await pictureAnswer());
    media.billing.before = async ({ kind }) => {
      if (kind === "capture") throw new Error("down");
    };
    const { status, headers, body } = await media.generate(fox);
    expect(status).toBe(500);
    expect(body.error.code).toBe("outcome_unknown");
    expect(headers.get("x-should-retry")).toBe("false");
    expect(await media.row()).toMatchObject({ state: "succeeded", booked_at: null });
    media.billing.before = async () => undefined;
    await setDue(media);
    await settled(media);
    expect(onlyHold(media)).toMatchObject({ state: HoldState.CAPTURED, chargedCredits: 100n });
    expect(await media.outputs()).toHaveLength(1);
  });

  test("a charge that comes too late, since its hold was given back: no image, no file, nobody pays, the cost is ours", async () => {
    upstream.play(await pictureAnswer());
    media.billing.before = async ({ kind, holdId }) => {
      if (kind === "capture") media.billing.giveUp(holdId);
    };
    const { status, body } = await media.generate(fox);
    expect([status, body.error.code]).toEqual([504, "provider_timeout"]);
    expect(body.data).toBeUndefined();
    expect(onlyHold(media)).toMatchObject({ state: HoldState.RELEASED, chargedCredits: 0n });
    expect(await media.row()).toMatchObject({ state: "failed", error_kind: "refused", charge_credits: "0" });
    expect(await media.files()).toEqual([]);
  });

  test("a charge that billing has lost is booked again from the row", async () => {
    upstream.play(await pictureAnswer());
    media.billing.before = async ({ kind }) => {
      if (kind === "capture") throw new Error("down");
    };
    expect((await media.generate(fox)).status).toBe(500);
    await media.db.query("UPDATE generation SET booked_at = now()");
    media.billing.before = async () => undefined;
    media.billing.expire(onlyHold(media)?.holdId ?? "");
    await until(() => media.billing.charged === 100n, { timeoutMs: 60_000 });
  });

  test("a disk that cannot be written makes the service not ready", async () => {
    expect((await media.readyz()).status).toBe(200);
    await rm(join(media.dataDir, "media"), { recursive: true });
    // The result of the last check is valid for some seconds.
    await until(async () => (await media.readyz()).status === 503, { timeoutMs: 60_000 });
    const { problems } = (await media.readyz()).body;
    expect(problems).toEqual([
      expect.stringMatching(/^media-generation: the media folder cannot be written \(ENOENT/),
    ]);
  });

  test("a release that billing did not take is repeated", async () => {
    upstream.play({ status: 500 });
    media.billing.before = async ({ kind }) => {
      if (kind === "release") throw new Error("down");
    };
    expect((await media.generate(fox)).status).toBe(502);
    expect(media.billing.openHolds).toHaveLength(1);
    media.billing.before = async () => undefined;
    await setDue(media);
    await settled(media);
    expect(onlyHold(media)).toMatchObject({ state: HoldState.RELEASED, releaseReason: ReleaseReason.FAILED });
  });
});

describe("a model with two providers", () => {
  type Submit = KindSupport<ImageJob>["submit"];
  const failing = (kind: ProviderFailure, accepted: boolean) => async () => {
    throw new ProviderError(kind, kind, { accepted });
  };
  const provider = (name: string, submit: Submit): MediaProvider => ({
    name,
    kinds: { image: { mostAtOnce: 10, submit } },
    poll: failing("failed", true),
    cancel: async () => undefined,
  });
  const twoRoutes = fixedModels.map((model) => ({
    ...model,
    routes: ["first", "second"].map((each) => create(RouteSchema, { provider: each, upstreamModel: "m" })),
  }));

  async function ask(first: Submit): Promise<{ media: MediaUnderTest; answer: Answer }> {
    const second = async (): Promise<Progress> => ({
      state: "succeeded",
      artifacts: [artifactOf(await drawPicture())],
      usage: { billed: 7n },
    });
    const media = await startMedia({
      upstreamUrl: "http://127.0.0.1:9",
      env: UNDISTURBED,
      providers: () =>
        new Map([provider("first", first), provider("second", second)].map((p) => [p.name, p])),
    });
    await media.restart({ models: twoRoutes });
    return { media, answer: await media.generate(fox) };
  }

  test.each(["rate_limited", "unavailable", "failed", "misconfigured"] as const)(
    "goes to the second when the first has surely not begun (%s): one hold, one charge",
    async (kind) => {
      const { media, answer } = await ask(failing(kind, false));
      try {
        expect(answer.status).toBe(200);
        expect(movesOf(media.billing)).toEqual(["place", "nextAttempt", "capture"]);
        expect(onlyHold(media)).toMatchObject({ provider: "second", chargedCredits: 100n, costPicoUsd: 7n });
        expect(await media.row()).toMatchObject({ provider: "second", state: "succeeded" });
        const { body: entry } = await media.logged(answer.headers.get("x-request-id"));
        expect(entry.provider).toBe("second");
        expect(entry.attempts).toMatchObject([
          { provider: "first", outcome: kind },
          { provider: "second", outcome: "delivered" },
        ]);
      } finally {
        await media.stop();
      }
    },
  );

  test.each([
    ["rejected", false],
    ["blocked", false],
    ["failed", true],
    ["timeout", true],
    ["unknown_outcome", true],
  ] as const)("does not when the first has refused it, or may have begun (%s)", async (kind, accepted) => {
    const { media, answer } = await ask(failing(kind, accepted));
    try {
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(movesOf(media.billing)).not.toContain("nextAttempt");
      expect(onlyHold(media)).toMatchObject({ provider: "first", chargedCredits: 0n });
      const { body: entry } = await media.logged(answer.headers.get("x-request-id"));
      expect(entry.attempts).toMatchObject([{ provider: "first", outcome: kind }]);
    } finally {
      await media.stop();
    }
  });
});

describe("a provider that cannot be asked", () => {
  let upstream: ScriptedServer;
  let media: MediaUnderTest;
  beforeEach(async () => {
    upstream = await startScriptedServer();
    const env = { ...QUICK, MEDIA_TIMEOUT_MS: "6000", MEDIA_LOOKUP_URL: "" };
    media = await startMedia({ upstreamUrl: upstream.url, env });
  });
  afterEach(async () => {
    await media.stop();
    await upstream.close();
  });

  test("keeps the hold open until its deadline, then gives it up without a cost", async () => {
    upstream.play((response) => {
      response.destroy();
    });
    expect((await media.generate(fox)).status).toBe(502);
    expect(media.billing.openHolds).toHaveLength(1);
    await settled(media);
    const hold = onlyHold(media);
    expect(hold).toMatchObject({ state: HoldState.RELEASED, releaseReason: ReleaseReason.UNRESOLVED });
    expect(upstream.requests).toHaveLength(1);
    const { finished_at: finishedAt, deadline_at: deadlineAt } = await media.row();
    expect((finishedAt as Date) >= (deadlineAt as Date)).toBe(true);
  });

  test("is not asked about nonsense either: failed at once, released at once", async () => {
    upstream.play({ status: 200, body: "{}" });
    expect((await media.generate(fox)).status).toBe(502);
    expect(onlyHold(media)).toMatchObject({ state: HoldState.RELEASED, releaseReason: ReleaseReason.FAILED });
  });
});
