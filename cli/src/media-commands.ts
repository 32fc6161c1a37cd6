// media retention show, media retention set
import type { Command } from "commander";
import { daysOf } from "./option-values.ts";
import { type Report, report } from "./report.ts";
import type { Runs } from "./run-cli.ts";

interface SetOptions {
  account: string;
  days?: number;
}

export function addMediaCommands(program: Command, runs: Runs): void {
  const retention = program
    .command("media")
    .description("hosted images and videos")
    .command("retention")
    .description("how long an account's files are kept; the log keeps its rows");
  retention
    .command("show")
    .description("show how long an account's files are kept")
    .requiredOption("--account <id>", "id of the account")
    .action(
      runs(async (router, { account }: { account: string }) =>
        answer(account, await router.media().getMediaRetention({ accountId: account })),
      ),
    );
  retention
    .command("set")
    .description(
      "change it, for files that are there already, too; without --days to what the installation has",
    )
    .requiredOption("--account <id>", "id of the account")
    .option("--days <count>", "days, 0 for ever", daysOf)
    .action(
      runs(async (router, { account, days }: SetOptions) => {
        const request = { accountId: account, ...(days === undefined ? {} : { days }) };
        return answer(account, await router.media().setMediaRetention(request));
      }),
    );
}

/** 0 is for ever. */
export function termText(days: number): string {
  return days === 0 ? "for ever" : days === 1 ? "for 1 day" : `for ${days} days`;
}

function answer(account: string, { days, own }: { days: number; own: boolean }): Report {
  const whose = own ? "as set for this account" : "as all of this installation";
  return report(
    { account_id: account, days, own },
    `Files of account ${account} are kept ${termText(days)}, ${whose}.`,
  );
}
