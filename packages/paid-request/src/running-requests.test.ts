// Guarantees of places: while many are free, each account gets one. No account gets all.
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { type Running, RunningRequests } from "./running-requests.ts";

type Asked = Parameters<RunningRequests["serve"]>;

/** @returns the reason of the refusal instead of a place */
function ask(running: RunningRequests, ...asked: Asked): Running | string {
  try {
    return running.serve(...asked);
  } catch (error) {
    return (error as { reason: string }).reason;
  }
}

/** Acquires places for the account until the first refusal. */
function fill(running: RunningRequests, account: string, key?: string): number {
  let count = 0;
  while (typeof ask(running, `${account} ${key} ${count}`, account, key ?? `key ${count}`) === "object")
    count += 1;
  return count;
}

test("one account cannot take every place", () => {
  const running = new RunningRequests(64);
  expect(fill(running, "attacker")).toBe(48);
  expect(ask(running, "one more", "attacker", "key")).toBe("rate_limit_exceeded");
  expect(fill(running, "victim")).toBeGreaterThanOrEqual(8);
});

test("one key cannot take every place that its account may have", () => {
  const running = new RunningRequests(64);
  expect(fill(running, "a", "leaked")).toBe(45);
  expect(() => running.serve("one more", "a", "leaked")).toThrow(/requests of this key .* its share/);
  expect(fill(running, "a", "good")).toBeGreaterThanOrEqual(3);
});

test("accounts that always want more come to the same share, and leave places to others", () => {
  const running = new RunningRequests(64);
  const accounts = ["a", "b", "c"];
  const inside: { account: string; leave(): void }[] = [];
  let next = 0;
  const wantMore = (account: string) => {
    for (;;) {
      const place = ask(running, `${account} ${next}`, account, `key ${next}`);
      next += 1;
      if (typeof place === "string") return;
      inside.push({ account, leave: () => place.leave() });
    }
  };
  for (const account of accounts) wantMore(account);
  for (let turn = 0; turn < 2_000; turn += 1) {
    const [left] = inside.splice((turn * 31) % inside.length, 1);
    left?.leave();
    for (const account of accounts) wantMore(account);
  }
  const shares = accounts.map((account) => inside.filter((place) => place.account === account).length);
  expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(3);
  expect(fill(running, "d")).toBeGreaterThanOrEqual(4);
});

test("a few places are not divided until none is left", () => {
  const running = new RunningRequests(2);
  expect(fill(running, "a")).toBe(2);
  expect(ask(running, "other", "b", "k")).toBe("provider_unavailable");
});

test("who leaves, once or twice, makes room for one; requests without a caller need none", () => {
  const running = new RunningRequests(1);
  const one = running.serve("one", "a", "k");
  expect(ask(running, "two", "a", "k")).toBe("provider_unavailable");
  const resolved = running.resolve("three");
  one.leave();
  one.leave();
  resolved.leave();
  expect(running.served).toBe(0);
  running.serve("two", "a", "k");
  expect(() => running.resolve("two")).toThrow(/running already/);
});

test("there are never more than there may be, and all are free in the end", () => {
  const step = fc.record({ account: fc.constantFrom("a", "b", "c"), leaves: fc.boolean() });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), fc.array(step), (most, steps) => {
      const running = new RunningRequests(most);
      const inside: { leave(): void }[] = [];
      for (const [index, { account, leaves }] of steps.entries()) {
        if (leaves) inside.pop()?.leave();
        else {
          const place = ask(running, String(index), account, `key ${index % 2}`);
          if (typeof place === "object") inside.push(place);
        }
        expect(running.served).toBe(inside.length);
        expect(inside.length).toBeLessThanOrEqual(most);
      }
      for (const place of inside) place.leave();
      expect(running.served).toBe(0);
      expect(running.ids()).toEqual([]);
    }),
  );
});
