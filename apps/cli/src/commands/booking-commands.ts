// Booking commands: deposit add, deposit refund, adjustment add. The id of a booking is its idempotency key. After an
// uncertain outcome, the message names the id with which the same command books it once, even if the first try
// succeeded.
import { randomUUID } from "node:crypto";
import { formatCredits } from "@gr/money";
import { DepositStatus } from "@gr/proto/billing";
import { OperatorError } from "@gr/runtime";
import { type Command, Option } from "commander";
import type { Runs } from "../command.ts";
import { oneOf, positiveUsdOf, signedUsdOf, uuidOf } from "../option-values.ts";
import { mayHaveHappened, sentenceOfFailure } from "../output/failure.ts";
import { report } from "../output/report.ts";
import type { Router } from "../router/router.ts";

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

interface AdjustmentOptions {
  account: string;
  usd: bigint;
  reason: string;
  id?: string;
}

export function addDepositCommands(program: Command, runs: Runs): void {
  const deposit = program.command("deposit").description("received money");
  addAdd(deposit, runs);
  addRefund(deposit, runs);
}

function addAdd(deposit: Command, runs: Runs): void {
  deposit
    .command("add")
    .description("book a deposit; with the id of an earlier one, change its status")
    .requiredOption("--account <id>", "id of the account")
    .requiredOption("--usd <amount>", "amount, at most four decimals", positiveUsdOf)
    .addOption(
      new Option("--status <status>", `one of ${Object.keys(STATUSES).join(", ")}`)
        .argParser(oneOf(STATUSES))
        .default(STATUSES.completed, "completed"),
    )
    .option("--source <text>", "source of the money", "operator")
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
    .description("reverse a whole deposit")
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

export function addAdjustmentCommands(program: Command, runs: Runs): void {
  const adjustment = program.command("adjustment").description("corrections of an account's credit");
  adjustment
    .command("add")
    .description("add credit, or withdraw it with a negative amount")
    .requiredOption("--account <id>", "id of the account")
    .requiredOption(
      "--usd <amount>",
      "amount, at most four decimals; a negative amount withdraws credit",
      signedUsdOf,
    )
    .requiredOption("--reason <text>", "for readers of the ledger")
    .option("--id <uuid>", "id of the adjustment (default: a new one)", uuidOf)
    .action(
      runs(async (router, options: AdjustmentOptions) => {
        const { account, usd, reason, id = randomUUID() } = options;
        const request = { adjustmentId: id, accountId: account, credits: usd, reason };
        await bookOnce(router, "adjustment", id, () => router.billing().putAdjustment(request));
        const amount = formatCredits(usd);
        const text =
          usd > 0n
            ? `Gave ${amount} USD to account ${account} as adjustment ${id}.`
            : `Took ${formatCredits(-usd)} USD from account ${account} as adjustment ${id}.`;
        return report({ adjustment_id: id, account_id: account, usd: amount, reason }, text);
      }),
    );
}

/**
 * @param what for people: "deposit".
 * @throws OperatorError that names the id, or the error of `book` if it was certainly not booked.
 */
async function bookOnce(
  router: Router,
  what: string,
  id: string,
  book: () => Promise<unknown>,
): Promise<void> {
  try {
    await book();
  } catch (error) {
    if (!mayHaveHappened(error)) throw error;
    const sentence = sentenceOfFailure(error, router.address);
    throw new OperatorError(
      `${sentence} The ${what} may be booked or not; repeat the command with --id ${id}.`,
    );
  }
}

function nameOf(status: DepositStatus): string {
  return Object.entries(STATUSES).find(([, value]) => value === status)?.[0] ?? String(status);
}
