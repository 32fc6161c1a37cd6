// A provider with a queue: its jobs outlive our processes, and another process finishes the submitted job.
import { HoldState } from "@gr/proto/billing";
import { until } from "@gr/testing";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { Artifact, MediaProvider, Progress } from "./providers/provider.ts";
import { ProviderError } from "./providers/provider-error.ts";
import { artifactOf, drawPicture } from "./test/pictures.ts";
import { type MediaUnderTest, QUICK, startMedia } from "./test/start-media.ts";

const fox = { model: "sandbox/queue", prompt: "a fox" };
const PATIENCE = { timeoutMs: 60_000 };

/** Jobs stay pending until a test changes the answer. */
class Queue {
  submissions: string[] = [];
  cancelled: string[] = [];
  polls = 0;
  submitted: () => Promise<unknown> = async () => undefined;
  answer: (job: string) => Promise<Progress | undefined> = async () => undefined;

  readonly provider: MediaProvider = {
    name: "queue",
    kinds: {
      image: {
        mostAtOnce: 2,
        submit: async ({ requestId, part }) => {
          this.submissions.push(requestId);
          await this.submitted();
          return this.#pending(part === 1 ? `job-of-${requestId}` : `job-${part}-of-${requestId}`);
        },
      },
    },
    poll: async (operation) => {
      this.polls += 1;
      const job = String(operation["job"]);
      return (await this.answer(job)) ?? this.#pending(job);
    },
    cancel: async (operation) => {
      this.cancelled.push(String(operation["job"]));
    },
  };

  #pending(job: string): Progress {
    return { state: "pending", operation: { job }, pollAfterMs: 10 };
  }
}

let picture: Artifact;
beforeAll(async () => {
  picture = artifactOf(await drawPicture());
});

let queue: Queue;
let media: MediaUnderTest;
beforeEach(async () => {
  queue = new Queue();
  media = await startMedia({
    upstreamUrl: "http://127.0.0.1:9",
    env: { ...QUICK, MEDIA_TIMEOUT_MS: "60000" },
    providers: () => new Map([["queue", queue.provider]]),
  });
});
afterEach(() => media.stop());

const succeed = async (): Promise<Progress> => ({
  state: "succeeded",
  artifacts: [picture],
  usage: { billed: 5n },
});
const onlyHold = () => media.billing.holds[0];
const settled = () => until(() => media.billing.openHolds.length === 0, PATIENCE);

/** Submits a job, waits for polls, and restarts the process meanwhile; its client has disconnected by then. */
async function restartUnder(body: object): Promise<void> {
  const leave = new AbortController();
  const lost = fetch(`${media.url()}/v1/compat/images/generations`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: leave.signal,
  }).catch(() => undefined);
  await until(() => queue.polls > 1, PATIENCE);
  leave.abort();
  await media.restart();
  await lost;
}

async function restartWithLittleTime(): Promise<void> {
  await media.stop();
  media = await startMedia({
    upstreamUrl: "http://127.0.0.1:9",
    env: { ...QUICK, MEDIA_TIMEOUT_MS: "3000" },
    providers: () => new Map([["queue", queue.provider]]),
  });
}

describe("a job in a provider's queue", () => {
  test("is polled until it is there, and then charged", async () => {
    const answer = media.generate(fox);
    await until(() => queue.polls > 2, PATIENCE);
    expect((await media.row())["operations"]).toEqual([{ job: `job-of-${queue.submissions[0]}` }]);
    queue.answer = succeed;
    expect((await answer).status).toBe(200);
    expect(onlyHold()).toMatchObject({ state: HoldState.CAPTURED, chargedCredits: 100n, costPicoUsd: 5n });
  });

  test("is several jobs when more is asked for than the provider makes at once", async () => {
    const answer = media.generate({ ...fox, n: 3 });
    await until(() => queue.polls > 4, PATIENCE);
    const [id] = queue.submissions;
    expect((await media.row())["operations"]).toEqual([{ job: `job-of-${id}` }, { job: `job-2-of-${id}` }]);
    queue.answer = async (job) => ({
      state: "succeeded",
      artifacts: Array.from({ length: job.startsWith("job-2") ? 1 : 2 }, () => picture),
      usage: { billed: 5n },
    });
    expect((await answer).body.data).toHaveLength(3);
    expect(onlyHold()).toMatchObject({ chargedCredits: 300n, costPicoUsd: 10n });
  });

  test("that fails in part is given and charged in part, also when it is asked for again", async () => {
    const headers = { "idempotency-key": "k" };
    const path = "/v1/compat/images/generations";
    queue.answer = async (job) => {
      if (job.startsWith("job-2")) {
        throw new ProviderError("blocked", "not nice", { accepted: true, usage: { billed: 3n } });
      }
      return { state: "succeeded", artifacts: [picture, picture], usage: { billed: 5n } };
    };
    const first = await media.generate({ ...fox, n: 3 }, path, headers);
    expect([first.status, first.body.data.length, first.body.cost]).toEqual([200, 2, 0.02]);
    expect(onlyHold()).toMatchObject({ state: HoldState.CAPTURED, chargedCredits: 200n, costPicoUsd: 8n });
    expect((await media.outputs()).sort()).toEqual([...((await media.row())["outputs"] as string[])].sort());
    const again = await media.generate({ ...fox, n: 3 }, path, headers);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
  });

  test("that fails in all parts is free, and costs what all of them cost", async () => {
    queue.answer = async () => {
      throw new ProviderError("blocked", "not nice", { accepted: true, usage: { billed: 3n } });
    };
    expect((await media.generate({ ...fox, n: 3 })).body.error.code).toBe("content_policy_violation");
    expect(onlyHold()).toMatchObject({ state: HoldState.RELEASED, chargedCredits: 0n, costPicoUsd: 6n });
  });

  test("is resumed by the next process: submitted once, hosted, charged once", async () => {
    await restartUnder(fox);
    expect(media.billing.openHolds).toHaveLength(1);
    queue.answer = succeed;
    await settled();
    expect(queue.submissions).toHaveLength(1);
    expect(onlyHold()).toMatchObject({ state: HoldState.CAPTURED, chargedCredits: 100n, costPicoUsd: 5n });
    expect(await media.outputs()).toEqual((await media.row())["outputs"]);
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
    expect(await media.row()).toMatchObject({ operations: null });
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
