// key mint, key list, key revoke
import { type Key, KeyKind } from "@gr/proto/keys";
import type { Command } from "commander";
import { instantOf, isoText, oneOf, PERIODS, periodName, usdOf, usdText } from "./option-values.ts";
import { report } from "./report.ts";
import type { Runs } from "./run-cli.ts";
import { type Column, table } from "./table.ts";

interface MintOptions {
  account: string;
  name: string;
  management?: boolean;
  spendLimit?: bigint;
  period?: (typeof PERIODS)[keyof typeof PERIODS];
  expiresAt?: bigint;
}

export function addKeyCommands(program: Command, runs: Runs): void {
  const key = program.command("key").description("API keys");
  addMint(key, runs);
  key
    .command("list")
    .description("list the keys of an account, newest first")
    .requiredOption("--account <id>", "id of the account")
    .action(
      runs(async (router, { account }: { account: string }) => {
        const { keys } = await router.keys().listKeys({ accountId: account });
        const records = keys.map(recordOf);
        return report({ keys: records }, table(records, COLUMNS, "This account has no keys."));
      }),
    );
  key
    .command("revoke")
    .description("delete a normal key, at once and for good")
    .requiredOption("--account <id>", "id of the account")
    .requiredOption("--id <id>", "id of the key")
    .action(
      runs(async (router, { account, id }: { account: string; id: string }) => {
        await router.keys().deleteKey({ accountId: account, keyId: id });
        return report({ id, deleted: true }, `Deleted key ${id}.`);
      }),
    );
}

function addMint(key: Command, runs: Runs): void {
  key
    .command("mint")
    .description("mint a key; its secret is shown this once")
    .requiredOption("--account <id>", "id of the account")
    .requiredOption("--name <name>", "name of the key")
    .option("--management", "a key that manages keys and cannot spend")
    .option("--spend-limit <usd>", "most that the key may spend", usdOf)
    .option("--period <period>", "the limit starts anew each day, week or month", oneOf(PERIODS))
    .option("--expires-at <time>", "ISO 8601 time from which the key is refused", instantOf)
    .action(
      runs(async (router, options: MintOptions) => {
        const { account, name, management = false, spendLimit, period, expiresAt } = options;
        const { key: minted, secret } = await router.keys().mintKey({
          accountId: account,
          name,
          kind: management ? KeyKind.MANAGEMENT : KeyKind.NORMAL,
          ...(spendLimit === undefined ? {} : { capCredits: spendLimit }),
          ...(period === undefined ? {} : { period }),
          ...(expiresAt === undefined ? {} : { expiresAt }),
        });
        if (minted === undefined) throw new Error("The keys service answered without a key.");
        const text = `Minted key ${minted.keyId}. Its secret is shown this once:\n\n  ${secret}\n`;
        return report({ ...recordOf(minted), key: secret }, text);
      }),
    );
}

type KeyRecord = ReturnType<typeof recordOf>;

function recordOf(key: Key) {
  return {
    id: key.keyId,
    name: key.name,
    kind: key.kind === KeyKind.MANAGEMENT ? "management" : "normal",
    is_active: key.active,
    spend_limit: usdText(key.capCredits),
    spend_limit_period: periodName(key.period),
    expires_at: isoText(key.expiresAt),
    created_at: isoText(key.createdAt),
    hint: key.hint,
  };
}

const COLUMNS: readonly Column<KeyRecord>[] = [
  { title: "ID", cell: ({ id }) => id },
  { title: "NAME", cell: ({ name }) => name },
  { title: "KIND", cell: ({ kind }) => kind },
  { title: "ACTIVE", cell: ({ is_active }) => (is_active ? "yes" : "no") },
  { title: "KEY", cell: ({ hint }) => hint },
  { title: "LIMIT USD", cell: ({ spend_limit }) => spend_limit ?? "-", right: true },
  { title: "PER", cell: ({ spend_limit_period }) => spend_limit_period ?? "-" },
  { title: "EXPIRES", cell: ({ expires_at }) => expires_at ?? "never" },
  { title: "CREATED", cell: ({ created_at }) => created_at ?? "-" },
];
