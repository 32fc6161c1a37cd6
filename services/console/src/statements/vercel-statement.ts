// The statement of Vercel's AI Gateway: GET /report by UTC day and model.
// https://vercel.com/docs/ai-gateway/capabilities/custom-reporting
import { z } from "zod";
import { fetchStatement, type StatementAddress } from "./fetch-statement.ts";
import { amountOf, daysOf, type ProviderStatement, type StatementRow } from "./provider-statement.ts";

const report = z.object({
  results: z.array(z.object({ model: z.string().min(1), total_cost: z.number() })),
});

export function vercelStatement(address: StatementAddress): ProviderStatement {
  return {
    read: async (range, signal) => {
      const rows: StatementRow[] = [];
      // Grouped by model, a report has no days: each day is a report of its own.
      for (const day of daysOf(range)) {
        const query = new URLSearchParams({ start_date: day, end_date: day, group_by: "model" });
        const { results } = await fetchStatement(address, `/report?${query}`, report, { signal });
        for (const { model, total_cost: cost } of results) {
          rows.push({ day, model, amount: amountOf(cost, `the row of ${model}`) });
        }
      }
      return rows;
    },
  };
}
