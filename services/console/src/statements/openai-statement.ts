// OpenAI's statement: GET /organization/costs with an admin key, buckets of one UTC day, grouped by line item.
// https://platform.openai.com/docs/api-reference/usage/costs
import { z } from "zod";
import { fetchStatement, readPages, type StatementAddress } from "./fetch-statement.ts";
import {
  amountOf,
  type DayRange,
  type ProviderStatement,
  type StatementRow,
  UnusableStatement,
} from "./provider-statement.ts";

const DAY_S = 86_400;

const costs = z.object({
  data: z.array(
    z.object({
      start_time: z.int().min(0).max(253_402_300_799),
      results: z.array(
        z.object({
          amount: z.object({ value: z.union([z.number(), z.string()]), currency: z.string() }),
          line_item: z.string().nullish(),
        }),
      ),
    }),
  ),
  has_more: z.boolean(),
  next_page: z.string().nullish(),
});

export function openAiStatement(address: StatementAddress): ProviderStatement {
  return {
    read: async (days, signal) => {
      const rows: StatementRow[] = [];
      await readPages(async (page) => {
        const answer = await fetchStatement(address, pathOf(days, page), costs, { signal });
        for (const { start_time: start, results } of answer.data) {
          const day = new Date(start * 1_000).toISOString().slice(0, 10);
          if (day < days.from || day > days.to) continue;
          for (const { amount, line_item: item } of results) {
            const model = modelOf(item ?? "");
            if (amount.currency.toLowerCase() !== "usd") {
              throw new UnusableStatement(`the row of ${model} is not in USD`);
            }
            rows.push({ day, model, amount: amountOf(amount.value, `the row of ${model}`) });
          }
        }
        return answer.has_more ? answer.next_page : null;
      });
      return rows;
    },
  };
}

/** "gpt-4o-2024-08-06, cached input" is a line item of the model before the comma. */
function modelOf(lineItem: string): string {
  const [model = ""] = lineItem.split(",", 1);
  return model.trim() || "(no line item)";
}

function pathOf({ from, to }: DayRange, page: string | undefined): string {
  const query = new URLSearchParams({
    start_time: String(Date.parse(from) / 1_000),
    end_time: String(Date.parse(to) / 1_000 + DAY_S),
    bucket_width: "1d",
    group_by: "line_item",
    limit: "31",
    ...(page === undefined ? {} : { page }),
  });
  return `/organization/costs?${query}`;
}
