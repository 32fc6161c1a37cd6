// The public paths of budgets above keys, for management keys: POST, GET and PATCH /v1/budgets. Billing owns the budgets; this file
// owns their fields.
import { createHash, randomUUID } from "node:crypto";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { periodNameOf, spendPeriodOf } from "@gr/clients";
import { managementKey } from "@gr/identity";
import { type Credits, formatCredits } from "@gr/money";
import { ServiceError } from "@gr/proto";
import { BudgetLevel } from "@gr/proto/billing";
import { type Budget, BudgetState, type PutBudgetRequestSchema } from "@gr/proto/budgets";
import {
  type FairGate,
  idempotencyKeyOf,
  LONGEST_PAGE,
  loopTurns,
  pageFields,
  type RestRoute,
  restRoute,
} from "@gr/runtime";
import { z } from "zod";
import type { KeyDeps } from "../operations/key-deps.ts";
import { isoTime } from "../records/key.ts";
import { expiryField } from "./expiry.ts";
import { budgetField, nameField, periodField, spendLimitField } from "./key-fields.ts";

const PATH = "/v1/budgets";

/** A budget of a key changes with its key, and no client can spend from a job. */
const LEVELS = {
  account: BudgetLevel.ACCOUNT,
  member: BudgetLevel.MEMBER,
  customer: BudgetLevel.CUSTOMER,
} as const;
const levelField = z.enum(["account", "member", "customer"], {
  error: "The level must be account, member or customer",
});

const KEY_WORDS =
  "Random value of the client, a new one for each budget of the account. A repeat with the same key and fields creates no second " +
  "budget: it gets the budget as it is. Other fields, or a budget that has changed, are refused with 422.";

const usd = z.string().describe("USD with four decimals");
const time = z.string().meta({ format: "date-time" });
const budgetRecord = z.object({
  id: z.string(),
  name: z.string(),
  level: levelField,
  parent_id: z.string().nullable().describe("The budget above it"),
  created_at: time,
  state: z.enum(["open", "closed", "expired"]),
  spend_limit: z.number().nullable().describe("USD that all its keys can spend together; null = no limit"),
  spend_limit_period: periodField.nullable().describe("null = over its whole life"),
  period_spend: usd.describe("Spent in the current period; USD with four decimals"),
  period_held: usd.describe("Reserved by running requests in the current period"),
  resets_at: time.nullable().describe("End of the current period"),
  expires_at: time.nullable(),
  credit_usage: usd.describe("Spent in its whole life"),
  total_requests: z.number().int(),
});
type BudgetRecord = z.infer<typeof budgetRecord>;

const fieldsOf = (deps: Pick<KeyDeps, "clock">) => ({
  name: nameField,
  spend_limit: spendLimitField
    .nullable()
    .describe("USD that all its keys can spend together; null = no limit"),
  spend_limit_period: periodField.nullable().describe("null = over its whole life"),
  expires_at: expiryField(deps.clock)
    .nullable()
    .describe("Time from which its keys are refused; null = never"),
});
const OBJECT = { error: "The body must be a JSON object" } as const;

const newBudgetBody = (deps: Pick<KeyDeps, "clock">) => {
  const { name, ...limits } = fieldsOf(deps);
  return z.strictObject(
    {
      name,
      level: levelField.default("customer"),
      parent_id: budgetField
        .nullable()
        .default(null)
        .describe("A budget of a higher level, whose limit it shares; null = none"),
      spend_limit: limits.spend_limit.default(null),
      spend_limit_period: limits.spend_limit_period.default(null),
      expires_at: limits.expires_at.default(null),
    },
    OBJECT,
  );
};

/** Absent fields stay unchanged. */
const budgetChangeBody = (deps: Pick<KeyDeps, "clock">) =>
  z
    .strictObject(
      {
        ...fieldsOf(deps),
        is_open: z
          .boolean({ error: "It must be true or false" })
          .describe("false refuses its keys until it is open again"),
      },
      OBJECT,
    )
    .partial();

const refusals = {
  400: { description: "A field is invalid; param names the field" },
  401: { description: "Missing, invalid, expired or wrong kind of key" },
};

/** @param gate of lists */
export function budgetRoutes(deps: KeyDeps, gate: FairGate): RestRoute[] {
  return [createRoute(deps), listRoute(deps, gate), changeRoute(deps)];
}

const createRoute = (deps: KeyDeps) =>
  restRoute({
    method: "POST",
    path: PATH,
    summary: "Create a budget that several keys of the account share",
    access: managementKey,
    body: newBudgetBody(deps),
    responses: {
      201: {
        description: "The new budget; budget_id of POST /v1/api-keys puts keys below it",
        schema: budgetRecord,
      },
      409: { description: "The account has the maximum number of budgets" },
      422: { description: "The budget of this Idempotency-Key has other fields" },
      ...refusals,
    },
    headers: { "Idempotency-Key": KEY_WORDS },
    handle: async ({ http, body, caller: { accountId }, reply }) => {
      const { level, parent_id: parentId, ...change } = body;
      const key = idempotencyKeyOf(http.headers);
      const budgetId = key === undefined ? randomUUID() : budgetIdOf(accountId, key);
      const fields = { level: LEVELS[level], ...(parentId === null ? {} : { parentId }) };
      const request = { accountId, budgetId, onlyNew: true, ...fields, ...changeOf(change) };
      return reply.status(201).send(await put(deps, request, otherFields));
    },
  });

