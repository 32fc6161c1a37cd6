// Looks up the bill of work that has just ended. A provider shows a bill only a moment after the end of the work, so the
// look-up is repeated after growing pauses.
import type { Timer } from "@gr/runtime";
import type { Kinds, LookUp } from "./ports.ts";

/** Milliseconds before each look-up. */
const PAUSES_MS = [0, 500, 1_500] as const;

export interface BillLookUpDeps<K extends Kinds> {
  readonly lookUp: LookUp<K>;
  readonly clock: Timer;
}

/**
 * Returns the provider's bill; undefined if the provider does not answer with one.
 * @param billId the provider's own id of the work; empty: the look-up uses the id of the request
 */
export async function lookUpBill<K extends Kinds>(
  { lookUp, clock }: BillLookUpDeps<K>,
  requestId: string,
  provider: string,
  billId: string,
): Promise<K["found"] | undefined> {
  for (const pause of lookUp.canAsk(provider) ? PAUSES_MS : []) {
    if (pause > 0) await clock.sleep(pause);
    const found = await lookUp.ask(provider, billId === "" ? requestId : billId);
    if (typeof found === "object") return found;
  }
  return undefined;
}
