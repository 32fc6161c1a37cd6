// One process starts work and another one ends it, because the first is dead, or only seems to be. Each job is
// submitted once, ended once, charged at most once.
import { HoldState } from "@gr/proto/billing";
import { until } from "@gr/testing";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { CrashRing, fox, generate, pictureAnswer } from "./test/crash-ring.ts";
import { drawPicture } from "./test/pictures.ts";
import { movesOf } from "./test/start-media.ts";

const queued = { ...fox, model: "sandbox/queue" };
const job = { status: 200, body: { job: "7" } };
const waiting = { status: 200, body: {} };

let ring: CrashRing;
beforeEach(async () => {
  ring = await CrashRing.start();
});
afterEach(() => ring.stop());

const picture = async () => ({
  status: 200,
  body: { b64_json: (await drawPicture()).toString("base64") },
});

describe("a job in a provider's queue", () => {
  test("C4, kill -9 after its submission, before its id is stored: found by look-up, ours", async () => {
    const body = { pico_usd: "42" };
    await ring.crashAt((crash) => ring.upstream.play(crash, { status: 200, body }), { body: queued });
    expect(ring.hold()).toMatchObject({
      state: HoldState.RELEASED,
      chargedCredits: 0n,
      costPicoUsd: 42n,
    });
    expect(ring.methods()).toEqual(["POST", "GET"]);
  });

  test("C5, kill -9 while it is polled: polled on by the next process, submitted once, charged once", async () => {
    const headers = { "idempotency-key": "k" };
    const done = await picture();
    const next = await ring.crashAt((crash) => ring.upstream.play(job, waiting, crash, waiting, done), {
      body: queued,
      headers,
    });
    expect(ring.hold()).toMatchObject({ state: HoldState.CAPTURED, chargedCredits: 100n });
    expect(ring.methods().filter((method) => method === "POST")).toHaveLength(1);
    expect(await ring.outputs()).toHaveLength(1);
    const again = await generate(next, queued, headers);
    expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([200, "true"]);
  });
});

describe("two processes on one database", () => {
  /** On a busy machine a process may pause for a moment, which must not count as its death. */
  const patient = (leaseMs = 2_500) => ({ MEDIA_LEASE_MS: String(leaseMs) });

  test("do not take a generation from each other while its process lives", async () => {
    const leaseMs = 10_000;
    const processes = [
      await ring.startSurvivor(patient(leaseMs)),
      await ring.startSurvivor(patient(leaseMs)),
    ];
    const longerThanTheLease = leaseMs + 2_000;
    ring.upstream.play(async (response) => {
      await new Promise((resolve) => setTimeout(resolve, longerThanTheLease));
      response.end(JSON.stringify((await pictureAnswer()).body));
    });
    const answers = await Promise.all(processes.map((each) => generate(each)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(ring.billing.charged).toBe(200n);
    expect(ring.methods()).toEqual(["POST", "POST"]);
  });

  test("the survivor ends what the dead one has begun", async () => {
    const child = await ring.startChild(patient());
    await ring.startSurvivor(patient());
    ring.upstream.play(child.kill, { status: 200, body: { pico_usd: "9" } });
    await expect(generate(child)).rejects.toThrow();
    await ring.settled();
    expect(ring.hold()).toMatchObject({
      state: HoldState.RELEASED,
      chargedCredits: 0n,
      costPicoUsd: 9n,
    });
  });

  test("C10, one that wakes up after it was given up ends nothing, books nothing, keeps no file", async () => {
    const sleeper = await ring.startChild(patient());
    await ring.startSurvivor(patient());
    let answer: () => void = () => undefined;
    ring.upstream.play(
      async (response) => {
        const { body } = await pictureAnswer();
        answer = () => response.end(JSON.stringify(body));
        sleeper.pause();
      },
      { status: 200, body: { pico_usd: "9" } },
    );
    const late = generate(sleeper);
    await ring.settled();
    const booked = [...movesOf(ring.billing)];
    answer();
    sleeper.resume();
    const { status, body, headers } = await late;
    expect([status, body.error.code]).toEqual([500, "outcome_unknown"]);
    expect(headers.get("x-should-retry")).toBe("false");
    expect(movesOf(ring.billing)).toEqual(booked);
    expect(ring.hold()).toMatchObject({
      state: HoldState.RELEASED,
      chargedCredits: 0n,
      costPicoUsd: 9n,
    });
    expect(await ring.files()).toEqual([]);
  });

  test("C10, one that wakes up after another has made it answers nothing; one charge, one file", async () => {
    const sleeper = await ring.startChild(patient());
    await ring.startSurvivor(patient());
    const done = await picture();
    ring.upstream.play(
      job,
      (response) => {
        sleeper.pause();
        response.end("{}");
      },
      done,
    );
    const late = generate(sleeper, queued);
    await ring.settled();
    await until(async () => (await ring.outputs()).length === 1, { timeoutMs: 60_000 });
    sleeper.resume();
    const { status, body } = await late;
    expect([status, body.error.code]).toEqual([500, "outcome_unknown"]);
    expect(ring.hold()).toMatchObject({ state: HoldState.CAPTURED, chargedCredits: 100n });
    expect(ring.billing.charged).toBe(100n);
    expect(await ring.outputs()).toHaveLength(1);
    expect(ring.methods().filter((method) => method === "POST")).toHaveLength(1);
  });
});
