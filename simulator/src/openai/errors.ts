// OpenAI's error bodies.
import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { Refusal, type RefusalReason } from "../refusal.ts";
import { uniqueHex } from "../simulation.ts";

const KIND: Readonly<Record<RefusalReason, { status: number; type: string }>> = {
  invalid: { status: 400, type: "invalid_request_error" },
  unknown_model: { status: 404, type: "invalid_request_error" },
  no_vision: { status: 400, type: "invalid_request_error" },
  no_endpoint: { status: 404, type: "invalid_request_error" },
  blocked: { status: 400, type: "image_generation_user_error" },
  rate_limited: { status: 429, type: "rate_limit_error" },
  overloaded: { status: 503, type: "service_unavailable_error" },
  failed: { status: 500, type: "server_error" },
};

const UNREADABLE =
  "We could not parse the JSON body of your request. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.";

export interface OpenAiError {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
  readonly moderation_details?: { readonly moderation_stage: string; readonly categories: readonly string[] };
}

export function sendOpenAiError(reply: FastifyReply, status: number, error: OpenAiError): FastifyReply {
  return reply
    .code(status)
    .header("x-request-id", `req_${uniqueHex(32)}`)
    .send({ error });
}

/** Renders what a route threw. */
export function openAiErrorHandler(
  error: FastifyError | Refusal,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  if (error instanceof Refusal) {
    const { status, type } = KIND[error.reason];
    if (error.reason === "rate_limited") reply.header("retry-after", "1");
    const body: OpenAiError = { message: error.message, type, param: error.param, code: error.code };
    if (error.reason !== "blocked") return sendOpenAiError(reply, status, body);
    return sendOpenAiError(reply, status, {
      ...body,
      moderation_details: { moderation_stage: "input", categories: ["other"] },
    });
  }
  const status = error.statusCode ?? 500;
  if (status >= 500) {
    console.error(`The simulator failed at ${request.method} ${request.url}:`, error);
    return sendOpenAiError(
      reply,
      status,
      plain("server_error", "The server had an error processing your request."),
    );
  }
  const message = error.code?.startsWith("FST_ERR_CTP_INVALID_JSON") ? UNREADABLE : error.message;
  return sendOpenAiError(reply, status, plain("invalid_request_error", message));
}

export function plain(type: string, message: string, code: string | null = null): OpenAiError {
  return { message, type, param: null, code };
}
