// Statement settings list the providers that bill us, their names in the books, and the key for each statement.
// A statement without a key is compared from CSV files only.
import { type PicoUsd, parsePicoUsd } from "@gr/money";
import { OperatorError, readJsonSetting } from "@gr/runtime";
import { z } from "zod";
import { falStatement } from "./fal-statement.ts";
import type { StatementAddress } from "./fetch-statement.ts";
import { openAiStatement } from "./openai-statement.ts";
import { openRouterStatement } from "./openrouter-statement.ts";
import type { ProviderStatement } from "./provider-statement.ts";
import { vercelStatement } from "./vercel-statement.ts";

interface StatementKind {
  readonly baseUrl: string;
  readonly open: (address: StatementAddress) => ProviderStatement;
}

/** A new reader is a row here. */
const KINDS = {
  openrouter: { baseUrl: "https://openrouter.ai/api/v1", open: openRouterStatement },
  openai: { baseUrl: "https://api.openai.com/v1", open: openAiStatement },
  vercel: { baseUrl: "https://ai-gateway.vercel.sh/v1", open: vercelStatement },
  fal: { baseUrl: "https://api.fal.ai/v1", open: falStatement },
} as const satisfies Record<string, StatementKind>;
type KindName = keyof typeof KINDS;

const NAME = /^[a-z0-9-]{1,40}$/;
const name = z.string().regex(NAME, "must be 1 to 40 characters of a-z, 0-9 and -");
const listed = z.strictObject({
  name,
  kind: z.enum(Object.keys(KINDS) as [KindName, ...KindName[]]).optional(),
  providers: z.array(name).min(1).max(20).optional(),
  base_url: z.url({ protocol: /^https?$/, error: "must be an http:// or https:// URL" }).optional(),
});

export const statementSettings = {
  STATEMENTS: z
    .string()
    .transform((text, context) => readJsonSetting(text, z.array(listed).max(20), context))
    .optional()
    .describe(
      "[statements of providers](#statements-of-providers) that the console compares with the books every day: a JSON list of `name`, `kind`, `providers`, `base_url`",
    ),
  STATEMENT_KEYS: z
    .string()
    .transform((text, context) => readJsonSetting(text, z.record(name, z.string().min(1)), context))
    .optional()
    .describe(
      "management or admin keys that read the statements: a JSON object, name of the statement to key",
    ),
  STATEMENT_TOLERANCE_USD: z
    .string()
    .default("0.01")
    .transform((text, context): PicoUsd => {
      const pico = parsePicoUsd(text);
      if (pico !== undefined) return pico;
      context.addIssue({ code: "custom", message: "must be an amount of USD, at least 0, for example 0.01" });
      return z.NEVER;
    })
    .describe("the largest difference of a model, in USD, that does not count"),
  STATEMENT_TOLERANCE_PERCENT: z.coerce
    .number()
    .int()
    .min(0)
    .max(100)
    .default(1)
    .describe(
      "the largest difference of a model, in percent of the billed amount, that does not count; the larger tolerance applies",
    ),
};
const settings = z.object(statementSettings);

/** A statement that the operator has named. */
export interface Statement {
  readonly name: string;
  /** Names of the same provider in holds. */
  readonly providers: readonly string[];
  /** Undefined for a statement that is read from CSV files only. */
  readonly reader: ProviderStatement | undefined;
}

/** @throws OperatorError for settings that do not fit together */
export function statementsOf(config: z.output<typeof settings>): readonly Statement[] {
  const { STATEMENTS: list = [], STATEMENT_KEYS: keys = {} } = config;
  const names = list.map((each) => each.name);
  const twice = names.find((each, index) => names.indexOf(each) < index);
  if (twice !== undefined) refuse("STATEMENTS", `has two statements of the name ${twice}`);
  const unknown = Object.keys(keys).find((each) => !names.includes(each));
  if (unknown !== undefined) refuse("STATEMENT_KEYS", `names ${unknown}, which is not in STATEMENTS`);
  return list.map((each) => {
    const key = keys[each.name];
    if (key !== undefined && each.kind === undefined) {
      refuse("STATEMENTS", `needs a kind for ${each.name}, which has a key`);
    }
    return {
      name: each.name,
      providers: each.providers ?? [each.name],
      reader:
        key === undefined || each.kind === undefined ? undefined : openOf(each.kind, each.base_url, key),
    };
  });
}

function openOf(kind: KindName, baseUrl: string | undefined, key: string): ProviderStatement {
  const { baseUrl: usual, open } = KINDS[kind];
  const address = baseUrl ?? usual;
  return open({ baseUrl: address.endsWith("/") ? address.slice(0, -1) : address, key });
}

function refuse(setting: string, problem: string): never {
  throw new OperatorError(`The configuration is not usable: ${setting}: ${problem}.`);
}
