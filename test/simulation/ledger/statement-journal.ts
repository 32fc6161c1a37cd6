// Statement journal owns the statements of a history with their answers, in the order in which the simulated PostgreSQL has carried them out.
import type { Step } from "@gr/ledger";
import type { Sent } from "./statements.ts";

export interface JournalEntry {
  readonly sent: Sent;
  readonly answer: { readonly rows: readonly object[] } | { readonly error: string };
  /** Transaction of an INSERT of steps. */
  readonly tx?: bigint | undefined;
  /** Transactions of the steps that a follower applies, instead of the range that it names. */
  readonly txs?: readonly bigint[] | undefined;
}

export class StatementJournal {
  readonly entries: JournalEntry[] = [];
  /** Steps from before the history, by their transactions. */
  readonly first = new Map<bigint, readonly Step[]>();
}
