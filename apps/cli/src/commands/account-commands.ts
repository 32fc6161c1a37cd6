// The commands `account create | list | show | rename | update | suspend | resume` manage accounts.
// The keys service owns accounts; the console shows them to people and records suspensions; billing has the balance.
import { randomUUID } from "node:crypto";
import { formatCredits } from "@gr/money";
import { DepositStatus } from "@gr/proto/billing";
import { ConsoleOperatorService } from "@gr/proto/console";
import { type Account, KeyKind } from "@gr/proto/keys";
import { OperatorError } from "@gr/runtime";
import type { Command } from "commander";
import type { Runs } from "../command.ts";
import { isoText, positiveUsdOf, responseFormatOrNoneOf } from "../option-values.ts";
import { sentenceOfFailure } from "../output/failure.ts";
import { report } from "../output/report.ts";
import { type Column, table } from "../output/table.ts";
import type { Router } from "../router/router.ts";
import { addStatementCommand } from "./ledger/statement-command.ts";

interface NewAccount {
  readonly name: string;
  readonly owner?: string;
  readonly key?: string;
  readonly usd?: bigint;
}

export function addAccountCommands(program: Command, runs: Runs): void {
  const account = program.command("account").description("accounts");
  addCreate(account, runs);
  addList(account, runs);
  addShow(account, runs);
  addRename(account, runs);
  addUpdate(account, runs);
  addSuspension(account, runs, "suspend", "stop an account from spending; its keys still read");
  addSuspension(account, runs, "resume", "let a suspended account spend again");
  addStatementCommand(account, runs);
}

function addCreate(account: Command, runs: Runs): void {
  account
    .command("create")
    .description("open an account; with --owner, --usd and --key also all that a first request needs")
    .requiredOption("--name <name>", "name of the account")
    .option("--owner <address>", "e-mail address of its owner; prints a link that signs in once")
    .option("--usd <amount>", "first deposit, at most four decimals", positiveUsdOf)
    .option("--key <name>", "name of a first API key; its secret is shown this once")
    .action(
      runs(async (router, options: NewAccount) => {
        const { name } = options;
        const { accountId } = await router.keys().createAccount({ name });
        const created = await equip(router, accountId, options).catch((error: unknown) => {
          const problem = sentenceOfFailure(error, router.address);
          throw new OperatorError(`Account ${accountId} was created, but not all of the rest: ${problem}`);
        });
        const lines = [
          `Created account ${accountId}.`,
          ...(created.deposited === null ? [] : [`Deposited ${created.deposited} USD.`]),
          ...(created.api_key === null ? [] : [`API key, shown this once: ${created.api_key}`]),
          ...(created.sign_in_link === null
            ? []
            : [`${options.owner} owns it. To sign in, once, within an hour:`, created.sign_in_link]),
        ];
        return report({ account_id: accountId, name, ...created }, lines.join("\n"));
      }),
    );
}

/** Books the deposit, mints the key and adds the owner of a new account. A value is null if its option is absent. */
async function equip(router: Router, accountId: string, { owner, key, usd }: NewAccount) {
  if (usd !== undefined) {
    const booking = { depositId: randomUUID(), status: DepositStatus.COMPLETED, source: "operator" };
    await router.billing().putDeposit({ ...booking, accountId, credits: usd });
  }
  const minted =
    key === undefined
      ? undefined
      : await router.keys().mintKey({ accountId, name: key, kind: KeyKind.NORMAL });
  return {
    deposited: usd === undefined ? null : formatCredits(usd),
    api_key: minted?.secret ?? null,
    sign_in_link: owner === undefined ? null : await inviteOwner(router, accountId, owner),
  };
}

async function inviteOwner(router: Router, accountId: string, email: string): Promise<string> {
  const people = router.dial("console", ConsoleOperatorService);
  await people.addOwner({ accountId, email });
  return (await people.createSignInLink({ email })).url;
}

