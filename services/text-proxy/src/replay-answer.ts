// Gives the kept answer of a charged request again to whoever repeats it with its Idempotency-Key: byte for byte,
// under a request id of its own. Nothing goes upstream and nothing is charged.
import { ServiceError } from "@gr/proto";
import type { FastifyReply } from "fastify";
import type { TextDeps } from "./exchange.ts";
import { STREAM_HEADERS } from "./serve-stream.ts";

const NOT_KEPT =
  "The request with this Idempotency-Key was carried out and charged, but its answer was not kept. " +
  "Look at your credits; to ask again, use a new key.";

/** @throws ServiceError idempotency_not_replayable, service_unavailable */
export async function replayAnswer(
  deps: TextDeps,
  earlier: { readonly accountId: string; readonly holdId: string; readonly stream: boolean },
  reply: FastifyReply,
): Promise<FastifyReply> {
  const answer = await deps.billing.readAnswer(earlier.accountId, earlier.holdId);
  if (answer === undefined) {
    throw new ServiceError("idempotency_not_replayable", NOT_KEPT, { param: "Idempotency-Key" });
  }
  deps.events.replayed();
  const { buffer, byteOffset, byteLength } = answer.body;
  return reply
    .headers(earlier.stream ? STREAM_HEADERS : {})
    .header("idempotency-replayed", "true")
    .type(answer.contentType)
    .send(Buffer.from(buffer, byteOffset, byteLength));
}
