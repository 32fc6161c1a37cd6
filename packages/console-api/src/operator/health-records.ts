// Health records show operators the breakers, attempts and margins of all processes.
import { z } from "zod";
import { time, usd } from "../fields.ts";

export const healthRange = z.enum(["hour", "day", "week"], { error: "It must be hour, day or week" });
export const healthQuery = z.object({ range: healthRange.default("hour") });

const count = z.number().int();
const exactUsd = z.string().describe("decimal USD with up to 12 decimals");

export const routeState = z.object({
  provider: z.string(),
  model: z.string().describe("its name there"),
  condition: z
    .enum(["open", "probing", "cooling", "losing"])
    .describe(
      "open: failures in a row, other routes are preferred; probing: one request tests it; cooling: the provider asked for a pause; losing: closed because its bills are above the charges",
    ),
  since: time.nullable(),
  until: time.nullable().describe("next probe, end of the pause, or reopening"),
  loss: exactUsd.nullable().describe("of the last bill that closed the route"),
  processes: count.describe("processes with this state"),
});
export type RouteStateRecord = z.infer<typeof routeState>;

const ends = { delivered: count, failed: count, refused: count.describe("ended by the request itself") };

export const providerHealth = z.object({
  name: z.string(),
  ...ends,
  median_ms: count.nullable().describe("of delivered attempts; null = none"),
  p95_ms: count.nullable(),
  windows: z.array(z.object({ at: time, ...ends })).describe("oldest first, all windows of the range"),
});
export type ProviderHealth = z.infer<typeof providerHealth>;

export const routerHealth = z.object({
  from: time,
  window_minutes: count,
  processes: z.array(
    z.object({
      service: z.string(),
      reported_at: time,
      is_alive: z.boolean().describe("it has reported within the last 45 s"),
    }),
  ),
  states: z.array(routeState).describe("routes that are not usual, of processes that are alive"),
  providers: z.array(providerHealth).describe("ordered by name"),
  overdue: z.object({ requests: count, held: usd }).describe("requests past their deadline"),
});
export type RouterHealth = z.infer<typeof routerHealth>;

export const marginQuery = z.object({
  days: z
    .enum(["1", "7", "30"], { error: "It must be 1, 7 or 30" })
    .default("7")
    .describe("UTC days, today included"),
});

const sums = {
  charged: usd.describe("charges of all accounts"),
  cost: exactUsd.describe("bills for delivered requests"),
  losses: exactUsd.describe("bills for failed requests, and late bills"),
  margin: exactUsd.describe("charged - cost - losses; negative = a loss"),
  entries: count.describe("entries of the ledger"),
};
export const marginRow = z.object({ provider: z.string(), ...sums });
export type MarginRow = z.infer<typeof marginRow>;
export const routerMargins = z.object({
  from: z.string(),
  to: z.string(),
  total: z.object(sums),
  data: z.array(marginRow).describe("largest charge first"),
});
export type RouterMargins = z.infer<typeof routerMargins>;
