// The money at the end of a generation. The row says first how it ended (one change, one winner); what billing is told
// follows from the row, so that any process can repeat it after a crash.
import { ReleaseReason } from "@gr/clients";
import { type Ending, UNRESOLVED } from "./generation/generation.ts";
import type { GenerationDeps } from "./generation-deps.ts";

type SettleDeps = Pick<GenerationDeps, "billing" | "store" | "events">;

/**
 * Books the end that the row records; may be repeated.
 * @returns false when a success was not charged, because its hold had been resolved in another way
 * @throws ServiceError when billing cannot be reached
 */
export async function settle(deps: SettleDeps, id: string, ending: Ending): Promise<boolean> {
  let asRecorded = true;
  if (ending.state === "succeeded") {
    asRecorded = await deps.billing.capture({ holdId: id, credits: ending.charge, cost: ending.cost });
  } else {
    const reason = ending.errorKind === UNRESOLVED ? ReleaseReason.UNRESOLVED : ReleaseReason.FAILED;
    await deps.billing.release(id, reason, ending.cost);
  }
  // The money is where it belongs; without the mark it is only booked once more, which changes nothing.
  await deps.store.markSettled(id).catch((error) => deps.events.notSettled(id, error));
  return asRecorded;
}
