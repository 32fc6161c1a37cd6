// account create
import type { Command } from "commander";
import { report } from "./report.ts";
import type { Runs } from "./run-cli.ts";

export function addAccountCommands(program: Command, runs: Runs): void {
  const account = program.command("account").description("accounts");
  account
    .command("create")
    .description("open an account with no credit")
    .requiredOption("--name <name>", "name of the account")
    .action(
      runs(async (router, { name }: { name: string }) => {
        const { accountId } = await router.keys().createAccount({ name });
        return report({ account_id: accountId, name }, `Created account ${accountId}.`);
      }),
    );
}
