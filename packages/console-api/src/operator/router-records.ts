// Router records show the router itself in the operator area.
import { z } from "zod";
import { time, usd } from "../fields.ts";

export const openRequest = z.object({
  id: z.string(),
  account_id: z.string(),
  service: z.string().describe("service that works on the request, or looks up its outcome"),
  provider: z.string().describe("provider of the last attempt"),
  attempt: z.number().int().describe("from 1"),
  model: z.string(),
  held: usd,
  placed_at: time,
  deadline_at: time.describe("from then on its outcome is looked up at the provider"),
  is_overdue: z.boolean().describe("its deadline has passed, and its outcome is still unknown"),
});
export type OpenRequestRecord = z.infer<typeof openRequest>;
export const openRequests = z.object({
  data: z.array(openRequest).describe("oldest first"),
  is_cut: z.boolean().describe("there are more"),
});

const count = z.number().int();
export const routerProviders = z.object({
  catalogue_version: z.string(),
  providers: z.array(
    z.object({
      name: z.string(),
      images: count.describe("number of models that generate images"),
      videos: count,
      texts: count,
      alone: count.describe("models that no other provider serves"),
    }),
  ),
  text_import: z.object({
    state: z.enum(["none", "running", "done", "failed"]).describe("none = no text upstream is configured"),
    problem: z.string().nullable().describe("reason of the last failed import"),
  }),
});
export type RouterProviders = z.infer<typeof routerProviders>;

export const catalogueChanges = z.object({
  added: z.array(z.string()),
  removed: z.array(z.string()),
  repriced: z.array(z.string()).describe("ids of models with a changed price"),
  notes: z.array(z.string()),
});
export type CatalogueChanges = z.infer<typeof catalogueChanges>;

const exactUsd = z.string().describe("decimal USD with up to 12 decimals; negative if the books have more");
const sides = {
  model: z.string().describe("the provider's name; empty = booked cost without a model, of earlier attempts"),
  billed: exactUsd.nullable().describe("null = not in the statement"),
  booked: exactUsd.nullable().describe("null = not in our books"),
  difference: exactUsd.describe("billed - booked"),
};
export const statementComparison = z.object({
  from: z.string().describe("first day in UTC"),
  to: z.string(),
  compared_at: time,
  billed: exactUsd,
  booked: exactUsd,
  off: exactUsd.describe("differences beyond the tolerance, as absolute amounts"),
  models: z.array(z.object({ ...sides, differs: z.boolean().describe("beyond the tolerance") })),
  days: z.array(z.object({ day: z.string(), ...sides })),
});
export const routerStatements = z.object({
  data: z.array(
    z.object({
      name: z.string(),
      is_read: z.boolean().describe("the console reads it every day; false = from CSV files only"),
      problem: z.string().nullable().describe("reason why the last try failed"),
      comparison: statementComparison.nullable().describe("null until the first daily comparison"),
    }),
  ),
});
export type RouterStatements = z.infer<typeof routerStatements>;
