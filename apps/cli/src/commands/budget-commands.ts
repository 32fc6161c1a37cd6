// Budget commands: create, set, list. A budget above keys is a limit that many keys share: one for each customer or member.
import { randomUUID } from "node:crypto";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { periodNameOf } from "@gr/clients";
import { formatCredits } from "@gr/money";
import { BudgetLevel, type SpendPeriod } from "@gr/proto/billing";
import { type Budget, BudgetState, type PutBudgetRequestSchema } from "@gr/proto/budgets";
import { OperatorError } from "@gr/runtime";
import { type Command, Option } from "commander";
import type { Runs } from "../command.ts";
import { instantOf, isoText, LIMIT_PERIODS, oneOf, usdOf, usdText, uuidOf } from "../option-values.ts";
import { mayHaveHappened, sentenceOfFailure } from "../output/failure.ts";
import { report } from "../output/report.ts";
import { type Column, table } from "../output/table.ts";
import type { Router } from "../router/router.ts";

/** A key has a level of its own, and its own commands. */
const LEVELS = {
  account: BudgetLevel.ACCOUNT,
  member: BudgetLevel.MEMBER,
  customer: BudgetLevel.CUSTOMER,
  job: BudgetLevel.JOB,
} as const;
const LEVEL_NAMES = Object.keys(LEVELS).join(", ");
const STATES = { open: BudgetState.OPEN, closed: BudgetState.CLOSED, expired: BudgetState.EXPIRED } as const;
const PERIOD_WORDS = `one of ${Object.keys(LIMIT_PERIODS).join(", ")}: when the limit starts anew`;

type PutInit = Omit<MessageInitShape<typeof PutBudgetRequestSchema>, "$typeName">;

interface CreateOptions {
  account: string;
  name: string;
  level: (typeof LEVELS)[keyof typeof LEVELS];
  parent?: string;
  limit?: bigint;
  period?: SpendPeriod;
  expiresAt?: bigint;
  id?: string;
}

interface SetOptions {
  account: string;
  id: string;
  name?: string;
  parent?: string;
  /** False: no limit. */
  limit?: bigint | false;
  period?: SpendPeriod;
  expiresAt?: bigint;
  neverExpires?: true;
  close?: true;
  open?: true;
}

interface ListOptions {
  account: string;
  level?: (typeof LEVELS)[keyof typeof LEVELS];
}

export function addBudgetCommands(program: Command, runs: Runs): void {
  const budget = program.command("budget").description("limits that several keys of an account share");
  addCreate(budget, runs);
  addSet(budget, runs);
  budget
    .command("list")
    .description("list the budgets of an account without those of its keys, oldest first")
    .requiredOption("--account <id>", "id of the account")
    .option("--level <level>", `only ${LEVEL_NAMES}`, oneOf(LEVELS))
    .action(
      runs(async (router, { account, level }: ListOptions) => {
        const records: BudgetRecord[] = [];
        const levels = level === undefined ? Object.values(LEVELS) : [level];
        for (let more = true; more; ) {
          const request = { accountId: account, levels, limit: 1_000, after: records.at(-1)?.id ?? "" };
          const { budgets, hasMore } = await router.budgets().listBudgets(request);
          records.push(...budgets.map(budgetRecord));
          more = hasMore;
        }
        return report({ budgets: records }, budgetTable(records));
      }),
    );
}

function addCreate(budget: Command, runs: Runs): void {
  budget
    .command("create")
    .description("create a budget; key mint --budget puts a key below it")
    .requiredOption("--account <id>", "id of the account")
    .requiredOption("--name <name>", "name of the budget")
    .option("--level <level>", `one of ${LEVEL_NAMES}`, oneOf(LEVELS), LEVELS.customer)
    .option("--parent <id>", "budget of a higher level above it", uuidOf)
    .option("--limit <usd>", "most that all its keys may spend together", usdOf)
    .option("--period <period>", PERIOD_WORDS, oneOf(LIMIT_PERIODS))
    .option("--expires-at <time>", "ISO 8601 time from which its keys are refused", instantOf)
    .option("--id <uuid>", "id of the budget (default: a new one)", uuidOf)
    .action(
      runs(async (router, options: CreateOptions) => {
        const { account: accountId, name, level, parent, limit, period, expiresAt } = options;
        const record = await putBudget(router, {
          ...{ accountId, budgetId: options.id ?? randomUUID(), level, name, onlyNew: true },
          ...(parent === undefined ? {} : { parentId: parent }),
          ...limitOf(limit),
          ...(period === undefined ? {} : { period }),
          ...expiryOf(expiresAt, undefined),
        });
        return report(record, `Created budget ${record.id}.\n\n${budgetTable([record])}`);
      }),
    );
}

