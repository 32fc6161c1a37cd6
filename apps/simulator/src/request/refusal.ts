// Refusal is the simulated provider's refusal of a request. Each wire format renders it in its own error shape.
import { uniqueHex } from "./simulation.ts";

/** `unknown_model` and `no_vision` have different statuses and words at each provider. */
export type RefusalReason =
  | "invalid"
  | "unknown_model"
  | "no_vision"
  | "no_endpoint"
  | "blocked"
  | "rate_limited"
  | "overloaded"
  | "failed";

/** `message`, `param` and `code` are written as OpenAI writes them. */
export class Refusal extends Error {
  readonly reason: RefusalReason;
  readonly param: string | null;
  readonly code: string | null;

  constructor(
    reason: RefusalReason,
    message: string,
    param: string | null = null,
    code: string | null = null,
  ) {
    super(message);
    this.name = "Refusal";
    this.reason = reason;
    this.param = param;
    this.code = code;
  }
}

export function unknownModel(model: string): Refusal {
  return new Refusal(
    "unknown_model",
    `The model \`${model}\` does not exist or you do not have access to it.`,
    null,
    "model_not_found",
  );
}

/** The fault models' HTTP 500. */
export function serverFailure(): Refusal {
  return new Refusal("failed", "The server had an error while processing your request. Sorry about that!");
}

export function blockedByModeration(): Refusal {
  return new Refusal(
    "blocked",
    `Your request was rejected by the safety system. If you believe this is an error, contact us at help.openai.com and include the request ID req_${uniqueHex(32)}.`,
    null,
    "moderation_blocked",
  );
}
