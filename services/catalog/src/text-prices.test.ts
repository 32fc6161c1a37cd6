// The shipped prices of OpenAI's text models: tiers, long inputs, cache writes and tools as the cited source has them.
import { expect, test } from "@jest/globals";
import { modelOfText } from "./files/text-model.ts";
import { readTextPriceList, textPriceListOf } from "./files/text-price-list.ts";
import { isOnSale } from "./offer/shutdown.ts";

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

test("models that OpenAI has shut down carry the day, from which on they are not listed", async () => {
  const list = await readTextPriceList(undefined);
  for (const id of ["gpt-4.1-nano", "o3-mini", "o4-mini"]) {
    const { shutdownDate = null } = list.get(id) ?? {};
    expect([id, shutdownDate]).toEqual([id, "2026-10-23"]);
    expect(isOnSale(shutdownDate, "2026-10-22")).toBe(true);
    expect(isOnSale(shutdownDate, "2026-10-23")).toBe(false);
  }
});

test("off-peak rates of DeepSeek have the hours of the source, and its usual rates stay", async () => {
  const prices = (await readTextPriceList(undefined)).get("deepseek-v4-pro")?.prices;
  expect(prices).toMatchObject({ input: 1_320_000n, cachedInput: 44_000n, output: 3_960_000n });
  const [{ hours, rates } = {}] = prices?.offPeak ?? [];
  expect(rates).toMatchObject({ input: 660_000n, cachedInput: 22_000n, output: 1_980_000n });
  const workdays = [1, 2, 3, 4, 5];
  expect(hours).toEqual([
    { weekdays: workdays, fromMinute: 0, toMinute: 60 },
    { weekdays: workdays, fromMinute: 240, toMinute: 360 },
    { weekdays: workdays, fromMinute: 600, toMinute: 1_440 },
    { weekdays: [6, 7], fromMinute: 0, toMinute: 1_440 },
  ]);
  // The contract carries them, so that the text proxy charges by them.
  const model = (await readTextPriceList(undefined)).get("deepseek-v4-pro");
  const rule = model && modelOfText(model, []).price?.rule;
  expect(rule?.case === "token" && rule.value.offPeak[0]).toMatchObject({
    hours,
    price: { inputPicoUsd: 660_000n },
  });
});

test.each([
  [{ from: "10:00", to: "10:00" }, /must end after it begins/],
  [{ from: "22:00", to: "02:00" }, /must end after it begins/],
  [{ from: "9:00", to: "10:00" }, /must be a time of the day/],
  [{ weekdays: [0], from: "09:00", to: "10:00" }, /weekdays/],
])("off-peak hours %j are refused", (hours, problem) => {
  const row = {
    ...{ id: "m", name: "M", owned_by: "o", capabilities: ["chat"], source: "s", as_of: "2026-11-24" },
    ...{ usd_per_million: { input: "1", output: "1" } },
    off_peak: [{ hours: [hours], usd_per_million: { input: "0.5", output: "0.5" } }],
  };
  const file = { name: "own.json", content: JSON.stringify({ models: [row] }) };
  expect(() => textPriceListOf([file])).toThrow(problem);
});
