// renderError alone turns an error into an HTTP answer: status, headers and body are from the error table.
import { STATUS_CODES } from "node:http";
import { errorRow, fromConnectError, type Reason, ServiceError } from "@gr/proto";
import { BODY_MESSAGES } from "../bodies/json-body.ts";

export interface HttpError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { readonly error: ErrorBody };
  /** True for errors that no code threw on purpose: to be logged. */
  readonly unexpected: boolean;
}

export interface ErrorBody {
  readonly message: string;
  readonly type: string;
  readonly param?: string;
  readonly code?: string;
}

/** Errors of Fastify and its parsers, by their stable codes. */
const FRAMEWORK_ERRORS: Readonly<Record<string, { reason: Reason; message: string }>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    reason: "unsupported_media_type",
    message: BODY_MESSAGES.otherType("application/json"),
  },
  FST_ERR_CTP_BODY_TOO_LARGE: { reason: "body_too_large", message: "The request body is too large." },
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: {
    reason: "invalid_json",
    message: BODY_MESSAGES.wrongLength,
  },
  FST_ERR_CTP_EMPTY_JSON_BODY: {
    reason: "invalid_json",
    message: BODY_MESSAGES.empty,
  },
  FST_ERR_CTP_INVALID_JSON_BODY: { reason: "invalid_json", message: BODY_MESSAGES.invalid },
  FST_ERR_BAD_URL: { reason: "route_not_found", message: "The URL is not valid." },
  FST_ERR_MAX_PARAM_LENGTH: { reason: "route_not_found", message: "A part of the URL is too long." },
};

export function renderError(thrown: unknown, requestId: string): HttpError {
  const error = fromConnectError(thrown);
  if (error instanceof ServiceError) return renderServiceError(error);
  const known = FRAMEWORK_ERRORS[(error as { code?: string } | null)?.code ?? ""];
  if (known !== undefined) return renderServiceError(new ServiceError(known.reason, known.message));
  const message = `The router failed. Please quote request id ${requestId} if it persists.`;
  return { ...renderServiceError(new ServiceError("internal_error", message)), unexpected: true };
}

function renderServiceError(error: ServiceError): HttpError {
  const row = errorRow(error.reason);
  return {
    status: row.status,
    headers: {
      ...(row.status === 401 ? { "www-authenticate": "Bearer" } : {}),
      ...(row.retry === undefined ? {} : { "x-should-retry": row.retry === "helps" ? "true" : "false" }),
      ...(error.retryAfterMs === undefined ? {} : retryAfter(error.retryAfterMs)),
    },
    body: {
      error: {
        message: error.message,
        type: row.type,
        ...(error.param === undefined ? {} : { param: error.param }),
        ...(row.code === undefined ? {} : { code: row.code }),
      },
    },
    unexpected: false,
  };
}

/** Returns both headers: OpenAI SDKs obey the milliseconds, other clients the whole seconds. */
function retryAfter(ms: number): Record<string, string> {
  return { "retry-after": String(Math.max(1, Math.ceil(ms / 1000))), "retry-after-ms": String(ms) };
}

/**
 * Renders the same answer as raw HTTP/1.1, for requests that fail before a framework sees them.
 * @param own headers of the port, such as the request's id
 */
export function renderRawHttp(
  error: ServiceError,
  own: Readonly<Record<string, string>>,
  part: "whole" | "head" = "whole",
): string {
  const { status, headers, body } = renderServiceError(error);
  const payload = JSON.stringify(body);
  const lines = Object.entries({
    ...headers,
    "content-type": "application/json; charset=utf-8",
    "content-length": String(Buffer.byteLength(payload)),
    ...own,
    connection: "close",
  }).map(([name, value]) => `${name}: ${value}`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("\r\n")}\r\n\r\n${part === "whole" ? payload : ""}`;
}
