// Member budget routes set the limit that all keys of one member share. They put the existing keys of the member below it; the key
// routes do so with each new key.
import { spendPeriodOf } from "@gr/clients";
import type { Role } from "@gr/console-api";
import { parseCredits } from "@gr/money";
import { ServiceError } from "@gr/proto";
import { BudgetLevel } from "@gr/proto/billing";
import { KeyKind } from "@gr/proto/keys";
import { LONGEST_PAGE } from "@gr/runtime";
import type { ConsoleDeps } from "../../console-deps.ts";
import { requireRole } from "../../door/authorize.ts";
import { accountOf, type Handlers } from "../../door/console-call.ts";
import { memberBudget } from "../../requests/budgets.ts";
import { recordAudit } from "../audit.ts";
import { noMember, personIn } from "./member-routes.ts";

/** Keys that move at the same time. */
const AT_ONCE = 20;

export function memberBudgetRoutes(deps: ConsoleDeps): Handlers<"setMemberBudget"> {
  const { store, budgets } = deps;
  return {
    setMemberBudget: async (call) => {
      const accountId = accountOf(call);
      const personId = personIn(call.params);
      const { spend_limit: usd, spend_limit_period: period } = call.body;
      const member = (await store.members(accountId)).find((each) => each.personId === personId);
      if (member === undefined) throw noMember();
      requireRole(call.role, memberRule(member.role));
      const limit = usd === null ? undefined : parseCredits(usd);
      await budgets.putBudget({
        ...{ accountId, budgetId: personId, level: BudgetLevel.MEMBER, name: member.name || member.email },
        limit:
          limit === undefined ? { case: "noLimit", value: true } : { case: "limitCredits", value: limit },
        period: spendPeriodOf(period),
      });
      await putKeysBelow(deps, accountId, personId);
      const detail = { spend_limit: usd ?? "none", ...(period === null ? {} : { period }) };
      await recordAudit(deps, call, { action: "member.budget_set", subject: personId, detail });
      const budget = await memberBudget(deps, accountId, personId);
      if (budget === null) throw new Error("Billing has answered without the stored budget.");
      return budget;
    },
  };
}

/** Only an owner limits an owner. */
function memberRule(role: Role): Role {
  return role === "owner" ? "owner" : "admin";
}

/** After a failure half-way, the next call moves the remaining keys. A key below another budget stays there. */
async function putKeysBelow(deps: ConsoleDeps, accountId: string, personId: string): Promise<void> {
  const { keys, keyMembers } = deps;
  const own = new Set(await keyMembers.keysOf(accountId, personId));
  for (let after = "", more = own.size > 0; more; ) {
    const page = await keys.listKeys({ accountId, kind: KeyKind.NORMAL, limit: LONGEST_PAGE, after });
    const free = page.keys.filter(({ keyId, budgetId }) => own.has(keyId) && budgetId === "");
    for (let first = 0; first < free.length; first += AT_ONCE) {
      const some = free.slice(first, first + AT_ONCE);
      await Promise.all(
        some.map(({ keyId }) =>
          keys.updateKey({ accountId, keyId, budgetId: personId }).catch(unlessDeleted),
        ),
      );
    }
    after = page.keys.at(-1)?.keyId ?? "";
    more = page.hasMore;
  }
}

function unlessDeleted(error: unknown): void {
  if (!(error instanceof ServiceError) || error.reason !== "key_not_found") throw error;
}
