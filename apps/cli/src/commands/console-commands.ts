// console add-owner, add-operator, remove-operator, sign-in-link
import { ConsoleOperatorService } from "@gr/proto/console";
import type { Command } from "commander";
import type { Runs } from "../command.ts";
import { report } from "../output/report.ts";

interface NewOwner {
  readonly account: string;
  readonly accountName?: string;
  readonly email: string;
  readonly name?: string;
}

export function addConsoleCommands(program: Command, runs: Runs): void {
  const console = program.command("console").description("people of the console");
  console
    .command("add-owner")
    .description("add a person as owner of an account, and print a link for one sign-in")
    .requiredOption("--account <id>", "id of the account")
    .option("--account-name <name>", "new name of an account without members")
    .requiredOption("--email <address>", "e-mail address of the person")
    .option("--name <name>", "name of a new person")
    .action(
      runs(async (router, { account, accountName = "", email, name = "" }: NewOwner) => {
        const people = router.dial("console", ConsoleOperatorService);
        const { personId } = await people.addOwner({ accountId: account, accountName, email, name });
        const { url } = await people.createSignInLink({ email });
        const text = `${email} owns account ${account}. To sign in, once, within an hour:\n${url}`;
        return report({ person_id: personId, sign_in_link: url }, text);
      }),
    );
  console
    .command("add-operator")
    .description("let somebody into the operator area, and print a link that signs in once")
    .requiredOption("--email <address>", "e-mail address of the person")
    .option("--name <name>", "name of a new person")
    .action(
      runs(async (router, { email, name = "" }: Pick<NewOwner, "email" | "name">) => {
        const people = router.dial("console", ConsoleOperatorService);
        const { personId } = await people.addOperator({ email, name });
        const { url } = await people.createSignInLink({ email });
        const text = `${email} is an operator. To sign in, once, within an hour:\n${url}`;
        return report({ person_id: personId, sign_in_link: url }, text);
      }),
    );
  console
    .command("remove-operator")
    .description("remove a person from the operators")
    .requiredOption("--email <address>", "e-mail address of the person")
    .action(
      runs(async (router, { email }: { email: string }) => {
        await router.dial("console", ConsoleOperatorService).removeOperator({ email });
        return report({ email }, `${email} is no operator any more.`);
      }),
    );
  console
    .command("sign-in-link")
    .description("print a link that signs a person in once")
    .requiredOption("--email <address>", "e-mail address of the person")
    .action(
      runs(async (router, { email }: { email: string }) => {
        const { url } = await router.dial("console", ConsoleOperatorService).createSignInLink({ email });
        return report({ sign_in_link: url }, url);
      }),
    );
}
