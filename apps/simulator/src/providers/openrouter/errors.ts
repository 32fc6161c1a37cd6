// OpenRouter's captured errors: the code is the HTTP status.
import type { FastifyReply, FastifyRequest } from "fastify";
import { refusalHandler } from "../../media/refusal-handler.ts";
import type { Refusal } from "../../request/refusal.ts";
import { sendCaptured } from "../../request/send-captured.ts";

/** Renders the error of a route. */
export const openRouterErrorHandler = refusalHandler({
  provider: "openrouter",
  cases: { unknown_model: "unknown-model", no_vision: "no-vision", no_endpoint: "no-vision" },
  values: (refusal, request) => ({ "error.message": wording(refusal, request) }),
});

export const sendNotFound = (reply: FastifyReply) => sendCaptured(reply, "openrouter/not-found");

function wording(refusal: Refusal, request: FastifyRequest): string {
  if (refusal.reason === "unknown_model") return `${modelOf(request.body)} is not a valid model ID`;
  if (refusal.reason === "no_vision") return "No endpoints found that support image input";
  return refusal.message;
}

function modelOf(body: unknown): string {
  if (typeof body !== "object" || body === null || !("model" in body)) return "";
  return String(body.model);
}
