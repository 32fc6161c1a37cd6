// deposit add, deposit refund. The deposit's id is its idempotency key: it is named in every failure, so that trying
// again books once.
import { randomUUID } from "node:crypto";
import { formatCredits } from "@gr/money";
import { DepositStatus } from "@gr/proto/billing";
import type { Command } from "commander";
import { bookOnce } from "./booking.ts";
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

interface RefundOptions {
  account: string;
  usd: bigint;
  id: string;
}

export function addDepositCommands(program: Command, runs: Runs): void {
  const deposit = program.command("deposit").description("money that comes in");
  addAdd(deposit, runs);
  addRefund(deposit, runs);
}

function addAdd(deposit: Command, runs: Runs): void {
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
        const request = { depositId, accountId: account, credits: usd, status, source };
        await bookOnce(router, "deposit", depositId, () => router.billing().putDeposit(request));
        const amount = formatCredits(usd);
        const statusName = nameOf(status);
        return report(
          { deposit_id: depositId, account_id: account, usd: amount, status: statusName, source },
          `Booked ${amount} USD (${statusName}) to account ${account} as deposit ${depositId}.`,
        );
      }),
    );
}

function addRefund(deposit: Command, runs: Runs): void {
  deposit
    .command("refund")
    .description("take a whole deposit back")
    .requiredOption("--account <id>", "id of the account")
    .requiredOption("--usd <amount>", "amount of the deposit, as it was booked", positiveUsdOf)
    .requiredOption("--id <uuid>", "id of the deposit", uuidOf)
    .action(
      runs(async (router, { account, usd, id }: RefundOptions) => {
        const status = STATUSES.refunded;
        const request = { depositId: id, accountId: account, credits: usd, status, source: "operator" };
        await bookOnce(router, "refund", id, () => router.billing().putDeposit(request));
        const amount = formatCredits(usd);
        return report(
          { deposit_id: id, account_id: account, usd: amount, status: nameOf(status) },
          `Deposit ${id} of ${amount} USD is refunded.`,
        );
      }),
    );
}

function nameOf(status: DepositStatus): string {
  return Object.entries(STATUSES).find(([, value]) => value === status)?.[0] ?? String(status);
}
