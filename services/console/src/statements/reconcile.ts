// Reconcile reads a provider's statement and the books for the same days, and compares them; it writes nothing.
import { create } from "@bufbuild/protobuf";
import { ServiceError } from "@gr/proto";
import type { BillingReportService } from "@gr/proto/billing";
import { type StatementComparison, StatementComparisonSchema } from "@gr/proto/console";
import type { Clock, ServiceClient } from "@gr/runtime";
import { type Comparison, compareStatement, type Tolerance } from "./compare-statement.ts";
import { type DayRange, type StatementRow, UnusableStatement } from "./provider-statement.ts";
import type { Statement } from "./statement-config.ts";
import { statementFromCsv } from "./statement-csv.ts";

const NAME = /^[a-z0-9-]{1,40}$/;
const MOST_DAYS = 31;
const DAY_MS = 86_400_000;
/** A month of a busy router is read from the journal. */
const BOOKS_TIMEOUT_MS = 120_000;

export interface ReconcileDeps {
  readonly statements: readonly Statement[];
  readonly tolerance: Tolerance;
  readonly reports: Pick<ServiceClient<typeof BillingReportService>, "sumCosts">;
  readonly clock: Clock;
}

export interface Reconciliation {
  readonly statement: string;
  readonly days: DayRange;
  /** Undefined: the reader of the statement asks the provider. */
  readonly csv?: string | undefined;
  /** Ends the reads of the statement and of the books. */
  readonly signal?: AbortSignal;
}

export interface Reconcile {
  /** @throws ServiceError invalid_value, or service_unavailable with the reason that the statement was not read */
  compare(asked: Reconciliation): Promise<StatementComparison>;
}

export function createReconcile({ statements, tolerance, reports, clock }: ReconcileDeps): Reconcile {
  const find = ({ statement: name, csv }: Reconciliation): Statement => {
    const found = statements.find((each) => each.name === name);
    if (found !== undefined) return found;
    if (csv !== undefined && NAME.test(name)) return { name, providers: [name], reader: undefined };
    const names = statements.map((each) => each.name).join(", ");
    const has = names === "" ? "STATEMENTS is not set" : `STATEMENTS has ${names}`;
    throw invalid("statement", `There is no statement of this name: ${has}`);
  };
  return {
    compare: async (asked) => {
      checkDays(asked.days);
      const statement = find(asked);
      const rows = await rowsOf(statement, asked);
      const { sums } = await reports.sumCosts(
        { fromDay: asked.days.from, toDay: asked.days.to, providers: [...statement.providers] },
        { timeoutMs: BOOKS_TIMEOUT_MS, ...(asked.signal === undefined ? {} : { signal: asked.signal }) },
      );
      const books = sums.map(({ day, upstreamModel, costPicoUsd }) => ({
        ...{ day, model: upstreamModel, cost: BigInt(costPicoUsd) },
      }));
      return messageOf(statement.name, asked.days, clock.now(), compareStatement(rows, books, tolerance));
    },
  };
}

async function rowsOf({ name, reader }: Statement, asked: Reconciliation): Promise<readonly StatementRow[]> {
  if (asked.csv !== undefined) return statementFromCsv(asked.csv, asked.days);
  if (reader === undefined) {
    throw invalid("statement", `STATEMENT_KEYS has no key for ${name}: set it, or compare a CSV file`);
  }
  try {
    return await reader.read(asked.days, asked.signal);
  } catch (cause) {
    if (!(cause instanceof UnusableStatement)) throw cause;
    const message = `The statement of ${name} was not read: ${cause.message}.`;
    throw new ServiceError("service_unavailable", message, { cause });
  }
}

function checkDays({ from, to }: DayRange): void {
  const [first, last] = [startOf("from_day", from), startOf("to_day", to)];
  if (last < first) throw invalid("to_day", "It must not be before from_day");
  if (last - first >= MOST_DAYS * DAY_MS) {
    throw invalid("from_day", `At most ${MOST_DAYS} days are compared at a time`);
  }
}

function startOf(field: string, day: string): number {
  const at = /^\d{4}-\d\d-\d\d$/.test(day) ? Date.parse(day) : Number.NaN;
  if (Number.isNaN(at) || new Date(at).toISOString().slice(0, 10) !== day) {
    throw invalid(field, "It must be a day as YYYY-MM-DD");
  }
  return at;
}

function messageOf(
  statement: string,
  { from, to }: DayRange,
  now: number,
  { models, days, billed, booked, unassigned, off }: Comparison,
): StatementComparison {
  return create(StatementComparisonSchema, {
    statement,
    fromDay: from,
    toDay: to,
    comparedAt: BigInt(now),
    billedPicoUsd: String(billed),
    bookedPicoUsd: String(booked),
    unassignedPicoUsd: String(unassigned),
    offPicoUsd: String(off),
    models: models.map(({ model, differs, unexplained, ...sides }) => ({
      ...{ model, differs, unexplainedPicoUsd: String(unexplained) },
      ...sidesOf(sides),
    })),
    days: days.map(({ day, model, ...sides }) => ({ day, model, ...sidesOf(sides) })),
  });
}

function sidesOf({
  billed,
  booked,
  difference,
}: Pick<Comparison["models"][number], "billed" | "booked" | "difference">) {
  return {
    ...(billed === undefined ? {} : { billedPicoUsd: String(billed) }),
    ...(booked === undefined ? {} : { bookedPicoUsd: String(booked) }),
    differencePicoUsd: String(difference),
  };
}

function invalid(field: string, problem: string): ServiceError {
  return new ServiceError("invalid_value", `${problem} (field "${field}").`, { param: field });
}