function addList(account: Command, runs: Runs): void {
  account
    .command("list")
    .description("list all accounts, oldest first")
    .action(
      runs(async (router) => {
        const accounts: ReturnType<typeof accountRecord>[] = [];
        for (let more = true; more; ) {
          const page = await router.keys().listAccounts({ after: accounts.at(-1)?.account_id ?? "" });
          accounts.push(...page.accounts.map(accountRecord));
          more = page.hasMore;
        }
        return report({ accounts }, table(accounts, COLUMNS, "There are no accounts."));
      }),
    );
}

function addShow(account: Command, runs: Runs): void {
  account
    .command("show")
    .description("show the name, balance and suspension of an account")
    .requiredOption("--account <id>", "id of the account")
    .action(
      runs(async (router, { account: accountId }: { account: string }) => {
        const found = (await router.keys().getAccount({ accountId })).account;
        if (found === undefined) throw new OperatorError("The keys service answered without the account.");
        const credits = await router.billing().getCredits({ accountId });
        const record = {
          ...accountRecord(found),
          is_suspended: credits.suspended,
          remaining_credits: formatCredits(credits.remainingCredits),
          held_credits: formatCredits(credits.heldCredits),
        };
        const rows = Object.entries(record).map(([field, value]) => [field, String(value)] as const);
        return report(record, table(rows, FIELDS, ""));
      }),
    );
}

function addRename(account: Command, runs: Runs): void {
  account
    .command("rename")
    .description("change the name of an account")
    .requiredOption("--account <id>", "id of the account")
    .requiredOption("--name <name>", "its new name")
    .action(
      runs(async (router, { account: accountId, name }: { account: string; name: string }) => {
        await router.dial("console", ConsoleOperatorService).renameAccount({ accountId, name });
        return report({ account_id: accountId, name }, `Renamed account ${accountId}.`);
      }),
    );
}

function addUpdate(account: Command, runs: Runs): void {
  account
    .command("update")
    .description("change the defaults of an account; its keys use them within 5 s")
    .requiredOption("--account <id>", "id of the account")
    .requiredOption(
      "--response-format <format>",
      "url, b64_json, b64_ephemeral or none: for image and video requests without a response_format",
      responseFormatOrNoneOf,
    )
    .action(
      runs(async (router, options: { account: string; responseFormat: string }) => {
        const { account: accountId, responseFormat: defaultResponseFormat } = options;
        const { account: changed } = await router.keys().updateAccount({ accountId, defaultResponseFormat });
        if (changed === undefined) throw new OperatorError("The keys service answered without the account.");
        return report(accountRecord(changed), `Changed account ${changed.accountId}.`);
      }),
    );
}

function addSuspension(account: Command, runs: Runs, verb: "suspend" | "resume", description: string): void {
  account
    .command(verb)
    .description(description)
    .requiredOption("--account <id>", "id of the account")
    .requiredOption("--reason <text>", "shown to the members of the account")
    .action(
      runs(async (router, { account: accountId, reason }: { account: string; reason: string }) => {
        const suspended = verb === "suspend";
        await router.dial("console", ConsoleOperatorService).setSuspended({ accountId, suspended, reason });
        const data = { account_id: accountId, is_suspended: suspended, reason };
        return report(data, `Account ${accountId} ${suspended ? "is suspended" : "may spend again"}.`);
      }),
    );
}

function accountRecord({ accountId, name, createdAt, defaultResponseFormat }: Account) {
  return {
    account_id: accountId,
    name,
    created_at: isoText(createdAt),
    default_response_format: defaultResponseFormat || null,
  };
}

const COLUMNS: readonly Column<ReturnType<typeof accountRecord>>[] = [
  { title: "ACCOUNT", cell: ({ account_id }) => account_id },
  { title: "NAME", cell: ({ name }) => name },
  { title: "CREATED", cell: ({ created_at }) => created_at ?? "" },
];

const FIELDS: readonly Column<readonly [string, string]>[] = [
  { title: "FIELD", cell: ([field]) => field },
  { title: "VALUE", cell: ([, value]) => value },
];
