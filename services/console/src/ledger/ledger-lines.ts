// Ledger lines are billing's entries for people: with the payment behind a line, and the balance after it.
import type { LedgerLine } from "@gr/console-api";
import { type Credits, formatCredits } from "@gr/money";
import { type Entry, EntryKind } from "@gr/proto/billing";
import type { PaymentStore } from "../payments/payment-store.ts";
import { spenderIdOf } from "../requests/spenders.ts";

export const LEDGER_KINDS = {
  deposit: EntryKind.DEPOSIT,
  refund: EntryKind.REFUND,
  adjustment: EntryKind.ADJUSTMENT,
  charge: EntryKind.CHARGE,
} as const;

export interface LedgerPage {
  readonly lines: readonly LedgerLine[];
  /** Balance before the last line; undefined = none was computed. */
  readonly rest: Credits | undefined;
}

/** @param balance after the first of the entries, which are the newest first */
export async function linesOf(
  payments: Pick<PaymentStore, "ofBookings">,
  accountId: string,
  entries: readonly Entry[],
  balance: Credits | undefined,
): Promise<LedgerPage> {
  const bookings = entries.flatMap(({ bookingId }) => (bookingId === "" ? [] : [bookingId]));
  const found = await payments.ofBookings(bookings);
  let rest = balance;
  const lines = entries.map((entry) => {
    const line = lineOf(entry, accountId, found.get(entry.bookingId), rest);
    if (rest !== undefined) rest -= entry.credits;
    return line;
  });
  return { lines, rest };
}

function lineOf(
  entry: Entry,
  accountId: string,
  paymentId: string | undefined,
  balance: Credits | undefined,
): LedgerLine {
  const { entryId, kind, at, credits, holdId, model, spenderId, source, reason } = entry;
  const names = Object.keys(LEDGER_KINDS) as (keyof typeof LEDGER_KINDS)[];
  const name = names.find((one) => LEDGER_KINDS[one] === kind);
  if (name === undefined) throw new Error(`billing has answered an entry of kind ${kind}`);
  return {
    id: String(entryId),
    at: new Date(Number(at)).toISOString(),
    kind: name,
    amount: formatCredits(credits),
    balance_after: balance === undefined ? null : formatCredits(balance),
    request_id: holdId || null,
    model: model || null,
    key_id: spenderId === "" ? null : spenderIdOf(spenderId, accountId),
    source: source || null,
    reason: reason || null,
    payment_id: paymentId ?? null,
  };
}

/** A cursor is the id of the last line, and the balance before it, if one was computed. */
export function ledgerCursor(lastId: string, rest: Credits | undefined): string {
  return rest === undefined ? lastId : `${lastId}_${rest}`;
}

/** @returns undefined for a text that is no cursor */
export function readLedgerCursor(
  text: string,
): { readonly after: bigint; readonly balance: Credits | undefined } | undefined {
  const [, id, balance] = /^([1-9]\d{0,17})(?:_(-?\d{1,18}))?$/.exec(text) ?? [];
  if (id === undefined) return undefined;
  return { after: BigInt(id), balance: balance === undefined ? undefined : BigInt(balance) };
}