function addSet(budget: Command, runs: Runs): void {
  budget
    .command("set")
    .description("change the named fields of a budget, at once")
    .requiredOption("--account <id>", "id of the account")
    .requiredOption("--id <id>", "id of the budget", uuidOf)
    .option("--name <name>", "name of the budget")
    .option("--parent <id>", "budget of a higher level above it; once only", uuidOf)
    .option("--limit <usd>", "most that all its keys may spend together", usdOf)
    .option("--no-limit", "remove the limit")
    .option("--period <period>", `${PERIOD_WORDS}; a change starts it at zero`, oneOf(LIMIT_PERIODS))
    .option("--expires-at <time>", "ISO 8601 time from which its keys are refused", instantOf)
    .addOption(new Option("--never-expires", "remove the expiry").conflicts("expiresAt"))
    .option("--close", "refuse its keys until it is open again")
    .addOption(new Option("--open", "open a closed budget again").conflicts("close"))
    .action(
      runs(async (router, options: SetOptions) => {
        const change = changeOf(options);
        if (Object.keys(change).length === 0) {
          throw new OperatorError("Name a change, for example --limit 20; --help lists all.");
        }
        const record = await putBudget(router, {
          accountId: options.account,
          budgetId: options.id,
          ...change,
        });
        return report(record, `Changed budget ${record.id}.\n\n${budgetTable([record])}`);
      }),
    );
}

function changeOf({
  name,
  parent,
  limit,
  period,
  expiresAt,
  neverExpires,
  close,
  open,
}: SetOptions): PutInit {
  return {
    ...(name === undefined ? {} : { name }),
    ...(parent === undefined ? {} : { parentId: parent }),
    ...limitOf(limit),
    ...(period === undefined ? {} : { period }),
    ...expiryOf(expiresAt, neverExpires),
    ...(close === undefined ? {} : { active: false }),
    ...(open === undefined ? {} : { active: true }),
  };
}

function limitOf(limit: bigint | false | undefined): PutInit {
  if (limit === undefined) return {};
  return {
    limit: limit === false ? { case: "noLimit", value: true } : { case: "limitCredits", value: limit },
  };
}

function expiryOf(expiresAt: bigint | undefined, never: true | undefined): PutInit {
  if (never !== undefined) return { expiry: { case: "neverExpires", value: true } };
  return expiresAt === undefined ? {} : { expiry: { case: "expiresAt", value: expiresAt } };
}

/** A repeat of the call with the same id changes nothing more. */
async function putBudget(router: Router, request: PutInit): Promise<BudgetRecord> {
  const { budget } = await router
    .budgets()
    .putBudget(request)
    .catch((error: unknown) => {
      if (!mayHaveHappened(error)) throw error;
      const sentence = sentenceOfFailure(error, router.address);
      throw new OperatorError(
        `${sentence} The budget may be stored or not; repeat the command with --id ${request.budgetId}.`,
      );
    });
  if (budget === undefined) throw new Error("Billing answered without a budget.");
  return budgetRecord(budget);
}

type BudgetRecord = ReturnType<typeof budgetRecord>;

function budgetRecord(budget: Budget) {
  const { limitCredits, usedCredits, heldCredits, resetsAt } = budget;
  return {
    id: budget.budgetId,
    parent_id: budget.parentId || null,
    level: nameIn(LEVELS, budget.level),
    name: budget.name,
    state: nameIn(STATES, budget.state),
    limit: usdText(limitCredits),
    period: periodNameOf(budget.period) ?? null,
    used: formatCredits(usedCredits),
    held: formatCredits(heldCredits),
    lifetime_used: formatCredits(budget.lifetimeUsedCredits),
    requests: Number(budget.requests),
    resets_at: resetsAt === 0n ? null : isoText(resetsAt),
    expires_at: isoText(budget.expiresAt),
    created_at: isoText(budget.createdAt),
  };
}

/** @returns null for a value of a later contract */
function nameIn(names: Readonly<Record<string, number>>, value: number): string | null {
  return Object.keys(names).find((name) => names[name] === value) ?? null;
}

const COLUMNS: readonly Column<BudgetRecord>[] = [
  { title: "ID", cell: ({ id }) => id },
  { title: "NAME", cell: ({ name }) => name },
  { title: "LEVEL", cell: ({ level }) => level ?? "-" },
  { title: "STATE", cell: ({ state }) => state ?? "-" },
  { title: "LIMIT USD", cell: ({ limit }) => limit ?? "-", isRightAligned: true },
  { title: "PER", cell: ({ period }) => period ?? "-" },
  { title: "USED USD", cell: ({ used }) => used, isRightAligned: true },
  { title: "HELD USD", cell: ({ held }) => held, isRightAligned: true },
  { title: "RESETS", cell: ({ resets_at }) => resets_at ?? "never" },
  { title: "EXPIRES", cell: ({ expires_at }) => expires_at ?? "never" },
  { title: "PARENT", cell: ({ parent_id }) => parent_id ?? "-" },
];

function budgetTable(records: readonly BudgetRecord[]): string {
  return table(records, COLUMNS, "This account has no budgets.");
}
