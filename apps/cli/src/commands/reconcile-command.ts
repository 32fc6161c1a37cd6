// reconcile: compares a provider's statement with the books; exit code 1 on a difference beyond the tolerance.
import { readFile } from "node:fs/promises";
import { sidesOf, usdOf } from "@gr/clients";
import { ConsoleOperatorService, type StatementComparison } from "@gr/proto/console";
import { OperatorError } from "@gr/runtime";
import type { Command } from "commander";
import type { Runs } from "../command.ts";
import { dayOf } from "../option-values.ts";
import { report } from "../output/report.ts";
import { type Column, table } from "../output/table.ts";

/** A statement of a month has many pages, and a provider can be slow. */
const RECONCILE_TIMEOUT_MS = 10 * 60_000;

interface Options {
  readonly upstream?: string;
  readonly from?: string;
  readonly to?: string;
  readonly csv?: string;
}

export function addReconcileCommand(program: Command, runs: Runs): void {
  program
    .command("reconcile")
    .description(
      "compare a provider's statement with the books; without options show the last daily comparisons; exit code 1 on a difference",
    )
    .option(
      "--upstream <name>",
      "name of the statement in STATEMENTS; with --csv also a provider in the books",
    )
    .option("--from <day>", "first day in UTC, for example 2027-01-01", dayOf)
    .option("--to <day>", "last day in UTC; at most 31 days", dayOf)
    .option("--csv <file>", "the statement as CSV with the columns day, model and usd")
    .action(
      runs(async (router, options: Options) => {
        const console = router.dial("console", ConsoleOperatorService);
        if (Object.keys(options).length === 0) {
          const { comparisons } = await console.listComparisons({});
          const facts = comparisons.map(factsOf);
          const none =
            "There is no comparison yet: set STATEMENTS and STATEMENT_KEYS, or name --upstream, --from and --to.";
          const text = facts.length === 0 ? none : facts.map(textOf).join("\n\n");
          return report(
            { comparisons: facts },
            text,
            facts.every(({ differs }) => !differs),
          );
        }
        const { upstream, from, to, csv } = options;
        if (upstream === undefined || from === undefined || to === undefined) {
          throw new OperatorError("Name --upstream, --from and --to together.");
        }
        const { comparison } = await console.reconcileStatement(
          {
            statement: upstream,
            fromDay: from,
            toDay: to,
            ...(csv === undefined ? {} : { csv: await readCsv(csv) }),
          },
          { timeoutMs: RECONCILE_TIMEOUT_MS },
        );
        if (comparison === undefined) throw new OperatorError("The console answered no comparison.");
        const facts = factsOf(comparison);
        return report(facts, textOf(facts), !facts.differs);
      }),
    );
}

async function readCsv(file: string): Promise<string> {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await readFile(file));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const problem =
      code === "ERR_ENCODING_INVALID_ENCODED_DATA" ? "it is not UTF-8" : (error as Error).message;
    throw new OperatorError(`Cannot read ${file}: ${problem}.`);
  }
}

type Facts = ReturnType<typeof factsOf>;
type ModelFacts = Facts["models"][number];
type DayFacts = Facts["days"][number];

function factsOf(comparison: StatementComparison) {
  return {
    upstream: comparison.statement,
    from: comparison.fromDay,
    to: comparison.toDay,
    compared_at: new Date(Number(comparison.comparedAt)).toISOString(),
    billed: usdOf(comparison.billedPicoUsd),
    booked: usdOf(comparison.bookedPicoUsd),
    unassigned: usdOf(comparison.unassignedPicoUsd),
    off: usdOf(comparison.offPicoUsd),
    differs: comparison.models.some(({ differs }) => differs),
    models: comparison.models.map((row) => ({
      ...sidesOf(row),
      unexplained: usdOf(row.unexplainedPicoUsd),
      differs: row.differs,
    })),
    days: comparison.days.map((row) => ({ day: row.day, ...sidesOf(row) })),
  };
}

const AMOUNTS: readonly Column<Pick<ModelFacts, "billed" | "booked" | "difference">>[] = [
  { title: "BILLED", cell: ({ billed }) => billed ?? "not in the statement", isRightAligned: true },
  { title: "BOOKED", cell: ({ booked }) => booked ?? "not in our books", isRightAligned: true },
  { title: "DIFFERENCE", cell: ({ difference }) => difference, isRightAligned: true },
];
const MODELS: readonly Column<ModelFacts>[] = [
  { title: "MODEL", cell: ({ model }) => nameOf(model) },
  ...AMOUNTS,
  { title: "DIFFERS", cell: ({ differs }) => (differs ? "yes" : "no") },
];
const DAYS: readonly Column<DayFacts>[] = [
  { title: "DAY", cell: ({ day }) => day },
  { title: "MODEL", cell: ({ model }) => nameOf(model) },
  ...AMOUNTS,
];

function nameOf(model: string): string {
  return model === "" ? "(earlier attempts)" : model;
}

function textOf({ upstream, from, to, billed, booked, off, differs, models, days }: Facts): string {
  const sums = `${from} to ${to}: billed ${billed} USD, booked ${booked} USD`;
  if (!differs) return `The books fit the statement of ${upstream}, ${sums}.`;
  const wrong = new Set(models.flatMap((row) => (row.differs ? [row.model] : [])));
  return [
    `The books differ from the statement of ${upstream} by ${off} USD, ${sums}.`,
    table(models, MODELS, ""),
    // A request near midnight can be on the neighbour day: the sums above decide.
    table(
      days.filter(({ model, difference }) => wrong.has(model) && difference !== "0"),
      DAYS,
      "",
    ),
  ].join("\n\n");
}
