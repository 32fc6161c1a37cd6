// Statement routes show operators the last daily comparison of each statement.
import type { RouterStatements } from "@gr/console-api";
import { formatPicoUsd } from "@gr/money";
import type { DayDifference, ModelDifference, StatementComparison } from "@gr/proto/console";
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
    billed: usd(comparison.billedPicoUsd),
    booked: usd(comparison.bookedPicoUsd),
    off: usd(comparison.offPicoUsd),
    models: comparison.models.map((row) => ({ ...sidesOf(row), differs: row.differs })),
    days: comparison.days.map((row) => ({ day: row.day, ...sidesOf(row) })),
  };
}

function sidesOf({
  model,
  billedPicoUsd: billed,
  bookedPicoUsd: booked,
  differencePicoUsd,
}: ModelDifference | DayDifference) {
  return {
    model,
    billed: billed === undefined ? null : usd(billed),
    booked: booked === undefined ? null : usd(booked),
    difference: usd(differencePicoUsd),
  };
}

function usd(pico: string): string {
  return formatPicoUsd(BigInt(pico));
}
