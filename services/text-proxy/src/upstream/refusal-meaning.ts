// Refusal meaning is the subject of an upstream's error that its status does not show: moderation, our account, load.
// Codes have priority. Words are read only where upstreams have been observed to send no code.
import { isObject, type JsonObject } from "../json/json-object.ts";

/** Subject of a refusal; undefined if there is none beyond the status. */
export type RefusalMeaning = "policy" | "account" | "load" | "unknown model" | undefined;

const POLICY_CODES: ReadonlySet<unknown> = new Set([
  "content_policy_violation",
  "content_filter",
  "moderation_blocked",
  "imagine:content-moderated",
]);
const POLICY_WORDS = /\bContent violates usage guidelines\b|\brejected by content moderation\b/i;
const ACCOUNT_CODES: ReadonlySet<unknown> = new Set([
  "AccountOverdueError",
  "billing_hard_limit_reached",
  "billing_not_active",
  "credit_balance_exhausted",
  "insufficient_quota",
  "invalid_api_key",
  "organization_spend_limit_exceeded",
  "organization_usage_limit_exceeded",
  "project_spend_limit_exceeded",
  "unsupported_country_region_territory",
]);
const ACCOUNT_WORDS = [
  /\bIncorrect API key provided\b/i,
  /\bAPI key not valid\b/i,
  /\bused all available credits\b/i,
  /\bprepayment credits are depleted\b/i,
  /\bUser location is not supported\b/i,
];
const LOAD_WORDS = /\btemporarily at capacity\b/i;
/** Message of an unknown model, with status 400. The model's name is from our catalogue and not from the client. */
const UNKNOWN_MODEL = / is not a valid model ID$/;

/** @param envelope the error object of an answer */
export function meaningOf(status: number, envelope: JsonObject | undefined): RefusalMeaning {
  if (envelope === undefined || status < 400 || status >= 500) return undefined;
  const { code, type, message } = envelope;
  const words = typeof message === "string" ? message : "";
  if (isPolicy(status, envelope, words)) return "policy";
  const isAccount = [code, type].some((word) => ACCOUNT_CODES.has(word));
  if (isAccount || ACCOUNT_WORDS.some((pattern) => pattern.test(words))) return "account";
  if (LOAD_WORDS.test(words)) return "load";
  if (status === 400 && UNKNOWN_MODEL.test(words)) return "unknown model";
  return status === 401 || status === 402 || status === 403 ? "account" : undefined;
}

function isPolicy(status: number, envelope: JsonObject, words: string): boolean {
  const metadata = isObject(envelope["metadata"]) ? envelope["metadata"] : {};
  if (POLICY_CODES.has(envelope["code"]) || POLICY_CODES.has(metadata["error_type"])) return true;
  if (status === 403 && (Array.isArray(metadata["reasons"]) || "flagged_input" in metadata)) return true;
  return POLICY_WORDS.test(words);
}
