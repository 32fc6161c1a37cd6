// adjustment add. The adjustment's id is its idempotency key: it is named in every failure.
import { randomUUID } from "node:crypto";
import { formatCredits } from "@gr/money";
import type { Command } from "commander";
import { bookOnce } from "./booking.ts";
import { signedUsdOf, uuidOf } from "./option-values.ts";
import { report } from "./report.ts";
import type { Runs } from "./run-cli.ts";

interface AdjustmentOptions {
  account: string;
  usd: bigint;
  reason: string;
  id?: string;
}

export function addAdjustmentCommands(program: Command, runs: Runs): void {
  const adjustment = program.command("adjustment").description("corrections of an account's credit");
  adjustment
    .command("add")
    .description("give credit, or take it with a negative amount")
    .requiredOption("--account <id>", "id of the account")
    .requiredOption("--usd <amount>", "amount, at most four decimals; below zero takes credit", signedUsdOf)
    .requiredOption("--reason <text>", "for whoever reads the books")
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
