// UpstreamRefusal reads an upstream's error answer for the client: the side at fault, the use of a retry, and the
// words that may be sent on. An error page of a proxy is no evidence about the upstream's work.
import type { IncomingHttpHeaders } from "node:http";
import { ServiceError } from "@gr/proto";
import { parseForeignJson } from "@gr/runtime";
import { isObject, type JsonObject } from "../json/json-object.ts";
import type { CollectedAnswer } from "./collected-answer.ts";
import { meaningOf, type RefusalMeaning } from "./refusal-meaning.ts";

export interface Refusal {
  readonly error: ServiceError;
  /**
   * `refused`: the upstream certainly did not run the request.
   * `failed`: the upstream reports its own failure, and may bill its work.
   * `unknown`: a proxy answered, and the upstream's work is unknown.
   */
  readonly outcome: "refused" | "failed" | "unknown";
  /** The reason of the refusal may not apply at another provider. */
  readonly mayServeElsewhere: boolean;
  /** Our own credentials or credit are refused: an operator must act. */
  readonly isOurFault: boolean;
}

const LONGEST_MESSAGE = 500;
/** Bytes of an error answer that are read: more than any has. */
const LONGEST_REFUSAL = 1024 * 1024;
const LONGEST_RETRY_MS = 60_000;
const DEFAULT_RETRY_MS = 1_000;
/** Our key or credit is refused: an operator must act first. */
export const KEY_COOL_DOWN_MS = 30_000;
/** OpenRouter has the model, but no host of it that meets the request's demands: a price, for example. */
const NO_HOST = "No endpoints found";
/** Status that an error event without a status counts as. Code and text of the event then decide. */
const STATUS_OF_WORDS = 400;
const REFUSED_HERE: ReadonlySet<number> = new Set([401, 402, 403, 404, 429, 503]);

/** @param redact removes secrets from the upstream's words */
export function refusalOf(answer: CollectedAnswer, redact: (text: string) => string): Refusal {
  const { status } = answer;
  const envelope = readEnvelope(answer.body);
  const message =
    envelope === undefined ? undefined : redact(messageOf(envelope)).slice(0, LONGEST_MESSAGE).toWellFormed();
  const outcome = isRefusal(status) ? "refused" : envelope === undefined ? "unknown" : "failed";
  const meaning = meaningOf(status, envelope);
  if (meaning === "policy") {
    const words = message ?? "The provider refused the request by its content policy.";
    const error = new ServiceError("content_policy_violation", words);
    return { error, outcome, mayServeElsewhere: false, isOurFault: false };
  }
  const isOurFault = meaning === "account" || status === 401 || status === 402 || status === 403;
  const mayServeElsewhere = isOurFault || meaning !== undefined || isRefusedHere(status);
  return {
    error: isOurFault ? notServed() : errorOf(answer, meaning, message),
    outcome,
    mayServeElsewhere,
    isOurFault,
  };
}

/** Our account is no concern of the client's: other routes were already called. */
function notServed(): ServiceError {
  const words = "No provider of this model accepts requests at the moment; try again later.";
  return new ServiceError("provider_unavailable", words, { retryAfterMs: KEY_COOL_DOWN_MS });
}

/** Returns true if nothing was run, for a reason that may not apply at another provider. */
export function isRefusedHere(status: number): boolean {
  return REFUSED_HERE.has(status);
}

/** Returns true for statuses that are sufficient evidence that nothing was run. */
function isRefusal(status: number): boolean {
  return (status >= 300 && status < 500 && status !== 408) || status === 503;
}

function errorOf(
  { status, headers }: CollectedAnswer,
  meaning: RefusalMeaning,
  message: string | undefined,
): ServiceError {
  if (meaning === "unknown model") {
    return new ServiceError("provider_error", "The provider of this model does not offer it.");
  }
  const fitsNoHost = status === 404 && message?.startsWith(NO_HOST) === true;
  if (meaning !== "load" && (fitsNoHost || status === 400 || status === 413 || status === 422)) {
    return new ServiceError(
      "rejected_by_provider",
      message ?? "The provider refused the request as invalid.",
    );
  }
  if (status === 429 || status === 503 || meaning === "load") {
    const words = "The provider of this model is overloaded; try again shortly.";
    return new ServiceError("provider_unavailable", words, {
      retryAfterMs: retryAfterMs(headers["retry-after"]),
    });
  }
  if (status === 408 || status === 504) {
    return new ServiceError("provider_timeout", "The provider of this model did not answer in time.");
  }
  return new ServiceError("provider_error", "The provider of this model failed.");
}

/** Returns whether an error in an answer with status 200, or in one of its events, is about our account. */
export function isAboutAccount(body: Buffer): boolean {
  const envelope = readEnvelope(body);
  const code = envelope?.["code"];
  return meaningOf(typeof code === "number" ? code : STATUS_OF_WORDS, envelope) === "account";
}

/**
 * The `error` object of the format that all text upstreams share. Some send it in a list, and some with a flat code and text.
 * Events of responses have it in their response, or are themselves the error.
 */
export function readEnvelope(body: Buffer): JsonObject | undefined {
  if (body.length > LONGEST_REFUSAL) return undefined;
  try {
    const parsed: unknown = parseForeignJson(body);
    const first: unknown = Array.isArray(parsed) ? parsed[0] : parsed;
    if (!isObject(first)) return undefined;
    const { code, type, response, error = isObject(response) ? response["error"] : undefined } = first;
    if (error === undefined && type === "error") return first;
    return isObject(error) ? error : typeof error === "string" ? { code, message: error } : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function messageOf({ message }: JsonObject): string {
  return typeof message === "string" && message !== "" ? message : "The provider sent no reason.";
}

/** Cool-down in milliseconds, in which another upstream is preferred; undefined if the status demands none. */
export function coolDownOf(status: number, headers: IncomingHttpHeaders): number | undefined {
  if (status === 401 || status === 402) return KEY_COOL_DOWN_MS;
  return status === 429 || status === 503 ? retryAfterMs(headers["retry-after"]) : undefined;
}

/** Seconds only: a date is useless without the upstream's clock. */
function retryAfterMs(header: string | string[] | undefined): number {
  const seconds = typeof header === "string" && /^\d{1,6}$/.test(header) ? Number(header) : undefined;
  if (seconds === undefined) return DEFAULT_RETRY_MS;
  return Math.min(Math.max(seconds * 1_000, DEFAULT_RETRY_MS), LONGEST_RETRY_MS);
}
