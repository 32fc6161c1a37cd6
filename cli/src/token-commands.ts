// token issue
import type { Command } from "commander";
import { isoText, minutesOf } from "./option-values.ts";
import { report } from "./report.ts";
import type { Runs } from "./run-cli.ts";

const MINUTE_MS = 60_000n;

export function addTokenCommands(program: Command, runs: Runs): void {
  const token = program.command("token").description("temporary web tokens");
  token
    .command("issue")
    .description("issue a web token: it spends from the account without a cap, and cannot be taken back")
    .requiredOption("--account <id>", "id of the account")
    .option("--minutes <count>", "how long it is valid, 1 to 5 (default: 5)", minutesOf, 5n)
    .action(
      runs(async (router, { account, minutes }: { account: string; minutes: bigint }) => {
        const request = { accountId: account, lifetimeMs: minutes * MINUTE_MS };
        const issued = await router.keys().issueWebToken(request);
        const expiresAt = isoText(issued.expiresAt);
        return report(
          { account_id: account, token: issued.token, expires_at: expiresAt },
          `Issued a web token that expires at ${expiresAt}:\n\n  ${issued.token}\n`,
        );
      }),
    );
}
