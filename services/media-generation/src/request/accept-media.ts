// Accepts requests without a waiting client (RFC 7240, Prefer: respond-async). All refusals are immediate.
// The work then continues in the background, and the log has its outcome.
import type { IncomingHttpHeaders } from "node:http";
import { ServiceError } from "@gr/proto";
import type { GenerationEvents } from "../generation/events.ts";
import type { LogStore } from "../log/log-store.ts";
import type { Callbacks } from "../webhooks/callbacks.ts";
import {
  beginMedia,
  type Caller,
  type FinishedAnswer,
  type GenerateDeps,
  type Incoming,
} from "./generate-media.ts";
import type { RequestKind } from "./request-kind.ts";

export const RESPOND_ASYNC = "respond-async";

export interface AcceptDeps extends GenerateDeps {
  readonly events: GenerationEvents;
  readonly generationLog: Pick<LogStore, "findRunning">;
  readonly callbacks: Pick<Callbacks, "urlFor">;
}

export interface Accepted {
  /** Id of the running generation. */
  readonly id: string;
  /** The generation was already running, under the same Idempotency-Key. */
  readonly repeated: boolean;
}

export function prefersAsync({ prefer }: IncomingHttpHeaders): boolean {
  const preferences = [prefer ?? ""].flat().flatMap((line) => line.split(","));
  return preferences.some((each) => each.split(";")[0]?.trim().toLowerCase() === RESPOND_ASYNC);
}

/**
 * Resolves when the request is held and recorded. @returns also the answer of an earlier request. @throws ServiceError
 */
export async function acceptMedia(
  deps: AcceptDeps,
  asked: RequestKind,
  incoming: Incoming,
  caller: Omit<Caller, "gone" | "asynchronous" | "callbackUrl">,
): Promise<Accepted | FinishedAnswer> {
  if (incoming.fields.response_format === "b64_ephemeral") {
    const message = `A result with b64_ephemeral is not stored, so no client could fetch it: leave out b64_ephemeral or Prefer: ${RESPOND_ASYNC}.`;
    throw new ServiceError("invalid_value", message, { param: "response_format" });
  }
  const { claim } = caller;
  const callbackUrl = await deps.callbacks.urlFor(caller, incoming.fields.callback_url);
  const sender = { ...caller, gone: () => false, asynchronous: true, callbackUrl };
  try {
    return await begin(deps, asked, incoming, sender);
  } catch (error) {
    const inProgress = error instanceof ServiceError && error.reason === "idempotency_in_progress";
    if (!inProgress || claim === undefined) throw error;
    const running = await deps.generationLog.findRunning(caller, claim.key);
    if (running === undefined) throw error;
    return { id: running.id, repeated: true };
  }
}

/** The request's input counts in the memory budget until its work has ended. */
function begin(
  deps: AcceptDeps,
  asked: RequestKind,
  incoming: Incoming,
  caller: Caller,
): Promise<Accepted | FinishedAnswer> {
  const accepted = Promise.withResolvers<Accepted | FinishedAnswer>();
  const work = async () => {
    const begun = await beginMedia(deps, asked, incoming, caller);
    if (begun === undefined) throw new Error(`nobody waits for request ${caller.requestId}, yet it was left`);
    if ("answer" in begun) {
      accepted.resolve(begun);
      return;
    }
    accepted.resolve({ id: begun.order.id, repeated: false });
    await begun.served.catch((error) => deps.events.endedUnanswered(begun.order, error));
  };
  incoming.allowance.during(() => deps.memory.during(caller.accountId, work)).catch(accepted.reject);
  return accepted.promise;
}
