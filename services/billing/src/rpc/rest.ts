// The public path of the module: GET /v1/credits.
import { normalKey } from "@gr/identity";
import { PERIODS } from "@gr/ledger";
import { type Credits, formatCredits } from "@gr/money";
import { ServiceError } from "@gr/proto";
import { LONGEST_PAGE, pageFields, type RestApi, restRoute } from "@gr/runtime";
import { z } from "zod";
import type { AccountStore, CreditSummary } from "../accounts/accounts.ts";
import type { Spender, SpenderUsage } from "../accounts/spender.ts";
import type { BillingEvents } from "../events.ts";
import { uuid } from "./field-rules.ts";

const usd = z
  .string()
  .regex(/^-?\d+\.\d{4}$/)
  .describe("USD with four decimals");
const time = z.string().meta({ format: "date-time" });

const usageEntry = z.object({
  api_key_id: z.string(),
  api_key_name: z.string(),
  credit_usage: usd,
  total_requests: z.number().int(),
  created_at: time.nullable(),
  is_active: z.boolean(),
  spend_limit: usd.nullable(),
  spend_limit_period: z.enum(PERIODS).exclude(["lifetime"]).nullable(),
  period_spend: usd,
  period_start: time.nullable(),
  expires_at: time.nullable(),
});

const creditSummary = z.object({
  remaining_credits: usd,
  credit_usage: usd,
  total_deposits: usd,
  usage_by_api_key: z.array(usageEntry).optional().describe("With by_api_key=true"),
  has_more: z.literal(true).optional().describe("There are more API keys, after the last of these"),
});

const query = z.object({
  by_api_key: z
    .enum(["true", "false"], { error: "It must be true or false" })
    .optional()
    .describe("true adds the usage of each API key"),
  ...pageFields,
});

/** All temporary web tokens of an account, as one entry that is no key. */
const WEB_TOKEN = {
  api_key_id: "web_token",
  api_key_name: "Temporary web token",
  created_at: null,
  is_active: false,
  spend_limit: null,
  spend_limit_period: null,
  period_start: null,
  expires_at: null,
} as const;

export interface CreditsDeps {
  readonly accounts: Pick<AccountStore, "readCredits">;
  readonly events: Pick<BillingEvents, "creditsUnreadable">;
}

export function billingRest(deps: CreditsDeps): RestApi {
  return { routes: [creditsRoute(deps)] };
}

const creditsRoute = ({ accounts, events }: CreditsDeps) =>
  restRoute({
    method: "GET",
    path: "/v1/credits",
    summary: "Read the credit balance, and the usage of each API key",
    access: normalKey,
    query,
    responses: {
      200: { description: "The credit of the account", schema: creditSummary },
      400: { description: "by_api_key, limit or after is not valid; param names it" },
      401: { description: "Missing, invalid, expired or management key" },
      500: { description: "Fetching credit information failed" },
    },
    handle: async ({ query: { by_api_key: byKey, limit = LONGEST_PAGE, after }, caller: { accountId } }) => {
      const page = { limit, after: after === undefined ? undefined : spenderIdOf(after, accountId) };
      const summary = await accounts
        .readCredits(accountId, byKey === "true" ? page : undefined)
        .catch((error) => {
          if (error instanceof ServiceError && error.param === "after") throw error;
          events.creditsUnreadable(accountId, error);
          throw new ServiceError(
            "credits_unavailable",
            "Fetching credit information failed; try again shortly.",
            {
              cause: error,
            },
          );
        });
      return summaryOf(summary, byKey === "true");
    },
  });

/** The id that an entry has here, as its spender's. @throws ServiceError invalid_value */
function spenderIdOf(entryId: string, accountId: string): string {
  return entryId === WEB_TOKEN.api_key_id ? accountId : uuid("after", entryId);
}

function summaryOf(
  { deposited, remaining, usage, hasMore }: CreditSummary,
  bySpender: boolean,
): z.infer<typeof creditSummary> {
  return {
    remaining_credits: formatCredits(remaining),
    credit_usage: formatCredits(deposited - remaining),
    total_deposits: formatCredits(deposited),
    ...(bySpender ? { usage_by_api_key: usage.filter(isListed).map(entryOf) } : {}),
    ...(hasMore ? { has_more: true } : {}),
  };
}

/** Web tokens are what spends under the id of the account. They are listed when they have made a request. */
function isWebToken({ id, accountId }: Spender): boolean {
  return id === accountId;
}

function isListed({ spender, requests }: SpenderUsage): boolean {
  return !isWebToken(spender) || requests > 0n;
}

function entryOf({
  spender,
  used,
  requests,
  windowUsed,
  windowStart,
}: SpenderUsage): z.infer<typeof usageEntry> {
  const { id, name, cap, period, expiresAt, active, createdAt } = spender;
  const usage = { credit_usage: formatCredits(used), total_requests: Number(requests) };
  if (isWebToken(spender)) return { ...WEB_TOKEN, ...usage, period_spend: usage.credit_usage };
  const periodSpend: Credits = period === "lifetime" ? used : windowUsed;
  return {
    api_key_id: id,
    api_key_name: name,
    ...usage,
    created_at: createdAt.toISOString(),
    is_active: active,
    spend_limit: cap === null ? null : formatCredits(cap),
    spend_limit_period: period === "lifetime" ? null : period,
    period_spend: formatCredits(periodSpend),
    period_start: windowStart?.toISOString() ?? null,
    expires_at: expiresAt?.toISOString() ?? null,
  };
}
