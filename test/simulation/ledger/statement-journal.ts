// Statement journal owns the statements of a history with their answers, in the order in which the simulated PostgreSQL has answered them.
import type { Session } from "./session.ts";
import type { Sent } from "./statements.ts";
import type { TableStep } from "./step-tables.ts";

export interface JournalEntry {
  /** Undefined for a statement that is a transaction. */
  readonly session: Session | undefined;
  readonly sent: Sent;
  readonly answer: { readonly rows: readonly object[] } | { readonly error: string };
}

export class StatementJournal {
  readonly entries: JournalEntry[] = [];
  /** Steps from before the history. */
  readonly first: TableStep[] = [];

  add(session: Session | undefined, sent: Sent, answer: JournalEntry["answer"]): void {
    this.entries.push({ session, sent, answer });
  }

  addFirst(steps: readonly TableStep[]): void {
    this.first.push(...steps);
  }
}
