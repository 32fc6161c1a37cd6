// Driving a job of a provider that has a queue: polled until it ends, remembered before it is polled, cancelled in time.
import { describe, expect, test } from "@jest/globals";
import type { MediaProvider, Operation, Progress } from "../providers/provider.ts";
import { ProviderError, type ProviderFailure } from "../providers/provider-error.ts";
import { runJob } from "./run-job.ts";

const pending: Progress = { state: "pending", operation: { job: "j1" }, pollAfterMs: 1 };
const succeeded: Progress = { state: "succeeded", outputs: [] };
const fail = (kind: ProviderFailure) => new ProviderError(kind, kind, { accepted: true, retryAfterMs: 1 });

function queueProvider(...answers: (Progress | ProviderError)[]) {
  const calls: string[] = [];
  const provider: MediaProvider = {
    name: "queue",
    submit: async () => pending,
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
  const saveOperation = async (operation: Operation) => calls.push(`save ${operation["job"]}`);
  const run = (signal: AbortSignal = AbortSignal.timeout(60_000)) =>
    runJob({ provider, signal, saveOperation }, async () => pending);
  return { run, calls };
}

describe("a job of a queue", () => {
  test("is saved before each poll, and polled until it has succeeded", async () => {
    const { run, calls } = queueProvider(pending, succeeded);
    expect(await run()).toEqual(succeeded);
    expect(calls).toEqual(["save j1", "poll j1", "save j1", "poll j1"]);
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

  test.each(["failed", "blocked", "misconfigured"] as const)("ends when it is %s", async (kind) => {
    const { run } = queueProvider(fail(kind));
    await expect(run()).rejects.toMatchObject({ kind });
  });

  test("out of time it is cancelled, and its outcome is not known", async () => {
    const { run, calls } = queueProvider();
    await expect(run(AbortSignal.timeout(30))).rejects.toMatchObject({ kind: "timeout", accepted: true });
    expect(calls.at(-1)).toBe("cancel j1");
  });

  test("when the process stops it is left running for the next one", async () => {
    const stop = new AbortController();
    const { run, calls } = queueProvider();
    const result = run(stop.signal);
    stop.abort();
    await expect(result).rejects.toMatchObject({ kind: "unknown_outcome", accepted: true });
    expect(calls.join()).not.toContain("cancel");
  });
});
