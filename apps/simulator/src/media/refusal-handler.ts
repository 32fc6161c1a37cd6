// Converts a refusal to its provider's captured answer. Each reason names the file of a captured answer, and
// a provider without the file does not start.
import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { capturedAnswer } from "../captured-answers.ts";
import { Refusal, type RefusalReason } from "../request/refusal.ts";
import { send, type Values } from "../request/send-captured.ts";

export interface RefusalShape {
  /** Folder of its captured answers. */
  readonly provider: string;
  /** Files of reasons, if not the usual ones. */
  readonly cases?: Partial<Record<RefusalReason, string>>;
  /** Message of a refused request, by its path in the body. */
  values(refusal: Refusal, request: FastifyRequest): Values;
}

const CASES: Readonly<Record<RefusalReason, string>> = {
  invalid: "invalid-parameter",
  unknown_model: "not-found",
  no_vision: "invalid-parameter",
  no_endpoint: "invalid-parameter",
  blocked: "moderation",
  rate_limited: "rate-limit",
  overloaded: "overload",
  failed: "server-error",
};
/** Reasons with a message about the request; others keep the captured message. */
const OWN_WORDS: ReadonlySet<RefusalReason> = new Set([
  "invalid",
  "no_vision",
  "no_endpoint",
  "unknown_model",
]);

/** An error handler for fastify. @throws Error for a reason without a captured answer */
export function refusalHandler({ provider, cases = {}, values }: RefusalShape) {
  const answers = new Map(
    Object.entries({ ...CASES, ...cases }).map(
      ([reason, name]) => [reason, capturedAnswer(`${provider}/${name}`)] as const,
    ),
  );
  return (error: FastifyError | Refusal, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const refusal = error instanceof Refusal ? error : refusalOf(error, request);
    if (refusal.reason === "rate_limited") reply.header("retry-after", "1");
    const answer = answers.get(refusal.reason);
    if (answer === undefined) throw new Error(`no answer was captured for ${refusal.reason}`);
    return send(reply, answer, OWN_WORDS.has(refusal.reason) ? values(refusal, request) : {});
  };
}

function refusalOf(error: FastifyError, { method, url }: FastifyRequest): Refusal {
  if ((error.statusCode ?? 500) < 500) return new Refusal("invalid", error.message);
  console.error(`The simulator failed at ${method} ${url}:`, error);
  return new Refusal("failed", "Internal error");
}
