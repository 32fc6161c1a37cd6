// media retention show and set, text retention show and set
import type { Command } from "commander";
import type { Runs } from "../command.ts";
import { daysOf } from "../option-values.ts";
import { type Report, report } from "../output/report.ts";
import type { Router } from "../router/router.ts";

interface Term {
  readonly days: number;
  /** True: the account's own term; false: the installation's. */
  readonly own: boolean;
}

/** Data of an account with a retention term. */
interface Kept {
  /** Name of the command, and its subject. */
  readonly name: string;
  readonly about: string;
  /** Plural noun at the beginning of a sentence. */
  readonly what: string;
  readonly ofZero: string;
  show(router: Router, account: string): Promise<Term>;
  /** @param days absent: the installation's term */
  set(router: Router, request: { readonly accountId: string; readonly days?: number }): Promise<Term>;
}

const MEDIA: Kept = {
  name: "media",
  about: "hosted images and videos",
  what: "Files",
  ofZero: "for ever",
  show: (router, accountId) => router.media().getMediaRetention({ accountId }),
  set: (router, request) => router.media().setMediaRetention(request),
};

const TEXT: Kept = {
  name: "text",
  about: "the log of text requests",
  what: "Lines of text requests",
  ofZero: "not at all",
  show: (router, accountId) => router.texts().getTextRetention({ accountId }),
  set: (router, request) => router.texts().setTextRetention(request),
};

export function addRetentionCommands(program: Command, runs: Runs): void {
  for (const kept of [MEDIA, TEXT]) addCommandsOf(kept, program, runs);
}

function addCommandsOf(kept: Kept, program: Command, runs: Runs): void {
  const { name, about, ofZero } = kept;
  const answer = (account: string, { days, own }: Term): Report => {
    const whose = own ? "as set for this account" : "as all of this installation";
    const term = days === 0 ? ofZero : days === 1 ? "for 1 day" : `for ${days} days`;
    return report(
      { account_id: account, days, own },
      `${kept.what} of account ${account} are kept ${term}, ${whose}.`,
    );
  };
  const retention = program
    .command(name)
    .description(about)
    .command("retention")
    .description("show the retention of an account's media; costs are kept forever");
  retention
    .command("show")
    .description("show the retention of an account's data")
    .requiredOption("--account <id>", "id of the account")
    .action(
      runs(async (router, { account }: { account: string }) =>
        answer(account, await kept.show(router, account)),
      ),
    );
  retention
    .command("set")
    .description(
      "change the retention, also of stored media; without --days to the default of the installation",
    )
    .requiredOption("--account <id>", "id of the account")
    .option("--days <count>", `days, 0 ${ofZero}`, daysOf)
    .action(
      runs(async (router, { account, days }: { account: string; days?: number }) => {
        const request = { accountId: account, ...(days === undefined ? {} : { days }) };
        return answer(account, await kept.set(router, request));
      }),
    );
}
