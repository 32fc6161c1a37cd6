// key update is idempotent: a command with an unknown outcome can be repeated unchanged.
import { spendLimitChange } from "@gr/proto";
import type { SpendPeriod } from "@gr/proto/billing";
import { OperatorError } from "@gr/runtime";
import { type Command, Option } from "commander";
import type { Runs } from "../command.ts";
import {
  instantOf,
  LIMIT_PERIODS,
  namesOf,
  oneOf,
  responseFormatOrNoneOf,
  usdOf,
  uuidOf,
} from "../option-values.ts";
import { mayHaveHappened, sentenceOfFailure } from "../output/failure.ts";
import { keyRecord, keyTable } from "../output/key-record.ts";
import { report } from "../output/report.ts";

interface UpdateOptions {
  account: string;
  id: string;
  name?: string;
  /** False: no limit. */
  spendLimit?: bigint | false;
  period?: SpendPeriod;
  expiresAt?: bigint;
  neverExpires?: true;
  disable?: true;
  enable?: true;
  /** Empty: that of the account. */
  responseFormat?: string;
  allowModels?: string[];
  allModels?: true;
  allowProviders?: string[];
  allProviders?: true;
  budget?: string;
  saveTexts?: boolean;
}

export const ALLOW_MODELS =
  "ids of models that the key may use, separated by commas; * at the end of an id stands for any end";
export const BUDGET = "budget above the key, whose limit it shares";
export const SAVE_TEXTS = "save prompts and answers of text requests with the key";
export const ALLOW_PROVIDERS = "providers that the key may use, separated by commas";

export function addUpdateKeyCommand(key: Command, runs: Runs): void {
  key
    .command("update")
    .description("change the named fields of a key, at once")
    .requiredOption("--account <id>", "id of the account")
    .requiredOption("--id <id>", "id of the key")
    .option("--name <name>", "name of the key")
    .option("--spend-limit <usd>", "most that the key may spend", usdOf)
    .option("--no-spend-limit", "remove the limit and its period")
    .option(
      "--period <period>",
      `one of ${Object.keys(LIMIT_PERIODS).join(", ")}: when the limit starts anew; a change starts it at zero`,
      oneOf(LIMIT_PERIODS),
    )
    .option("--expires-at <time>", "ISO 8601 time from which the key is refused", instantOf)
    .addOption(new Option("--never-expires", "remove the expiry").conflicts("expiresAt"))
    .option(
      "--response-format <format>",
      "url, b64_json, b64_ephemeral, or none for that of the account: for requests without a response_format",
      responseFormatOrNoneOf,
    )
    .option("--allow-models <ids>", ALLOW_MODELS, namesOf)
    .addOption(new Option("--all-models", "allow all models").conflicts("allowModels"))
    .option("--allow-providers <names>", ALLOW_PROVIDERS, namesOf)
    .addOption(new Option("--all-providers", "allow all providers").conflicts("allowProviders"))
    .option("--budget <id>", `${BUDGET}; once only`, uuidOf)
    .option("--save-texts", SAVE_TEXTS)
    .option("--no-save-texts", "save no further prompts and answers; the saved ones stay")
    .option("--disable", "refuse the key until it is enabled")
    .addOption(new Option("--enable", "accept a disabled key again").conflicts("disable"))
    .action(
      runs(async (router, options: UpdateOptions) => {
        const change = changeOf(options);
        if (Object.keys(change).length === 0) {
          throw new OperatorError("Name a change, for example --disable; --help lists all.");
        }
        const request = { accountId: options.account, keyId: options.id, ...change };
        const { key: changed } = await router
          .keys()
          .updateKey(request)
          .catch((error: unknown) => {
            if (!mayHaveHappened(error)) throw error;
            const sentence = sentenceOfFailure(error, router.address);
            throw new OperatorError(`${sentence} The key may be changed or not; repeat the command.`);
          });
        if (changed === undefined) throw new Error("The keys service answered without a key.");
        const record = keyRecord(changed);
        return report(record, `Changed key ${record.id}.\n\n${keyTable([record])}`);
      }),
    );
}

/** The fields of the request that the options name. */
function changeOf(options: UpdateOptions) {
  const { name, spendLimit, period, expiresAt, neverExpires, disable, enable, responseFormat } = options;
  const { saveTexts } = options;
  return {
    ...(name === undefined ? {} : { name }),
    ...(disable === undefined ? {} : { active: false }),
    ...(enable === undefined ? {} : { active: true }),
    ...spendLimitChange(spendLimit === false ? null : spendLimit),
    ...(period === undefined ? {} : { period }),
    ...(expiresAt === undefined ? {} : { expiry: { case: "expiresAt" as const, value: expiresAt } }),
    ...(responseFormat === undefined ? {} : { defaultResponseFormat: responseFormat }),
    ...(options.budget === undefined ? {} : { budgetId: options.budget }),
    ...listChangeOf(options),
    ...(saveTexts === undefined ? {} : { savesTexts: saveTexts }),
    ...(neverExpires === undefined ? {} : { expiry: { case: "neverExpires" as const, value: true } }),
  };
}

function listChangeOf({ allowModels, allModels, allowProviders, allProviders }: UpdateOptions) {
  return {
    ...(allModels && { models: { case: "allModels" as const, value: true } }),
    ...(allowModels && { models: { case: "allowedModels" as const, value: { names: allowModels } } }),
    ...(allProviders && { providers: { case: "allProviders" as const, value: true } }),
    ...(allowProviders && {
      providers: { case: "allowedProviders" as const, value: { names: allowProviders } },
    }),
  };
}
