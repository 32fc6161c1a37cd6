// From the messages of a Post to operations. The whole call is checked before any of it is batched with others, so
// that a malformed operation costs its own caller an error and nobody else anything.
import type { Claim } from "@gr/ledger";
import type { Credits } from "@gr/money";
import { type Claim as ClaimMessage, type Operation as Message, ReleaseReason } from "@gr/proto/billing";
import type { PostedOperation } from "../holds/hold.ts";
import { attempt, cost, credits, digest, instant, invalid, personOf, text, uuid } from "./field-rules.ts";

/** Operations of one call, all in one transaction. */
const MOST_OPERATIONS = 1_000;

/** @throws ServiceError invalid_value; `param` is a path such as `operations[3].place.hold_id`. */
export function readOperations(messages: readonly Message[]): PostedOperation[] {
  if (messages.length === 0) throw invalid("operations", "At least one operation is needed");
  if (messages.length > MOST_OPERATIONS) {
    throw invalid("operations", `At most ${MOST_OPERATIONS} operations fit in one call`);
  }
  return messages.map((message, index) => readOperation(message, `operations[${index}]`));
}

function readOperation({ operation }: Message, path: string): PostedOperation {
  switch (operation.case) {
    case "place": {
      const { value } = operation;
      const at = `${path}.place`;
      return {
        kind: "place",
        holdId: uuid(`${at}.hold_id`, value.holdId),
        accountId: uuid(`${at}.account_id`, value.accountId),
        budgetId: uuid(`${at}.spender_id`, value.spenderId),
        memberId: personOf(value.personId),
        ...sizeOf(at, value),
        deadlineAt: timeOf(at, value),
        tag: {
          service: text(`${at}.service`, value.service),
          provider: text(`${at}.provider`, value.provider),
          upstreamModel: text(`${at}.upstream_model`, value.upstreamModel || value.model),
          model: text(`${at}.model`, value.model),
          priceVersion: text(`${at}.price_version`, value.priceVersion),
        },
        claim: value.claim && readClaim(value.claim, `${at}.claim`),
      };
    }
    case "capture": {
      const at = `${path}.capture`;
      const charge = credits(`${at}.credits`, operation.value.credits);
      return { kind: "capture", ...holdOf(at, operation.value), charge, cost: costOf(at, operation.value) };
    }
    case "release": {
      const { value } = operation;
      const at = `${path}.release`;
      return {
        kind: "release",
        ...holdOf(at, value),
        unresolved: isUnresolved(`${at}.reason`, value.reason),
        cost: costOf(at, value),
        provider: billerOf(`${at}.provider`, value.provider),
      };
    }
    case "extend": {
      const { value } = operation;
      const at = `${path}.extend`;
      return { kind: "extend", ...holdOf(at, value), ...sizeOf(at, value), deadlineAt: timeOf(at, value) };
    }
    case "nextAttempt": {
      const { value } = operation;
      const at = `${path}.next_attempt`;
      return {
        kind: "next",
        ...holdOf(at, value),
        cost: costOf(at, value),
        deadlineAt: timeOf(at, value),
        provider: text(`${at}.provider`, value.provider),
        upstreamModel: text(`${at}.upstream_model`, value.upstreamModel),
        attempt: attempt(`${at}.attempt`, value.attempt),
        billedBy: billerOf(`${at}.billed_by`, value.billedBy),
      };
    }
    default:
      throw invalid(path, "It must be a place, capture, release, extend or next_attempt");
  }
}

function holdOf(
  path: string,
  { holdId, accountId }: { readonly holdId: string; readonly accountId: string },
) {
  return {
    holdId: uuid(`${path}.hold_id`, holdId),
    accountId: accountId === "" ? "" : uuid(`${path}.account_id`, accountId),
  };
}

function sizeOf(
  path: string,
  { credits: least, mostCredits }: { readonly credits: Credits; readonly mostCredits?: Credits | undefined },
) {
  const size = { credits: credits(`${path}.credits`, least) };
  if (mostCredits === undefined) return size;
  if (mostCredits < least) throw invalid(`${path}.most_credits`, "It must not be below credits");
  return { ...size, most: credits(`${path}.most_credits`, mostCredits) };
}

function costOf(path: string, { costPicoUsd }: { readonly costPicoUsd: bigint }) {
  return cost(`${path}.cost_pico_usd`, costPicoUsd);
}

function timeOf(path: string, { deadlineAt }: { readonly deadlineAt: bigint }): number {
  return Number(instant(`${path}.deadline_at`, deadlineAt));
}

/** @throws ServiceError invalid_value */
export function readClaim({ key, fingerprint }: ClaimMessage, path: string): Claim {
  return { key: digest(`${path}.key`, key), fingerprint: digest(`${path}.fingerprint`, fingerprint) };
}

function billerOf(field: string, provider: string): string | undefined {
  return provider === "" ? undefined : text(field, provider);
}

function isUnresolved(field: string, reason: ReleaseReason): boolean {
  if (reason === ReleaseReason.UNRESOLVED) return true;
  if (reason === ReleaseReason.NOT_SENT || reason === ReleaseReason.FAILED) return false;
  throw invalid(field, "A release needs a reason");
}
