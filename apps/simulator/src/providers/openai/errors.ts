// OpenAI's captured errors; compatible servers answer alike.
import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { refusalHandler } from "../../media/refusal-handler.ts";
import { Refusal } from "../../request/refusal.ts";
import { sendCaptured, type Values } from "../../request/send-captured.ts";
import { uniqueHex } from "../../request/simulation.ts";

const UNREADABLE =
  "We could not parse the JSON body of your request. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.";

const handle = refusalHandler({
  provider: "openai",
  cases: { unknown_model: "unknown-model" },
  values: ({ message, param, code }) => ({
    "error.message": message,
    "error.param": param,
    "error.code": code,
  }),
});

export function sendOpenAiError(reply: FastifyReply, name: string, values: Values = {}): FastifyReply {
  return sendCaptured(withRequestId(reply), `openai/${name}`, values);
}

/** Renders the error of a route. */
export function openAiErrorHandler(
  error: FastifyError | Refusal,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const isUnreadable =
    !(error instanceof Refusal) && error.code?.startsWith("FST_ERR_CTP_INVALID_JSON") === true;
  return handle(isUnreadable ? new Refusal("invalid", UNREADABLE) : error, request, withRequestId(reply));
}

const withRequestId = (reply: FastifyReply) => reply.header("x-request-id", `req_${uniqueHex(32)}`);
