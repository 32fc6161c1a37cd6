// BudgetService: messages to wanted budgets and pages, and records back. Every field is checked here.
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { BudgetChange } from "@gr/ledger";
import { BudgetLevel, SpendPeriod } from "@gr/proto/billing";
import {
  type BudgetSchema,
  BudgetService,
  BudgetState as BudgetStateMessage,
  type ListBudgetsRequest,
  type PutBudgetRequest,
} from "@gr/proto/budgets";
import { implement, LONGEST_PAGE, type RpcService } from "@gr/runtime";
import { credits, instant, invalid, limit, text, uuid } from "../rpc/field-rules.ts";
import { LEVELS, type Names, nameOf, PERIODS } from "../rpc/message-names.ts";
import { reaching } from "../writer/ledger-error.ts";
import type { BudgetPage, BudgetRecord, BudgetState, BudgetStore, WantedBudget } from "./budgets.ts";

const STATES: Names<BudgetState, BudgetStateMessage> = {
  open: BudgetStateMessage.OPEN,
  closed: BudgetStateMessage.CLOSED,
  expired: BudgetStateMessage.EXPIRED,
};

export function budgetRpc(budgets: BudgetStore): RpcService {
  return implement(BudgetService, {
    async putBudget(request) {
      return { budget: budgetMessage(await reaching(budgets.put(wantedOf(request)))) };
    },
    async listBudgets(request) {
      const page = await reaching(budgets.list(uuid("account_id", request.accountId), pageOf(request)));
      return { budgets: page.entries.map(budgetMessage), hasMore: page.hasMore };
    },
  });
}

function wantedOf(request: PutBudgetRequest): WantedBudget {
  const { accountId, budgetId, level, parentId, name, period, active, onlyNew } = request;
  return {
    accountId: uuid("account_id", accountId),
    id: uuid("budget_id", budgetId),
    level: level === BudgetLevel.UNSPECIFIED ? undefined : ownLevelOf(level),
    change: {
      ...(parentId === "" ? {} : { parentId: uuid("parent_id", parentId) }),
      ...(name === undefined ? {} : { name: text("name", name) }),
      ...limitChange(request),
      ...(period === SpendPeriod.UNSPECIFIED ? {} : { period: nameOf(PERIODS, "period", period) }),
      ...expiryChange(request),
      ...(active === undefined ? {} : { active }),
    },
    onlyNew,
  };
}

/** Budgets of keys belong to the keys service. */
function ownLevelOf(message: BudgetLevel) {
  const level = nameOf(LEVELS, "level", message);
  if (level === "key") throw invalid("level", "A key creates its budget itself");
  return level;
}

function limitChange({ limit: sent }: PutBudgetRequest): BudgetChange {
  if (sent.case === "limitCredits") return { limit: credits("limit_credits", sent.value) };
  return sent.case === "noLimit" && isTrue("no_limit", sent.value) ? { limit: null } : {};
}

function expiryChange({ expiry }: PutBudgetRequest): BudgetChange {
  if (expiry.case === "expiresAt") return { expiresAt: Number(instant("expires_at", expiry.value)) };
  return expiry.case === "neverExpires" && isTrue("never_expires", expiry.value) ? { expiresAt: null } : {};
}

function isTrue(field: string, value: boolean): boolean {
  if (!value) throw invalid(field, "It must be true, or absent");
  return true;
}

function pageOf({ limit: most, after, levels, budgetIds }: ListBudgetsRequest): BudgetPage {
  if (budgetIds.length > LONGEST_PAGE) throw invalid("budget_ids", `At most ${LONGEST_PAGE} can be named`);
  return {
    limit: limit("limit", most),
    after: after === "" ? undefined : uuid("after", after),
    levels: levels.length === 0 ? undefined : levels.map((level) => nameOf(LEVELS, "levels", level)),
    only: budgetIds.length === 0 ? undefined : budgetIds.map((id) => uuid("budget_ids", id)),
  };
}

function budgetMessage(record: BudgetRecord): MessageInitShape<typeof BudgetSchema> {
  const { accountId, definition, state, used, held, lifetimeUsed, requests, resetsAt } = record;
  const { id, parentId, level, name, limit: most, period, expiresAt, createdAt } = definition;
  return {
    budgetId: id,
    accountId,
    parentId: parentId ?? "",
    level: LEVELS[level],
    name,
    ...(most === null ? {} : { limitCredits: most }),
    period: PERIODS[period],
    ...(expiresAt === null ? {} : { expiresAt: BigInt(expiresAt) }),
    state: STATES[state],
    createdAt: BigInt(createdAt),
    usedCredits: used,
    heldCredits: held,
    lifetimeUsedCredits: lifetimeUsed,
    requests: BigInt(requests),
    resetsAt: BigInt(resetsAt),
  };
}
