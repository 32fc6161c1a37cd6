// Driving a job of a provider that has a queue: polled until it ends, remembered before
// it is polled, cancelled in time.
import { systemClock, type Timer } from "@gr/runtime";
import { describe, expect, test } from "@jest/globals";
import type { MediaProvider, Operation, Progress } from "../providers/provider.ts";
import { ProviderError, type ProviderFailure } from "../providers/provider-error.ts";
import { LeftRunning, runJob } from "./run-job.ts";

const pending: Progress = { state: "pending", operation: { job: "j1" }, pollAfterMs: 1 };
const succeeded: Progress = { state: "succeeded", artifacts: [] };
const fail = (kind: ProviderFailure) => new ProviderError(kind, kind, { accepted: true, retryAfterMs: 1 });

function queueProvider(...answers: (Progress | ProviderError)[]) {
  const calls: string[] = [];
  const provider: MediaProvider = {
    name: "queue",
    kinds: {},
    poll: async ({ job }) => {
      calls.push(`poll ${job}`);
      const answer = answers.shift() ?? pending;
      if (answer instanceof Error) throw answer;
      return answer;
    },
    cancel: async ({ job }) => {
      calls.push(`cancel ${job}`);
    },
  };
  let ours = true;
  const saveOperation = async (operation: Operation) => {
    calls.push(`save ${operation["job"]}`);
    return ours;
  };
  const run = (
    signal: AbortSignal = new AbortController().signal,
    clock: Timer = systemClock,
    cancelled: AbortSignal = new AbortController().signal,
  ) => runJob({ provider, clock, signal, cancelled, saveOperation }, async () => pending);
  const lose = () => {
    ours = false;
  };
  return { run, lose, calls, provider };
}

describe("a job of a queue", () => {
  test("is saved before its first poll, and again only when it has changed", async () => {
    const moved: Progress = { ...pending, operation: { job: "j2" } };
    const { run, calls } = queueProvider(pending, moved, moved, succeeded);
    expect(await run()).toEqual(succeeded);
    expect(calls).toEqual(["save j1", "poll j1", "poll j1", "save j2", "poll j2", "poll j2"]);
  });

  test("is polled less often the longer it takes", async () => {
    const pauses: number[] = [];
    const clock = { now: () => 0, sleep: async (ms: number) => void pauses.push(Math.round(ms)) };
    const { run } = queueProvider(
      ...Array.from({ length: 60 }, () => ({ ...pending, pollAfterMs: 1_000 })),
      succeeded,
    );
    await run(undefined, clock);
    expect(pauses[1]).toBe(1_000);
    expect(pauses.filter((ms, index) => index > 0 && ms < (pauses[index - 1] ?? 0) && index > 1)).toEqual([]);
    expect(pauses.at(-1)).toBe(15_000);
  });

  test("that has passed to another process is not followed", async () => {
    const { run, lose, calls } = queueProvider(succeeded);
    lose();
    await expect(run()).rejects.toThrow(LeftRunning);
    expect(calls).toEqual(["save j1"]);
  });

  test("survives polls that fail in ways which say nothing about it", async () => {
    const { run } = queueProvider(
      fail("unavailable"),
      fail("rate_limited"),
      fail("unknown_outcome"),
      succeeded,
    );
    expect(await run()).toEqual(succeeded);
  });

  test.each(["failed", "blocked", "misconfigured"] as const)(
    "ends when it is %s, and was accepted whatever the poll says",
    async (kind) => {
      const { run } = queueProvider(new ProviderError(kind, kind, { accepted: false }));
      await expect(run()).rejects.toMatchObject({ kind, accepted: true });
    },
  );

  test("out of time it is cancelled, and its outcome is not known", async () => {
    const { run, calls } = queueProvider();
    const over = AbortSignal.abort(new DOMException("over", "TimeoutError"));
    await expect(run(over)).rejects.toMatchObject({ kind: "timeout", accepted: true });
    expect(calls.at(-1)).toBe("cancel j1");
  });

  test("of a client that cancels, it is cancelled once, and ends as cancelled when the provider ends it", async () => {
    const { run, calls } = queueProvider(pending, fail("unavailable"), fail("failed"));
    const result = run(undefined, systemClock, AbortSignal.abort());
    await expect(result).rejects.toMatchObject({ kind: "cancelled", accepted: true });
    expect(calls).toEqual(["save j1", "cancel j1", "poll j1", "poll j1", "poll j1"]);
  });

  test("of a client that cancels during a pause, it is cancelled before the next poll", async () => {
    const cancelled = new AbortController();
    const pauses: number[] = [];
    const clock: Timer = {
      now: () => 0,
      sleep: async (ms) => {
        pauses.push(ms);
        if (pauses.length === 3) cancelled.abort();
      },
    };
    const { run, calls } = queueProvider(pending, pending, fail("failed"));
    await expect(run(undefined, clock, cancelled.signal)).rejects.toMatchObject({ kind: "cancelled" });
    expect(calls).toEqual(["save j1", "poll j1", "poll j1", "cancel j1", "poll j1"]);
  });

  test("that its provider does not cancel is followed to its result", async () => {
    const { run, calls } = queueProvider(pending, succeeded);
    expect(await run(undefined, systemClock, AbortSignal.abort())).toEqual(succeeded);
    expect(calls).toEqual(["save j1", "cancel j1", "poll j1", "poll j1"]);
  });

  test("whose cancellation does not reach the provider is cancelled again after the next poll", async () => {
    const { run, calls, provider } = queueProvider(pending, fail("failed"));
    const { cancel } = provider;
    let attempts = 0;
    const unreachable: MediaProvider["cancel"] = async (operation, signal) => {
      await cancel(operation, signal);
      attempts += 1;
      if (attempts === 1) throw fail("unavailable");
    };
    Object.assign(provider, { cancel: unreachable });
    await expect(run(undefined, systemClock, AbortSignal.abort())).rejects.toMatchObject({
      kind: "cancelled",
    });
    expect(calls).toEqual(["save j1", "cancel j1", "poll j1", "cancel j1", "poll j1"]);
  });

  test("when the process stops it is left running for the next one", async () => {
    const stop = new AbortController();
    const { run, calls } = queueProvider();
    const result = run(stop.signal);
    stop.abort();
    await expect(result).rejects.toThrow(LeftRunning);
    expect(calls.join()).not.toContain("cancel");
  });
});
