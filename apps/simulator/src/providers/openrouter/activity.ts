// OpenRouter's statement: the body of `GET /activity`. Unlike the real one, it has the running day, too.
import { formatUsd } from "../../bill/prices.ts";
import type { UpstreamStatement } from "../../bill/statement.ts";
import { PROVIDER_NAME } from "./text-wires.ts";

const DAY_MS = 86_400_000;
const DAYS = 30;

/** @param date undefined for all 30 days @returns undefined for a date that is none, or outside of these days */
export function activityAnswer(statement: UpstreamStatement, date: string | undefined): string | undefined {
  const tomorrow = (Math.floor(Date.now() / DAY_MS) + 1) * DAY_MS;
  const first = tomorrow - (DAYS + 1) * DAY_MS;
  const day = date === undefined ? first : startOf(date);
  if (day === undefined || day < first || day >= tomorrow) return undefined;
  const rows = statement.read(day, date === undefined ? tomorrow : day + DAY_MS).map((sum) => {
    const head = JSON.stringify({
      date: sum.day,
      model: sum.model,
      model_permaslug: sum.model,
      endpoint_id: `sandbox:${sum.model}`,
      provider_name: PROVIDER_NAME,
      byok_usage_inference: 0,
      requests: sum.requests,
      prompt_tokens: sum.inputTokens,
      completion_tokens: sum.outputTokens,
      reasoning_tokens: sum.reasoningTokens,
    });
    // As text: the amount is an exact decimal number.
    return `{"usage":${formatUsd(sum.picoUsd)},${head.slice(1)}`;
  });
  return `{"data":[${rows.join(",")}]}`;
}

function startOf(date: string): number | undefined {
  const at = /^\d{4}-\d\d-\d\d$/.test(date) ? Date.parse(date) : Number.NaN;
  return Number.isNaN(at) || new Date(at).toISOString().slice(0, 10) !== date ? undefined : at;
}
