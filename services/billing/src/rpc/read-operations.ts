// From the messages of a Post to operations. The whole call is checked before any of it is batched with others, so
// that a malformed operation costs its own caller an error and nobody else anything.
import type { Credits } from "@gr/money";
import { type Claim as ClaimMessage, type Operation as Message, ReleaseReason } from "@gr/proto/billing";
import type { Claim, Operation } from "../writer/operation.ts";
import { attempt, cost, credits, digest, instant, invalid, personOf, text, uuid } from "./field-rules.ts";

/** Operations of one call, all in one transaction. */
const MOST_OPERATIONS = 1_000;

/** @throws ServiceError invalid_value; `param` is a path such as `operations[3].place.hold_id`. */
export function readOperations(messages: readonly Message[]): Operation[] {
  if (messages.length === 0) throw invalid("operations", "At least one operation is needed");
  if (messages.length > MOST_OPERATIONS) {
    throw invalid("operations", `At most ${MOST_OPERATIONS} operations fit in one call`);
  }
  return messages.map((message, index) => readOperation(message, `operations[${index}]`));
}

function readOperation({ operation }: Message, path: string): Operation {
  switch (operation.case) {
    case "place": {
      const { value } = operation;
      const at = `${path}.place`;
      return {
        kind: "place",
        holdId: uuid(`${at}.hold_id`, value.holdId),
        accountId: uuid(`${at}.account_id`, value.accountId),
        spenderId: uuid(`${at}.spender_id`, value.spenderId),
        personId: personOf(value.personId),
        credits: credits(`${at}.credits`, value.credits),
        most: mostOf(at, value),
        cost: null,
        deadlineAt: instant(`${at}.deadline_at`, value.deadlineAt),
        tag: {
          service: text(`${at}.service`, value.service),
          provider: text(`${at}.provider`, value.provider),
          upstreamModel: text(`${at}.upstream_model`, value.upstreamModel || value.model),
          model: text(`${at}.model`, value.model),
          priceVersion: text(`${at}.price_version`, value.priceVersion),
        },
        attempt: null,
        billedBy: null,
        claim: value.claim === undefined ? null : readClaim(value.claim, `${at}.claim`),
      };
    }
    case "capture":
      return {
        ...ofHold(`${path}.capture`, operation.value),
        kind: "capture",
        credits: credits(`${path}.capture.credits`, operation.value.credits),
        cost: cost(`${path}.capture.cost_pico_usd`, operation.value.costPicoUsd),
      };
    case "release":
      return {
        ...ofHold(`${path}.release`, operation.value),
        kind: releaseKind(`${path}.release.reason`, operation.value.reason),
        cost: cost(`${path}.release.cost_pico_usd`, operation.value.costPicoUsd),
        tag: billerTag(`${path}.release.provider`, operation.value.provider),
      };
    case "extend":
      return {
        ...ofHold(`${path}.extend`, operation.value),
        kind: "extend",
        credits: credits(`${path}.extend.credits`, operation.value.credits),
        most: mostOf(`${path}.extend`, operation.value),
        deadlineAt: instant(`${path}.extend.deadline_at`, operation.value.deadlineAt),
      };
    case "nextAttempt": {
      const { value } = operation;
      const at = `${path}.next_attempt`;
      return {
        ...ofHold(at, value),
        kind: "next",
        cost: cost(`${at}.cost_pico_usd`, value.costPicoUsd),
        deadlineAt: instant(`${at}.deadline_at`, value.deadlineAt),
        tag: {
          service: "",
          provider: text(`${at}.provider`, value.provider),
          upstreamModel: text(`${at}.upstream_model`, value.upstreamModel),
          model: "",
          priceVersion: "",
        },
        attempt: attempt(`${at}.attempt`, value.attempt),
        billedBy: billerTag(`${at}.billed_by`, value.billedBy),
      };
    }
    default:
      throw invalid(path, "It must be a place, capture, release, extend or next_attempt");
  }
}

function ofHold(
  path: string,
  { holdId, accountId }: { readonly holdId: string; readonly accountId: string },
): Omit<Operation, "kind"> {
  return {
    holdId: uuid(`${path}.hold_id`, holdId),
    accountId: accountId === "" ? null : uuid(`${path}.account_id`, accountId),
    spenderId: null,
    credits: 0n,
    most: null,
    cost: null,
    deadlineAt: null,
    tag: null,
    attempt: null,
    billedBy: null,
    claim: null,
  };
}

function mostOf(
  path: string,
  { credits: least, mostCredits }: { readonly credits: Credits; readonly mostCredits?: Credits | undefined },
): Credits | null {
  if (mostCredits === undefined) return null;
  if (mostCredits < least) throw invalid(`${path}.most_credits`, "It must not be below credits");
  return credits(`${path}.most_credits`, mostCredits);
}

/** @throws ServiceError invalid_value */
export function readClaim({ key, fingerprint }: ClaimMessage, path: string): Claim {
  return {
    key: digest(`${path}.key`, key),
    fingerprint: digest(`${path}.fingerprint`, fingerprint),
  };
}

/** Only the provider counts. */
function billerTag(field: string, provider: string): Operation["tag"] {
  if (provider === "") return null;
  return { service: "", provider: text(field, provider), upstreamModel: "", model: "", priceVersion: "" };
}

function releaseKind(field: string, reason: ReleaseReason): "release" | "abandon" {
  switch (reason) {
    case ReleaseReason.NOT_SENT:
    case ReleaseReason.FAILED:
      return "release";
    case ReleaseReason.UNRESOLVED:
      return "abandon";
    default:
      throw invalid(field, "A release needs a reason");
  }
}
