// Guarantees of key lists: they have no rate limit, so they run one after the other, and accounts alternate.
import { expect, test } from "@jest/globals";
import { keysRest } from "./api/rest.ts";
import type { KeyDeps } from "./operations/key-deps.ts";

test("one list is made at a time, and accounts take turns", async () => {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const list = async (accountId: string) => {
    begun.push(accountId);
    await new Promise<void>((resolve) => ends.push(resolve));
    return { keys: [], hasMore: false };
  };
  const deps = { store: { list }, clock: { now: () => 0 } } as unknown as KeyDeps;
  const route = keysRest(deps).routes.find(({ method, path }) => method === "GET" && path === "/v1/api-keys");
  const ask = (accountId: string) => {
    return route?.handle({ query: {}, caller: { accountId, keyId: "key", kind: "management" } } as never);
  };
  const answers = [ask("a"), ask("a"), ask("a"), ask("b")];
  for (let count = 0; count < answers.length; count += 1) {
    while (ends.length <= count) await new Promise(setImmediate);
    expect(begun).toHaveLength(count + 1);
    ends[count]?.();
  }
  expect(await Promise.all(answers)).toEqual(Array(answers.length).fill({ data: [] }));
  expect(begun.indexOf("b")).toBeLessThan(3);
});
