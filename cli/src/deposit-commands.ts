// deposit add. The deposit's id is its idempotency key: it is named in every failure, so that trying again books once.
import { randomUUID } from "node:crypto";
import { formatCredits } from "@gr/money";
import { DepositStatus } from "@gr/proto/billing";
import { OperatorError } from "@gr/runtime";
import type { Command } from "commander";
import { mayHaveHappened, sentenceOfFailure } from "./failure.ts";
import { oneOf, positiveUsdOf, uuidOf } from "./option-values.ts";
import { report } from "./report.ts";
import type { Runs } from "./run-cli.ts";

const STATUSES = {
  completed: DepositStatus.COMPLETED,
  pending: DepositStatus.PENDING,
  failed: DepositStatus.FAILED,
  refunded: DepositStatus.REFUNDED,
} as const;

interface DepositOptions {
  account: string;
  usd: bigint;
  status: DepositStatus;
  source: string;
  id?: string;
}

export function addDepositCommands(program: Command, runs: Runs): void {
  const deposit = program.command("deposit").description("money that comes in");
  deposit
    .command("add")
    .description("book a deposit; with the id of an earlier one, change its status")
    .requiredOption("--account <id>", "id of the account")
    .requiredOption("--usd <amount>", "amount, at most four decimals", positiveUsdOf)
    .option(
      "--status <status>",
      `one of ${Object.keys(STATUSES).join(", ")} (default: completed)`,
      oneOf(STATUSES),
      STATUSES.completed,
    )
    .option("--source <text>", "where it came from", "operator")
    .option("--id <uuid>", "id of the deposit (default: a new one)", uuidOf)
    .action(
      runs(async (router, options: DepositOptions) => {
        const { account, usd, status, source, id: depositId = randomUUID() } = options;
        try {
          await router.billing().putDeposit({ depositId, accountId: account, credits: usd, status, source });
        } catch (error) {
          if (!mayHaveHappened(error)) throw error;
          throw new OperatorError(
            `${sentenceOfFailure(error, router.address)} The deposit may be booked or not; repeat the command with --id ${depositId}.`,
          );
        }
        const amount = formatCredits(usd);
        const statusName = nameOf(status);
        return report(
          { deposit_id: depositId, account_id: account, usd: amount, status: statusName, source },
          `Booked ${amount} USD (${statusName}) to account ${account} as deposit ${depositId}.`,
        );
      }),
    );
}

function nameOf(status: DepositStatus): string {
  return Object.entries(STATUSES).find(([, value]) => value === status)?.[0] ?? String(status);
}
