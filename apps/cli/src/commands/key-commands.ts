// key mint, key list, key revoke, and token issue; key update is a file of its own.
import { SPEND_PERIOD_NAMES, SPEND_PERIODS } from "@gr/clients";
import { spendLimitFields } from "@gr/proto";
import type { SpendPeriod } from "@gr/proto/billing";
import { KeyKind } from "@gr/proto/keys";
import type { Command } from "commander";
import type { Runs } from "../command.ts";
import {
  instantOf,
  isoText,
  minutesOf,
  namesOf,
  oneOf,
  responseFormatOf,
  usdOf,
  uuidOf,
} from "../option-values.ts";
import { keyRecord, keyTable } from "../output/key-record.ts";
import { report } from "../output/report.ts";
import {
  ALLOW_MODELS,
  ALLOW_PROVIDERS,
  addUpdateKeyCommand,
  BUDGET,
  SAVE_TEXTS,
} from "./update-key-command.ts";

const MINUTE_MS = 60_000n;

interface MintOptions {
  account: string;
  name: string;
  management?: boolean;
  spendLimit?: bigint;
  period?: SpendPeriod;
  expiresAt?: bigint;
  responseFormat?: string;
  allowModels?: string[];
  allowProviders?: string[];
  budget?: string;
  saveTexts?: true;
}

interface RevokeOptions {
  account: string;
  id: string;
  management?: boolean;
}

export function addKeyCommands(program: Command, runs: Runs): void {
  const key = program.command("key").description("API keys");
  addMint(key, runs);
  addUpdateKeyCommand(key, runs);
  key
    .command("list")
    .description("list the keys of an account, newest first")
    .requiredOption("--account <id>", "id of the account")
    .action(
      runs(async (router, { account }: { account: string }) => {
        const records: ReturnType<typeof keyRecord>[] = [];
        for (let more = true; more; ) {
          const request = { accountId: account, after: records.at(-1)?.id ?? "" };
          const { keys, hasMore } = await router.keys().listKeys(request);
          records.push(...keys.map(keyRecord));
          more = hasMore;
        }
        return report({ keys: records }, keyTable(records));
      }),
    );
  key
    .command("revoke")
    .description("delete a key, at once and for good")
    .requiredOption("--account <id>", "id of the account")
    .requiredOption("--id <id>", "id of the key")
    .option("--management", "it is a management key; the keys that it minted stay valid")
    .action(
      runs(async (router, { account, id, management = false }: RevokeOptions) => {
        const kind = management ? KeyKind.MANAGEMENT : KeyKind.NORMAL;
        await router.keys().deleteKey({ accountId: account, keyId: id, kind });
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
    .option(
      "--period <period>",
      `one of ${SPEND_PERIOD_NAMES.join(", ")}: when the limit starts anew`,
      oneOf(SPEND_PERIODS),
    )
    .option("--expires-at <time>", "ISO 8601 time from which the key is refused", instantOf)
    .option(
      "--response-format <format>",
      "url, b64_json or b64_ephemeral: for image and video requests without a response_format",
      responseFormatOf,
    )
    .option("--allow-models <ids>", ALLOW_MODELS, namesOf)
    .option("--allow-providers <names>", ALLOW_PROVIDERS, namesOf)
    .option("--budget <id>", BUDGET, uuidOf)
    .option("--save-texts", SAVE_TEXTS)
    .action(
      runs(async (router, options: MintOptions) => {
        const { account, name, management = false, spendLimit, period, expiresAt, responseFormat } = options;
        const { allowModels, allowProviders, budget, saveTexts } = options;
        const { key: minted, secret } = await router.keys().mintKey({
          accountId: account,
          name,
          kind: management ? KeyKind.MANAGEMENT : KeyKind.NORMAL,
          ...spendLimitFields(spendLimit),
          ...(period === undefined ? {} : { period }),
          ...(expiresAt === undefined ? {} : { expiresAt }),
          ...(responseFormat === undefined ? {} : { defaultResponseFormat: responseFormat }),
          ...(allowModels === undefined ? {} : { allowedModels: { names: allowModels } }),
          ...(allowProviders === undefined ? {} : { allowedProviders: { names: allowProviders } }),
          ...(budget === undefined ? {} : { budgetId: budget }),
          ...(saveTexts && { savesTexts: true }),
        });
        if (minted === undefined) throw new Error("The keys service answered without a key.");
        const text = `Minted key ${minted.keyId}. Its secret is shown this once:\n\n  ${secret}\n`;
        return report({ ...keyRecord(minted), key: secret }, text);
      }),
    );
}

export function addTokenCommands(program: Command, runs: Runs): void {
  const token = program.command("token").description("temporary web tokens");
  token
    .command("issue")
    .description("issue a web token: it spends from the account without a limit, and cannot be revoked")
    .requiredOption("--account <id>", "id of the account")
    .option("--minutes <count>", "minutes of its validity, 1 to 5", minutesOf, 5n)
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
