// The shipped prices of OpenAI's text models: tiers, long inputs, cache writes and tools as the cited source has them.
import { expect, test } from "@jest/globals";
import { readTextPriceList } from "./files/text-price-list.ts";

test("prices of long inputs and tiers are those of the source", async () => {
  const list = await readTextPriceList(undefined);
  const prices = list.get("gpt-5.5")?.prices;
  const caseOf = (tier: string, aboveInputTokens: number) =>
    prices?.cases?.find((each) => each.tier === tier && each.aboveInputTokens === aboveInputTokens)?.rates;
  expect(prices).toMatchObject({ input: 5_000_000n, output: 30_000_000n });
  expect(caseOf("", 272_000)).toMatchObject({ input: 10_000_000n, output: 45_000_000n });
  expect(caseOf("priority", 0)).toMatchObject({ input: 12_500_000n, output: 75_000_000n });
  expect(caseOf("flex", 272_000)).toMatchObject({ input: 5_000_000n, output: 22_500_000n });
  // The source has no price of it, and none is invented.
  expect(caseOf("priority", 272_000)).toBeUndefined();
});

test("all current models of OpenAI have prices of their tools", async () => {
  const list = await readTextPriceList(undefined);
  const current = [
    "gpt-5.4",
    "gpt-5.5",
    "gpt-5.6",
    "gpt-6-astra",
    "gpt-6-sol",
    "gpt-6.1-sol",
    "gpt-6.1-terra",
  ];
  for (const id of current) {
    expect([id, list.get(id)?.prices.tools]).toEqual([
      id,
      {
        code_interpreter_call: 30_000_000_000n,
        file_search_call: 2_500_000_000n,
        web_search_call: 10_000_000_000n,
        web_search_preview_call: 10_000_000_000n,
      },
    ]);
  }
});

test("cache writes that are kept for twelve hours cost twice the usual ones", async () => {
  const list = await readTextPriceList(undefined);
  expect(list.get("gpt-5.6")?.prices).toMatchObject({ cacheWrite: 5_000_000n, longCacheWrite: 10_000_000n });
});
