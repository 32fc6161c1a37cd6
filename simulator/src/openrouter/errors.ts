// OpenRouter's error bodies: the code is the HTTP status.
import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { Refusal, type RefusalReason } from "../refusal.ts";
import { PROVIDER_NAME } from "./text-wires.ts";

const STATUS: Readonly<Record<RefusalReason, number>> = {
  invalid: 400,
  unknown_model: 400,
  no_vision: 404,
  no_endpoint: 404,
  blocked: 403,
  rate_limited: 429,
  overloaded: 503,
  failed: 500,
};

export function sendOpenRouterError(
  reply: FastifyReply,
  status: number,
  message: string,
  metadata?: object,
): FastifyReply {
  const details = metadata === undefined ? {} : { metadata };
  return reply.code(status).send({ error: { message, code: status, ...details } });
}

/** Renders what a route threw. */
export function openRouterErrorHandler(
  error: FastifyError | Refusal,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  if (error instanceof Refusal) {
    if (error.reason === "rate_limited") reply.header("retry-after", "1");
    const metadata = error.reason === "blocked" ? moderation(request) : undefined;
    return sendOpenRouterError(reply, STATUS[error.reason], wording(error, request), metadata);
  }
  const status = error.statusCode ?? 500;
  if (status >= 500) {
    console.error(`The simulator failed at ${request.method} ${request.url}:`, error);
    return sendOpenRouterError(reply, status, "Internal Server Error");
  }
  return sendOpenRouterError(reply, status, error.message);
}

function moderation(request: FastifyRequest): object {
  return {
    reasons: ["sandbox"],
    flagged_input: "",
    provider_name: PROVIDER_NAME,
    model_slug: modelOf(request.body),
  };
}

function wording(refusal: Refusal, request: FastifyRequest): string {
  if (refusal.reason === "unknown_model") return `${modelOf(request.body)} is not a valid model ID`;
  if (refusal.reason === "no_vision") return "No endpoints found that support image input";
  if (refusal.reason === "failed") return "Internal Server Error";
  return refusal.message;
}

function modelOf(body: unknown): string {
  if (typeof body !== "object" || body === null || !("model" in body)) return "";
  return String(body.model);
}
