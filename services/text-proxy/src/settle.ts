// Turns what a request used into its charge. The hold is captured here and nowhere else, and only with the true
// cost: as the answer says, else as the upstream's look-up says, else as metered.
import { type CaptureRequest, ReleaseReason } from "@gr/clients";
import type { TokenMeters } from "@gr/models";
import { type Credits, chargeOf, type PicoUsd } from "@gr/money";
import { ServiceError } from "@gr/proto";
import type { AnswerCopy } from "./answer-copy.ts";
import { estimate } from "./estimate.ts";
import type { Exchange, TextDeps } from "./exchange.ts";
import { free } from "./give-up.ts";
import { canLookUp, lookUp } from "./look-up.ts";
import { costOf, type Usage } from "./usage.ts";

export interface Billed {
  readonly cost: PicoUsd;
  readonly charge: Credits;
  readonly meters: TokenMeters;
}

export interface Used {
  /** Undefined when the answer came without. */
  readonly usage: Usage | undefined;
  /** The upstream's id of the generation; empty when it gave none. */
  readonly generationId: string;
  /** Output tokens as metered from the bytes, for an estimate. */
  readonly meteredOutput: number;
}

/** Pauses before each look-up: a generation can be found only a moment after its end. */
const LOOK_UP_PAUSES_MS = [0, 500, 1_500] as const;

/**
 * @param lastOf writes the last of what the client gets, which says the cost. When a copy of the answer is kept, this
 *   completes it, so nothing may follow.
 * @returns what `lastOf` wrote, to be sent now
 * @throws ServiceError outcome_unknown: the hold then waits for the resolver; provider_timeout: the hold was resolved
 *   before, so that nobody is charged and nobody gets the answer
 */
export async function settle(
  deps: TextDeps,
  exchange: Exchange,
  used: Used,
  lastOf: (billed: Billed) => Buffer,
): Promise<Buffer> {
  const { usage } = used;
  const { cost, meters } =
    usage === undefined
      ? await findOut(deps, exchange, used)
      : { cost: costOf(usage, exchange.price), meters: usage.meters };
  const charge = chargeOf(cost);
  if (charge > exchange.held) deps.events.chargedAboveHold(exchange, charge);
  const last = lastOf({ cost, charge, meters });
  const capture: CaptureRequest = { holdId: exchange.id, credits: charge, cost };
  if (exchange.copy !== undefined && !(await keep(deps, exchange.copy, last, capture))) {
    // Whoever resolves it believes that nothing was kept; what we know of its cost is booked as ours.
    await free(deps, exchange, ReleaseReason.FAILED, cost);
    throw tooLate();
  }
  if (!(await deps.billing.capture(capture))) throw tooLate();
  return last;
}

function tooLate(): ServiceError {
  const message = "The answer came too late, so it is withheld; nothing was charged.";
  return new ServiceError("provider_timeout", message);
}

/**
 * Before the capture: whoever is charged and gets no answer can ask for it again.
 * @returns false when the hold is no longer ours
 */
async function keep(
  deps: TextDeps,
  copy: AnswerCopy,
  last: Buffer,
  capture: CaptureRequest,
): Promise<boolean> {
  copy.add(last);
  const answer = copy.whole();
  if (answer !== undefined) return deps.billing.keepAnswer(capture, answer);
  deps.events.notKept();
  return true;
}

async function findOut(
  deps: TextDeps,
  { id, upstream, request, price, held }: Exchange,
  { generationId, meteredOutput }: Used,
): Promise<{ cost: PicoUsd; meters: TokenMeters }> {
  const metered = estimate(request, meteredOutput, price, held);
  for (const pause of canLookUp(upstream) ? LOOK_UP_PAUSES_MS : []) {
    if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause));
    const found = await lookUp(upstream, generationId === "" ? id : generationId);
    if (typeof found !== "object") continue;
    deps.events.usageLookedUp();
    return { cost: found.cost, meters: found.meters ?? metered.meters };
  }
  deps.events.usageEstimated(id, request.model);
  return metered;
}
