// OpenAI's statement: the body of `GET /organization/costs`, buckets of one UTC day in pages.
import { formatUsd } from "../../bill/prices.ts";
import type { UpstreamStatement } from "../../bill/statement.ts";

const DAY_S = 86_400;
const USUAL_LIMIT = 7;
const MOST_DAYS = 180;

export interface CostsQuery {
  readonly start_time?: string;
  readonly end_time?: string;
  readonly bucket_width?: string;
  readonly group_by?: string;
  readonly limit?: string;
  readonly page?: string;
}

/** @returns undefined for a query that the provider refuses */
export function costsAnswer(statement: UpstreamStatement, query: CostsQuery): string | undefined {
  const { start_time: from, end_time: until, page, bucket_width: width = "1d", group_by: group } = query;
  const limit = numberOf(query.limit) ?? USUAL_LIMIT;
  const first = numberOf(page?.replace(/^page_/, "")) ?? numberOf(from);
  if (first === undefined || limit < 1 || limit > MOST_DAYS || width !== "1d") return undefined;
  const start = first - (first % DAY_S);
  const end = numberOf(until) ?? Math.floor(Date.now() / 1_000);
  const count = Math.min(limit, Math.max(0, Math.ceil((end - start) / DAY_S)));
  const buckets = Array.from({ length: count }, (_, index) => {
    const at = start + index * DAY_S;
    const results = statement.read(at * 1_000, (at + DAY_S) * 1_000).map(({ model, picoUsd }) => {
      const item = JSON.stringify(group === "line_item" ? `${model}, simulated` : null);
      // As text: the amount is an exact decimal number.
      const amount = `{"value":${formatUsd(picoUsd)},"currency":"usd"}`;
      return `{"object":"organization.costs.result","amount":${amount},"line_item":${item},"project_id":null}`;
    });
    const times = `"start_time":${at},"end_time":${at + DAY_S}`;
    return `{"object":"bucket",${times},"results":[${results.join(",")}]}`;
  });
  const next = start + count * DAY_S;
  const more = next < end ? `true,"next_page":"page_${next}"` : `false,"next_page":null`;
  return `{"object":"page","data":[${buckets.join(",")}],"has_more":${more}}`;
}

function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,11}$/.test(text) ? Number(text) : undefined;
}
