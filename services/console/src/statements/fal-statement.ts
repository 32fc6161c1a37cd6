// fal's statement: GET /models/usage with an admin key, in time series of UTC days.
// https://fal.ai/docs/platform-apis/v1/models/usage
import { z } from "zod";
import { fetchStatement, readPages, type StatementAddress } from "./fetch-statement.ts";
import {
  amountOf,
  type ProviderStatement,
  type StatementRow,
  UnusableStatement,
} from "./provider-statement.ts";

const DAY_MS = 86_400_000;

const usage = z.object({
  time_series: z.array(
    z.object({
      bucket: z.string().regex(/^\d{4}-\d\d-\d\d/),
      results: z.array(
        z
          .object({
            endpoint_id: z.string().min(1),
            // The cost after discounts; older answers have `cost` only.
            cost_total: z.number().optional(),
            cost: z.number().optional(),
            currency: z.string().default("USD"),
          })
          .refine((row) => row.cost_total !== undefined || row.cost !== undefined),
      ),
    }),
  ),
  has_more: z.boolean(),
  next_cursor: z.string().nullish(),
});

export function falStatement(address: StatementAddress): ProviderStatement {
  return {
    read: async (days, signal) => {
      const rows: StatementRow[] = [];
      const query = new URLSearchParams({
        start: days.from,
        // The end is excluded.
        end: new Date(Date.parse(days.to) + DAY_MS).toISOString().slice(0, 10),
        timeframe: "day",
        timezone: "UTC",
      });
      await readPages(async (cursor) => {
        if (cursor !== undefined) query.set("cursor", cursor);
        const path = `/models/usage?${query}`;
        const answer = await fetchStatement(address, path, usage, { signal, scheme: "Key" });
        for (const { bucket, results } of answer.time_series) {
          const day = bucket.slice(0, 10);
          if (day < days.from || day > days.to) continue;
          for (const { endpoint_id: model, cost_total: total, cost, currency } of results) {
            if (currency !== "USD") throw new UnusableStatement(`the row of ${model} is not in USD`);
            rows.push({ day, model, amount: amountOf(total ?? cost ?? 0, `the row of ${model}`) });
          }
        }
        return answer.has_more ? answer.next_cursor : null;
      });
      return rows;
    },
  };
}
