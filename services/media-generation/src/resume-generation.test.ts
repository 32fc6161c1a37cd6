// A provider with a queue, whose jobs outlive our processes: what one process submitted another one finishes.
import { HoldState } from "@gr/proto/billing";
import { until } from "@gr/testing";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { MediaProvider, Progress } from "./providers/provider.ts";
import { ProviderError } from "./providers/provider-error.ts";
import { drawPicture } from "./test/pictures.ts";
import { type MediaUnderTest, QUICK, startMedia } from "./test/start-media.ts";

const fox = { model: "sandbox/queue", prompt: "a fox" };

/** Jobs stay pending until a test says otherwise. */
class Queue {
  submissions: string[] = [];
  cancelled: string[] = [];
  polls = 0;
  submitted: () => Promise<unknown> = async () => undefined;
  answer: () => Promise<Progress | undefined> = async () => undefined;

  readonly provider: MediaProvider = {
    name: "queue",
    submit: async ({ requestId }) => {
      this.submissions.push(requestId);
      await this.submitted();
      return this.#pending(`job-of-${requestId}`);
    },
    poll: async (operation) => {
      this.polls += 1;
      return (await this.answer()) ?? this.#pending(String(operation["job"]));
    },
    cancel: async (operation) => {
      this.cancelled.push(String(operation["job"]));
    },
  };

  #pending(job: string): Progress {
    return { state: "pending", operation: { job }, pollAfterMs: 10 };
  }
}

let queue: Queue;
let media: MediaUnderTest;
beforeEach(async () => {
  queue = new Queue();
  media = await startMedia({
    upstreamUrl: "http://127.0.0.1:9",
    env: { ...QUICK, MEDIA_TIMEOUT_MS: "20000" },
    providers: () => new Map([["queue", queue.provider]]),
  });
});
afterEach(() => media.stop());

const succeed = async (): Promise<Progress> => ({
  state: "succeeded",
  outputs: [{ bytes: await drawPicture() }],
  usage: { billed: 5n },
});
const onlyHold = () => media.billing.holds[0];
const settled = () => until(() => media.billing.openHolds.length === 0, { timeoutMs: 15_000 });

/** Submits a job, lets it be polled, and restarts the process under it; its client has left by then. */
async function restartUnder(body: object): Promise<void> {
  const leave = new AbortController();
  const lost = fetch(`${media.url()}/v1/compat/images/generations`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: leave.signal,
  }).catch(() => undefined);
  await until(() => queue.polls > 1, { timeoutMs: 5_000 });
  leave.abort();
  await media.restart();
  await lost;
}

async function restartWithLittleTime(): Promise<void> {
  await media.stop();
  media = await startMedia({
    upstreamUrl: "http://127.0.0.1:9",
    env: { ...QUICK, MEDIA_TIMEOUT_MS: "500" },
    providers: () => new Map([["queue", queue.provider]]),
  });
}

describe("a job in a provider's queue", () => {
  test("is polled until it is there, and then charged", async () => {
    const answer = media.generate(fox);
    await until(() => queue.polls > 2, { timeoutMs: 5_000 });
    expect((await media.row())["operation"]).toEqual({ job: `job-of-${queue.submissions[0]}` });
    queue.answer = succeed;
    expect((await answer).status).toBe(200);
    expect(onlyHold()).toMatchObject({ state: HoldState.CAPTURED, chargedCredits: 100n, costPicoUsd: 5n });
  });

  test("is resumed by the next process: submitted once, hosted, charged once", async () => {
    await restartUnder(fox);
    expect(media.billing.openHolds).toHaveLength(1);
    queue.answer = succeed;
    await settled();
    expect(queue.submissions).toHaveLength(1);
    expect(onlyHold()).toMatchObject({ state: HoldState.CAPTURED, chargedCredits: 100n, costPicoUsd: 5n });
    expect(await media.files()).toEqual((await media.row())["outputs"]);
  });

  test("that was to be handed over only, and has nobody to be handed to, is not charged", async () => {
    await restartUnder({ ...fox, response_format: "b64_ephemeral" });
    queue.answer = succeed;
    await settled();
    expect(onlyHold()).toMatchObject({ state: HoldState.RELEASED, chargedCredits: 0n, costPicoUsd: 5n });
    expect(await media.files()).toEqual([]);
  });

  test("that fails after the restart is free", async () => {
    await restartUnder(fox);
    queue.answer = async () => {
      throw new ProviderError("blocked", "not nice", { accepted: true, usage: { billed: 3n } });
    };
    await settled();
    expect(onlyHold()).toMatchObject({ state: HoldState.RELEASED, chargedCredits: 0n, costPicoUsd: 3n });
    expect(await media.row()).toMatchObject({ state: "blocked" });
  });

  test("that never ends is cancelled in time, answered 504, followed by nobody, and given up at the deadline", async () => {
    await restartWithLittleTime();
    expect((await media.generate(fox)).status).toBe(504);
    expect(queue.cancelled).toEqual([`job-of-${queue.submissions[0]}`]);
    expect(await media.row()).toMatchObject({ operation: null });
    await settled();
    expect(onlyHold()).toMatchObject({ state: HoldState.RELEASED, chargedCredits: 0n });
  });

  test("that never ends, and that another process has taken over, may be charged: its caller is told so", async () => {
    await restartWithLittleTime();
    queue.submitted = () =>
      media.db.query("UPDATE generation SET worker = gen_random_uuid(), due_at = now() + interval '1 hour'");
    const { status, body, headers } = await media.generate(fox);
    expect([status, body.error.code]).toEqual([500, "outcome_unknown"]);
    expect(headers.get("x-should-retry")).toBe("false");
    expect(media.billing.openHolds).toHaveLength(1);
  });
});
