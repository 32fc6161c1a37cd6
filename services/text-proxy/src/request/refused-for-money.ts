// RefusedForMoney adds to a refusal the parts of the sum, and the field of the request that would reduce the sum.
import { type Credits, chargeOf, formatCredits } from "@gr/money";
import { ServiceError } from "@gr/proto";
import { findMember } from "../json/json-members.ts";
import { type HoldSize, SLICE_TOKENS } from "./hold-size.ts";
import type { TextOrder } from "./text-order.ts";
import { LIMIT_FIELDS, type TextRequest } from "./text-request.ts";

const FOR_MONEY: ReadonlySet<string> = new Set([
  "insufficient_credits",
  "spend_limit_exceeded",
  "credits_in_flight",
  "spend_limit_in_flight",
]);

/** Adds to a refusal for money the parts of the refused amount. Returns any other error unchanged. */
export function withAdvice(error: unknown, { request, size }: Pick<TextOrder, "request" | "size">): unknown {
  if (!(error instanceof ServiceError) || !FOR_MONEY.has(error.reason) || size.tokenCost === 0n) return error;
  const { reason, message, retryAfterMs, param } = error;
  const details = {
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(param === undefined ? {} : { param }),
  };
  const advice = `${partsOf(size)} ${remedyFor(request, size)}`.trimEnd();
  return new ServiceError(reason, `${message} ${advice}`, { ...details, cause: error });
}

function partsOf({ credits, inputCost, hasExtras, extrasCost, inputTokens }: HoldSize): string {
  const tools = hasExtras ? chargeOf(extrasCost) : 0n;
  const input = chargeOf(inputCost) - tools;
  const parts = [
    `${usd(input)} for at most ${inputTokens} tokens of input`,
    ...(tools > 0n ? [`${usd(tools)} for tools that the provider runs`] : []),
    `${usd(credits - chargeOf(inputCost))} for output`,
  ];
  return `The request reserves ${usd(credits)}: ${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}.`;
}

function remedyFor(
  request: TextRequest,
  { credits, inputCost, stepCredits, mostTokens, hasExtras }: HoldSize,
): string {
  const output = credits - chargeOf(inputCost);
  if (hasExtras && output * 2n < credits) return "A request without these tools reserves less.";
  if (output === 0n) return "";
  const field = limitFieldOf(request);
  const beginsWithSlice = output <= stepCredits;
  if (beginsWithSlice && mostTokens >= SLICE_TOKENS) {
    return `A "${field}" below ${SLICE_TOKENS} reserves less for output.`;
  }
  return `A smaller "${field}" reserves less for output.`;
}

/** Returns the name that the client sent for its limit, or the usual name of its API. */
function limitFieldOf({ api, bytes, layout }: TextRequest): string {
  const sent = LIMIT_FIELDS[api].find((name) => findMember(bytes, layout, name) !== undefined);
  return sent ?? LIMIT_FIELDS[api][0];
}

const usd = (credits: Credits) => `${formatCredits(credits)} USD`;
