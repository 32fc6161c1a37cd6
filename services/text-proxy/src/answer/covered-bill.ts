// No charge is above its hold: a hold that turns out too small grows to what is believed, and where it may not the rest is
// ours. So charges are never more than billing has let through, whatever an upstream does.
import type { Credits } from "@gr/money";
import type { AttemptContext } from "@gr/paid-request";
import type { Attempt } from "./failed-attempt.ts";
import type { TextBill } from "./text-kinds.ts";

export async function growToCover(
  attempt: Attempt,
  context: Pick<AttemptContext, "extend">,
  bill: TextBill,
): Promise<TextBill> {
  const { held } = attempt.terms();
  if (bill.charge <= held) return bill;
  const grown = await context.extend(bill.charge);
  return chargeWithin(attempt, "held" in grown ? grown.held : held, bill);
}

export function chargeWithin({ order, events }: Attempt, held: Credits, bill: TextBill): TextBill {
  if (bill.charge <= held) return bill;
  events.notCovered(order, bill, held);
  return { ...bill, charge: held };
}
