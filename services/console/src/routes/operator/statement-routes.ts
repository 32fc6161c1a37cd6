// Statement routes show operators the last daily comparison of each statement.
import { sidesOf, usdOf } from "@gr/clients";
import type { RouterStatements } from "@gr/console-api";
import type { StatementComparison } from "@gr/proto/console";
import type { ConsoleDeps } from "../../console-deps.ts";
import type { Handlers } from "../../door/console-call.ts";

type Record = NonNullable<RouterStatements["data"][number]["comparison"]>;

export function statementRoutes({ statements, comparisons }: ConsoleDeps): Handlers<"listStatements"> {
  return {
    listStatements: async () => {
      const stored = await comparisons.list(statements.map(({ name }) => name));
      const byName = new Map(stored.map((one) => [one.statement, one]));
      const data = statements.map(({ name, reader }) => {
        const { comparison, problem = null } = byName.get(name) ?? {};
        return {
          ...{ name, is_read: reader !== undefined, problem },
          comparison: comparison === undefined ? null : recordOf(comparison),
        };
      });
      return { data };
    },
  };
}

function recordOf(comparison: StatementComparison): Record {
  return {
    from: comparison.fromDay,
    to: comparison.toDay,
    compared_at: new Date(Number(comparison.comparedAt)).toISOString(),
    billed: usdOf(comparison.billedPicoUsd),
    booked: usdOf(comparison.bookedPicoUsd),
    off: usdOf(comparison.offPicoUsd),
    models: comparison.models.map((row) => ({ ...sidesOf(row), differs: row.differs })),
    days: comparison.days.map((row) => ({ day: row.day, ...sidesOf(row) })),
  };
}
