// Operator routes find an account, add or remove credit with a reason, and suspend an account. Each change is a line of
// the account's own audit log. Its admins see that the operator did it, and the detail names the person.
import type { FoundAccountRecord, OperatedAccount } from "@gr/console-api";
import { type Credits, creditsOf, formatCredits } from "@gr/money";
import { ServiceError } from "@gr/proto";
import { DepositStatus, type GetCreditsResponse, UsageGroup } from "@gr/proto/billing";
import { isUuid } from "@gr/runtime";
import type { ConsoleDeps } from "../../console-deps.ts";
import { type CallerFacts, type ConsoleCall, type Handlers, signedInOf } from "../../door/console-call.ts";
import type { FoundAccount } from "../../operators/operator-store.ts";
import { DAY_MS, dayOf } from "../../requests/days.ts";
import { invalidAfter, pageLimit } from "../../requests/pages.ts";
import { readAuditPage } from "../audit.ts";

const DAYS_SHOWN = 30;
const MOST_AT_ONCE = 8;

type OperatorRoutes = Handlers<
  | "findAccounts"
  | "readAccountAsOperator"
  | "bookDeposit"
  | "bookAdjustment"
  | "suspendAccount"
  | "readAuditAsOperator"
>;

interface Call extends CallerFacts {
  readonly params: Readonly<Record<string, string>>;
}

export function operatorRoutes(deps: ConsoleDeps): OperatorRoutes {
  const { operators, store, billing, accounts } = deps;
  const find = ({ params }: Call): Promise<FoundAccount> => accounts.require(params["id"] ?? "", "id");
  const read = async (account: FoundAccount): Promise<OperatedAccount> => {
    const [{ record, credits }, members] = await Promise.all([
      readAccount(deps, account),
      store.members(account.id),
    ]);
    return {
      ...record,
      deposited: formatCredits(credits.depositedCredits),
      held: formatCredits(credits.heldCredits),
      people: members.map(({ email, role }) => ({ email, role })),
    };
  };
  const record = (
    call: Call,
    accountId: string,
    action: string,
    detail: Readonly<Record<string, string>>,
  ) => {
    const by = signedInOf(call).person.email;
    return store.audit({
      accountId,
      actor: null,
      action,
      subject: accountId,
      detail: { ...detail, by },
      address: null,
    });
  };
  return {
    findAccounts: async (call) => {
      const { text, after } = call.query;
      if (after !== undefined && !isUuid(after)) throw invalidAfter();
      const limit = pageLimit(call.query);
      if (after === undefined) await accounts.refresh();
      const found = await operators.findAccounts(text, after, limit + 1);
      const data = await readInTurns(found.slice(0, limit), async (account) => {
        return (await readAccount(deps, account)).record;
      });
      return { data, next: found.length > limit ? (data.at(-1)?.id ?? null) : null };
    },
    readAccountAsOperator: async (call) => read(await find(call)),
    bookDeposit: async (call) => {
      const account = await find(call);
      const { id, reason } = call.body;
      const credits = amountOf(call);
      if (credits <= 0n) throw invalidAmount("A deposit must be above zero");
      const status = DepositStatus.COMPLETED;
      const source = `operator: ${reason}`;
      await billing.putDeposit({ depositId: id, accountId: account.id, credits, status, source });
      const detail = { amount: formatCredits(credits), reason, deposit: id };
      await record(call, account.id, "operator.deposit", detail);
      return read(account);
    },
    bookAdjustment: async (call) => {
      const account = await find(call);
      const { id, reason } = call.body;
      const credits = amountOf(call);
      if (credits === 0n) throw invalidAmount("An adjustment must not be zero");
      await billing.putAdjustment({ adjustmentId: id, accountId: account.id, credits, reason });
      const detail = { amount: formatCredits(credits), reason, adjustment: id };
      await record(call, account.id, "operator.adjustment", detail);
      return read(account);
    },
    suspendAccount: async (call) => {
      const account = await find(call);
      const { is_suspended: isSuspended, reason } = call.body;
      await accounts.setSuspended(account.id, isSuspended, reason, signedInOf(call).person.email);
      return read(account);
    },
    readAuditAsOperator: async (call) => {
      const { id } = await find(call);
      return readAuditPage(deps, id, call.query);
    },
  };
}

function amountOf({ body }: Pick<ConsoleCall<"bookAdjustment">, "body">): Credits {
  return creditsOf(body.amount);
}

function invalidAmount(what: string): ServiceError {
  return new ServiceError("invalid_value", `${what} (field "amount").`, { param: "amount" });
}

/** Returns an account with its balance and spend, as billing has them now. */
async function readAccount(
  { billing, reports, clock }: ConsoleDeps,
  { id, name, createdAt, members }: FoundAccount,
): Promise<{ readonly record: FoundAccountRecord; readonly credits: GetCreditsResponse }> {
  const now = clock.now();
  const days = { fromDay: dayOf(now - (DAYS_SHOWN - 1) * DAY_MS), toDay: dayOf(now) };
  const [credits, usage] = await Promise.all([
    billing.getCredits({ accountId: id }),
    reports.sumUsage({ accountId: id, group: UsageGroup.DAY, ...days, limit: 1 }),
  ]);
  const record = {
    ...{ id, name, created_at: createdAt.toISOString(), members },
    is_suspended: credits.suspended,
    balance: formatCredits(credits.remainingCredits),
    spend: formatCredits(usage.credits),
  };
  return { record, credits };
}

/** Reads some entries at a time, so that a page of accounts leaves billing free for requests. */
async function readInTurns<Entry, Result>(
  entries: readonly Entry[],
  read: (entry: Entry) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let start = 0; start < entries.length; start += MOST_AT_ONCE) {
    results.push(...(await Promise.all(entries.slice(start, start + MOST_AT_ONCE).map(read))));
  }
  return results;
}
