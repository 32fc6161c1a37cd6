// DailyComparisons compares each readable statement once a day for the last complete days. A row of the database
// assigns each comparison to one process; every process exposes the stored result.
import { ServiceError } from "@gr/proto";
import type { Clock } from "@gr/runtime";
import type { ConsoleEvents } from "../events.ts";
import { DAY_MS, dayOf } from "../requests/days.ts";
import type { ComparisonStore } from "./comparison-store.ts";
import type { Reconcile } from "./reconcile.ts";
import type { Statement } from "./statement-config.ts";

/** Statements can have late rows: each day is compared three times. */
const DAYS = 3;
const RETRY_AFTER_MS = 60 * 60_000;
/** Time after midnight until a day counts as complete in a statement. */
const SETTLES_MS = 6 * 60 * 60_000;

export interface DailyComparisonsDeps {
  readonly statements: readonly Statement[];
  readonly reconcile: Reconcile;
  readonly comparisons: ComparisonStore;
  readonly events: Pick<ConsoleEvents, "statementCompared" | "statementNotRead" | "statementStored">;
  readonly clock: Clock;
}

export interface DailyComparisons {
  /** Compares each statement that is due, then exposes the stored results. @param stopping ends the reads */
  compareDue(stopping: AbortSignal): Promise<void>;
}

export function createDailyComparisons(deps: DailyComparisonsDeps): DailyComparisons {
  const { reconcile, comparisons, events, clock } = deps;
  const read = deps.statements.filter(({ reader }) => reader !== undefined);
  const names = read.map(({ name }) => name);
  async function compare(statement: string, signal: AbortSignal): Promise<void> {
    const now = clock.now();
    const retryAt = new Date(now + RETRY_AFTER_MS);
    // If the process dies in between, the statement is due again in an hour.
    if (!(await comparisons.claim(statement, new Date(now), retryAt))) return;
    const settled = now - SETTLES_MS;
    const today = settled - (settled % DAY_MS);
    const days = { from: dayOf(today - DAYS * DAY_MS), to: dayOf(today - DAY_MS) };
    try {
      const comparison = await reconcile.compare({ statement, days, signal });
      await comparisons.keep(statement, comparison, new Date(today + DAY_MS + SETTLES_MS));
      events.statementCompared(statement, comparison);
    } catch (error) {
      // The process stops: another one compares once the claim expires.
      if (signal.aborted) return;
      if (!(error instanceof ServiceError)) throw error;
      await comparisons.fail(statement, error.message);
      events.statementNotRead(statement, error.message);
    }
  }
  return {
    compareDue: async (signal) => {
      if (names.length === 0) return;
      for (const name of names) await compare(name, signal);
      for (const { statement, comparison } of await comparisons.list(names)) {
        events.statementStored(statement, BigInt(comparison?.offPicoUsd ?? 0));
      }
    },
  };
}
