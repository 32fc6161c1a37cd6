// Places of attempts: bounds of receivers and accounts, for any order of begins and ends.
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { SenderPlaces } from "./sender-places.ts";

const of = (accountId: string, receiver: string) => ({ accountId, receiver });

test("a receiver has four places, and an account as many as it leaves free", () => {
  const places = new SenderPlaces();
  const entered = (account: string, receivers: number) =>
    Array.from({ length: receivers * 5 }, (_, n) => places.enter(of(account, `r${n % receivers}`))).filter(
      Boolean,
    );
  expect(entered("a", 1)).toHaveLength(4);
  expect(places.excluded()).toEqual({ accounts: [], receivers: ["a r0"] });
  expect(entered("a", 20)).toHaveLength(28);
  expect(places.excluded().accounts).toEqual(["a"]);
  expect(entered("b", 1)).toHaveLength(4);
});

test("no account without a place is ever refused one while a place is free, and left places are free again", () => {
  const step = fc.record({
    account: fc.integer({ min: 0, max: 80 }),
    receiver: fc.integer({ min: 0, max: 9 }),
    leaves: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
      const places = new SenderPlaces();
      const running: ReturnType<typeof of>[] = [];
      for (const { account, receiver, leaves } of steps) {
        const last = leaves ? running.pop() : undefined;
        if (last !== undefined) places.leave(last);
        const subject = of(`a${account}`, `r${receiver}`);
        const isNew = !running.some(({ accountId }) => accountId === subject.accountId);
        const isFree = places.free > 0;
        const entered = places.enter(subject);
        if (isNew) expect(entered).toBe(isFree);
        if (entered) running.push(subject);
      }
      for (const subject of running) places.leave(subject);
      expect([places.free, places.excluded()]).toEqual([64, { accounts: [], receivers: [] }]);
    }),
  );
});
