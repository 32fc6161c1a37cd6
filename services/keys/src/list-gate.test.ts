// Guarantees of lists of keys and of budgets: they have no rate limit, so they run one after the other, and accounts alternate.
import { expect, test } from "@jest/globals";
import { keysRest } from "./api/rest.ts";
import type { KeyDeps } from "./operations/key-deps.ts";

test.each([
  ["/v1/api-keys", "/v1/api-keys"],
  ["/v1/budgets", "/v1/budgets"],
  ["/v1/api-keys", "/v1/budgets"],
])("one list of %s or %s is made at a time, and accounts take turns", async (...paths) => {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const begin = async (accountId: string) => {
    begun.push(accountId);
    await new Promise<void>((resolve) => ends.push(resolve));
    return { keys: [], budgets: [], hasMore: false };
  };
  const budgets = { listBudgets: ({ accountId }: { accountId: string }) => begin(accountId) };
  const deps = { store: { list: begin }, budgets, clock: { now: () => 0 } } as unknown as KeyDeps;
  const { routes } = keysRest(deps);
  const ask = (accountId: string, asked: string | undefined) => {
    const route = routes.find(({ method, path }) => method === "GET" && path === asked);
    return route?.handle({ query: {}, caller: { accountId, keyId: "key", kind: "management" } } as never);
  };
  const answers = [ask("a", paths[0]), ask("a", paths[1]), ask("a", paths[0]), ask("b", paths[1])];
  for (let count = 0; count < answers.length; count += 1) {
    while (ends.length <= count) await new Promise(setImmediate);
    expect(begun).toHaveLength(count + 1);
    ends[count]?.();
  }
  expect(await Promise.all(answers)).toEqual(Array(answers.length).fill({ data: [] }));
  expect(begun.indexOf("b")).toBeLessThan(3);
});
