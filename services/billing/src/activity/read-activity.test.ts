// Guarantees of the queue of ReadActivity: the number of simultaneous reads is bounded, and a flood of one account delays no other account.
import { expect, test } from "@jest/globals";
import { spanOf } from "./activity-span.ts";
import { createReadActivity } from "./read-activity.ts";

const NOON = Date.UTC(2026, 0, 15, 12);

/** Returns a reader, and its unfinished sums. A sum is finished by its `end`. */
function blockedReader() {
  const running: { readonly accountId: string; readonly end: () => void }[] = [];
  const readActivity = createReadActivity({
    store: {
      sum: ({ accountId }) =>
        new Promise((resolve) => {
          const end = () => {
            running.splice(
              running.findIndex((each) => each.end === end),
              1,
            );
            resolve({ steps: [], texts: [] });
          };
          running.push({ accountId, end });
        }),
    },
    accounts: { readCredits: () => Promise.reject(new Error("no names are read")) },
    follow: async () => undefined,
  });
  const read = (accountId: string) =>
    readActivity({
      ...{ accountId, span: spanOf("day", undefined, NOON), group: "model" },
      ...{ spenderId: undefined, model: undefined, provider: undefined },
    });
  const settle = () => new Promise(setImmediate);
  return { running, read, settle };
}

test("one account has one read at a time, two accounts have two, and further reads wait or are refused", async () => {
  const { running, read, settle } = blockedReader();
  const accounts = () => running.map(({ accountId }) => accountId).toSorted();
  const flood = Array.from({ length: 9 }, () => read("a"));
  const others = ["b", "c"].map(read);
  await settle();
  expect(accounts()).toEqual(["a", "b"]);
  await expect(read("a")).rejects.toMatchObject({ reason: "rate_limit_exceeded", retryAfterMs: 2_000 });
  let ended = 0;
  while (running.length > 0) {
    expect(new Set(accounts()).size).toBe(running.length);
    running[0]?.end();
    ended += 1;
    await settle();
  }
  // Each read has two sums.
  expect(ended).toBe(2 * (flood.length + others.length));
  expect(await Promise.all([...flood, ...others])).toHaveLength(11);
});