const listRoute = ({ budgets }: KeyDeps, gate: FairGate) =>
  restRoute({
    method: "GET",
    path: PATH,
    summary: "List the budgets of the account above its keys, oldest first",
    access: managementKey,
    query: z.object(pageFields),
    responses: {
      200: {
        description: "The budgets; has_more when there are more, after the last of these",
        schema: z.object({ data: z.array(budgetRecord), has_more: z.literal(true).optional() }),
      },
      ...refusals,
    },
    handle: async ({ query: { limit = LONGEST_PAGE, after = "" }, caller: { accountId } }) => {
      const page = { accountId, limit, after, levels: Object.values(LEVELS) };
      return gate.run({ owner: accountId }, async () => {
        const { budgets: found, hasMore } = await budgets.listBudgets(page);
        const data = await loopTurns.step({ owner: accountId }, () => found.map(recordOf));
        return { data, ...(hasMore ? { has_more: true } : {}) };
      });
    },
  });

const changeRoute = (deps: KeyDeps) =>
  restRoute({
    method: "PATCH",
    path: `${PATH}/:id`,
    summary: "Change the named fields of a budget, at once",
    access: managementKey,
    body: budgetChangeBody(deps),
    responses: {
      200: { description: "The budget; a new period begins at zero", schema: budgetRecord },
      404: { description: "The account has no budget with this id" },
      ...refusals,
    },
    handle: async ({ http, body: { is_open: active, ...change }, caller: { accountId } }) => {
      const { data: budgetId } = budgetField.safeParse((http.params as { id: string }).id);
      if (budgetId === undefined) throw noBudget();
      const switched = active === undefined ? {} : { active };
      return put(deps, { accountId, budgetId, ...switched, ...changeOf(change) }, noBudget);
    },
  });

type PutInit = Omit<MessageInitShape<typeof PutBudgetRequestSchema>, "$typeName">;

interface Change {
  readonly name?: string | undefined;
  readonly spend_limit?: Credits | null | undefined;
  readonly spend_limit_period?: z.infer<typeof periodField> | null | undefined;
  readonly expires_at?: number | null | undefined;
}

function changeOf({
  name,
  spend_limit: limit,
  spend_limit_period: period,
  expires_at: expiry,
}: Change): PutInit {
  return {
    ...(name === undefined ? {} : { name }),
    ...(limit === null && { limit: { case: "noLimit", value: true } as const }),
    ...(limit != null && { limit: { case: "limitCredits", value: limit } as const }),
    ...(period === undefined ? {} : { period: spendPeriodOf(period) }),
    ...(expiry === null && { expiry: { case: "neverExpires", value: true } as const }),
    ...(expiry != null && { expiry: { case: "expiresAt", value: BigInt(expiry) } as const }),
  };
}

/** @param refusal error for this id: a budget of a key, none, or one with other fields */
async function put(
  { budgets }: KeyDeps,
  request: PutInit,
  refusal: () => ServiceError,
): Promise<BudgetRecord> {
  const { budget } = await budgets.putBudget(request).catch((error: unknown) => {
    throw error instanceof ServiceError && error.param === "budget_id" ? refusal() : error;
  });
  if (budget === undefined) throw new Error("Billing answered without a budget.");
  return recordOf(budget);
}

/** A digest, so no client can choose the id of a budget that belongs to a person, a key or an account. */
function budgetIdOf(accountId: string, key: string): string {
  const digest = createHash("sha256").update(`budget ${accountId} ${key}`).digest("hex");
  return digest.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, "$1-$2-8$3-8$4-$5");
}

function otherFields(): ServiceError {
  const message = "The budget of this Idempotency-Key has other fields; use a new key for each budget.";
  return new ServiceError("idempotency_mismatch", message, { param: "Idempotency-Key" });
}

function noBudget(): ServiceError {
  return new ServiceError("budget_not_found", "The account has no budget with this id.", { param: "id" });
}

function stateOf(state: BudgetState): BudgetRecord["state"] {
  if (state === BudgetState.CLOSED) return "closed";
  return state === BudgetState.EXPIRED ? "expired" : "open";
}

function recordOf(budget: Budget): BudgetRecord {
  const { limitCredits: limit, state, expiresAt, resetsAt } = budget;
  return {
    id: budget.budgetId,
    name: budget.name,
    level: levelField.options.find((name) => LEVELS[name] === budget.level) ?? "customer",
    parent_id: budget.parentId || null,
    created_at: isoTime(Number(budget.createdAt)),
    state: stateOf(state),
    spend_limit: limit === undefined ? null : Number(formatCredits(limit)),
    spend_limit_period: periodNameOf(budget.period) ?? null,
    period_spend: formatCredits(budget.usedCredits),
    period_held: formatCredits(budget.heldCredits),
    resets_at: resetsAt === 0n ? null : isoTime(Number(resetsAt)),
    expires_at: expiresAt === undefined ? null : isoTime(Number(expiresAt)),
    credit_usage: formatCredits(budget.lifetimeUsedCredits),
    total_requests: Number(budget.requests),
  };
}
