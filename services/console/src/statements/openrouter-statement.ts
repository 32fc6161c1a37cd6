// OpenRouter's statement: GET /activity with a management key, by UTC day, model and endpoint, for 30 complete days.
// https://openrouter.ai/docs/api-reference/analytics/get-activity
import { z } from "zod";
import { fetchStatement, type StatementAddress } from "./fetch-statement.ts";
import { amountOf, daysOf, type ProviderStatement, type StatementRow } from "./provider-statement.ts";

const activity = z.object({
  data: z.array(
    z.object({
      // A time may follow the day.
      date: z.string().regex(/^\d{4}-\d\d-\d\d/),
      model: z.string().min(1),
      usage: z.number(),
    }),
  ),
});

export function openRouterStatement(address: StatementAddress): ProviderStatement {
  return {
    read: async (range, signal) => {
      const rows: StatementRow[] = [];
      for (const day of daysOf(range)) {
        const { data } = await fetchStatement(address, `/activity?date=${day}`, activity, { signal });
        for (const { date, model, usage } of data) {
          if (date.slice(0, 10) !== day) continue;
          // The part of requests with a key of one's own, byok_usage_inference, is on the bill of another provider.
          rows.push({ day, model, amount: amountOf(usage, `the row of ${model}`) });
        }
      }
      return rows;
    },
  };
}
