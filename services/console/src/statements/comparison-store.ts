// Statements on the table of comparisons: one row for each statement, claimed by one process at a time.
import { fromJsonString, toJsonString } from "@bufbuild/protobuf";
import { type StatementComparison, StatementComparisonSchema } from "@gr/proto/console";
import type { Pool } from "@gr/runtime";

export interface StoredComparison {
  readonly statement: string;
  /** Undefined until the first comparison. */
  readonly comparison: StatementComparison | undefined;
  /** Reason that the last try read no statement; null after a comparison. */
  readonly problem: string | null;
}

export interface ComparisonStore {
  /** Claims the comparison of a statement that is due, for this process. @returns false if another process has it, or it is not due */
  claim(statement: string, now: Date, retryAt: Date): Promise<boolean>;
  keep(statement: string, comparison: StatementComparison, nextDue: Date): Promise<void>;
  /** Keeps the last result beside the problem. */
  fail(statement: string, problem: string): Promise<void>;
  /** Returns the results of these statements, by name. */
  list(statements: readonly string[]): Promise<readonly StoredComparison[]>;
}

const CLAIM = `INSERT INTO statement_comparison AS c (statement, due_at) VALUES ($1, $3)
  ON CONFLICT (statement) DO UPDATE SET due_at = excluded.due_at WHERE c.due_at <= $2`;

export function createComparisonStore(pool: Pool): ComparisonStore {
  return {
    claim: async (statement, now, retryAt) =>
      (await pool.query(CLAIM, [statement, now, retryAt])).rowCount === 1,
    keep: async (statement, comparison, nextDue) => {
      const sql =
        "UPDATE statement_comparison SET result = $2, problem = NULL, due_at = $3 WHERE statement = $1";
      await pool.query(sql, [statement, toJsonString(StatementComparisonSchema, comparison), nextDue]);
    },
    fail: async (statement, problem) => {
      await pool.query("UPDATE statement_comparison SET problem = $2 WHERE statement = $1", [
        statement,
        problem,
      ]);
    },
    list: async (statements) => {
      const { rows } = await pool.query<{ statement: string; result: string | null; problem: string | null }>(
        `SELECT statement, result::text AS result, problem FROM statement_comparison
          WHERE statement = ANY ($1::text[]) ORDER BY statement`,
        [statements],
      );
      return rows.map(({ statement, result, problem }) => ({
        statement,
        comparison: result === null ? undefined : fromJsonString(StatementComparisonSchema, result),
        problem,
      }));
    },
  };
}
