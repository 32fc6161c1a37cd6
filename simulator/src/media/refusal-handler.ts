// How a wire format turns down what it cannot do: each has its own statuses and its own shape of an error.
import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { Refusal, type RefusalReason } from "../refusal.ts";

export interface RefusalShape {
  /** Where they differ from what is usual. */
  readonly statuses?: Partial<Record<RefusalReason, number>>;
  bodyOf(refusal: Refusal, status: number): object;
}

const USUAL: Readonly<Record<RefusalReason, number>> = {
  invalid: 400,
  unknown_model: 404,
  no_vision: 400,
  no_endpoint: 404,
  blocked: 400,
  rate_limited: 429,
  overloaded: 503,
  failed: 500,
};

/** An error handler for fastify. */
export function refusalHandler({ statuses = {}, bodyOf }: RefusalShape) {
  return (error: FastifyError | Refusal, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const refusal = error instanceof Refusal ? error : refusalOf(error, request);
    const status = statuses[refusal.reason] ?? USUAL[refusal.reason];
    if (refusal.reason === "rate_limited") reply.header("retry-after", "1");
    return reply.code(status).send(bodyOf(refusal, status));
  };
}

function refusalOf(error: FastifyError, { method, url }: FastifyRequest): Refusal {
  if ((error.statusCode ?? 500) < 500) return new Refusal("invalid", error.message);
  console.error(`The simulator failed at ${method} ${url}:`, error);
  return new Refusal("failed", "Internal error");
}
