// Whose clock money goes by: PostgreSQL's, read after the locks are taken, so that all billing processes agree and
// none decides by an earlier time than one before it. Only a clock that is not the system's, a test's, replaces it.
import { type Clock, systemClock } from "@gr/runtime";

/** The time to decide by; null = PostgreSQL's own. */
export type LedgerTime = () => Date | null;

export function ledgerTimeOf(clock: Clock): LedgerTime {
  return clock === systemClock ? () => null : () => new Date(clock.now());
}
