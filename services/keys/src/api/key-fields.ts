// Key fields are the rules for names, caps and periods of a key, as zod schemas.
// REST bodies and RPC messages use the same schemas, so that both interfaces accept the same values.
import { SPEND_PERIOD_NAMES } from "@gr/clients";
import { RESPONSE_FORMATS } from "@gr/identity";
import { type Credits, limitOfUsd, MAX_CREDITS } from "@gr/money";
import { z } from "zod";
import { LONGEST_LIFETIME_MS } from "../operations/web-token.ts";

const NAME_MAX = 200;
const MOST_NAMES = 100;
const LONGEST_ALLOWED_NAME = 200;
const LIFETIME_RANGE = "The lifetime must be from 1,000 to 300,000 milliseconds";

/** 1 to 200 Unicode code points, not only whitespace. Stored unchanged, without trimming. */
export const nameField = z
  .string({
    error: ({ input }) => (input === undefined ? "The name is missing" : "The name must be a string"),
  })
  .check((context) => {
    const problem = problemOfName(context.value);
    if (problem !== undefined) {
      context.issues.push({ code: "custom", message: problem, input: context.value });
    }
  })
  .meta({ minLength: 1, maxLength: NAME_MAX });

function problemOfName(name: string): string | undefined {
  if (name.trim() === "") return "The name must not be empty";
  // A code point is one or two UTF-16 units; the first test avoids the count of enormous texts.
  if (name.length > 2 * NAME_MAX || [...name].length > NAME_MAX) {
    return `The name must have at most ${NAME_MAX} characters`;
  }
  if (name.includes("\0") || !name.isWellFormed()) {
    return "The name must not contain NUL or half of a surrogate pair";
  }
  return undefined;
}

/** USD as a JSON number; becomes the effective spend limit in Credits, never above the requested one. */
export const spendLimitField = z
  .number({ error: "The spend limit must be a number of US dollars, or null" })
  .meta({ minimum: 0, description: "USD; rounded down to 0.0001 USD, the answer shows the effective limit" })
  .transform((usd, context): Credits => {
    const credits = limitOfUsd(usd);
    if (credits !== undefined) return credits;
    context.issues.push({ code: "custom", message: "The spend limit must not be negative", input: usd });
    return z.NEVER;
  });

/** Credits as sent over RPC. */
export const creditsField = z
  .bigint()
  .refine(
    (credits) => credits >= 0n && credits <= MAX_CREDITS,
    "The spend limit must be from 0 to 100,000,000,000 USD",
  );

export const periodField = z.enum(SPEND_PERIOD_NAMES, {
  error: `The spend limit period must be ${SPEND_PERIOD_NAMES.join(", ")}, or null`,
});

export const responseFormatField = z.enum(RESPONSE_FORMATS, {
  error: `The default response format must be ${RESPONSE_FORMATS.slice(0, -1).join(", ")} or ${RESPONSE_FORMATS.at(-1)}`,
});

export const savesTextsField = z.boolean({ error: "It must be true or false" });

/** Ids of models, or their beginnings with * at the end. */
export const allowedModelsField = namesField("models", 4_000).refine(
  (names) => names.every((name) => !name.slice(0, -1).includes("*")),
  "A * may only be the last character of a name",
);

export const allowedProvidersField = namesField("providers", 1_000).refine(
  (names) => !names.some((name) => name.includes("*")),
  "A * is allowed in names of models only",
);

/**
 * A list of names; repetitions are removed. @param mostCharacters of all names: the gateway sends both lists in a header
 * with each request of the key
 */
function namesField(what: string, mostCharacters: number) {
  const error = `It must be a list of 1 to ${MOST_NAMES} ${what}, or null for all`;
  const each = `Each of the ${what} must be a name with 1 to ${LONGEST_ALLOWED_NAME} characters`;
  return z
    .array(z.string(each).min(1, each).max(LONGEST_ALLOWED_NAME, each), { error })
    .min(1, error)
    .max(MOST_NAMES, error)
    .refine(
      (names) => names.join("").length <= mostCharacters,
      `All ${what} together must have at most ${mostCharacters} characters`,
    )
    .transform((names): readonly string[] => [...new Set(names)]);
}

/** Lower-case, as billing stores ids. */
export const budgetField = z
  .uuid({ error: "The budget must be the id of a budget of the account" })
  .transform((id) => id.toLowerCase());

/** Refuses a period without a spend limit, because a period is the time after which the limit starts anew. */
export function periodNeedsLimit(field: string, limitField: string) {
  return (context: z.core.ParsePayload<Record<string, unknown>>): void => {
    const { value } = context;
    if (value[field] === null || value[limitField] !== null) return;
    const message = `The period ${String(value[field])} needs a spend limit to apply to`;
    context.issues.push({ code: "custom", message, path: [field], input: value });
  };
}

/** Whole milliseconds that a web token is to live. */
export const lifetimeField = z
  .int({ error: LIFETIME_RANGE })
  .min(1_000, LIFETIME_RANGE)
  .max(LONGEST_LIFETIME_MS, LIFETIME_RANGE);

/** The console's id of a person; a web token has room for it. */
export const personField = z.string().min(1).max(100).optional();
