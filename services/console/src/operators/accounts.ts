// Accounts owns the console's copy of the accounts that the keys service has: their names, and suspensions by an operator.
// The keys service creates accounts; the copy adds memberships. Accounts that the command line created are copied when an
// operator looks for them, because nothing else in the console needs them.
import { ServiceError } from "@gr/proto";
import type { BillingService } from "@gr/proto/billing";
import type { KeysService } from "@gr/proto/keys";
import { isUuid, type ServiceClient } from "@gr/runtime";
import type { ConsoleEvents } from "../events.ts";
import type { ConsoleStore } from "../store.ts";
import type { FoundAccount, OperatorStore } from "./operator-store.ts";

/** Accounts of the same moment are committed in any order; their clocks differ, too. */
const OVERLAP_MS = 300_000;

export interface Accounts {
  /** Copies the accounts that are new since the last call. Copies nothing if the keys service fails. */
  refresh(): Promise<void>;
  /** Returns an account, copied if needed. @throws ServiceError account_not_found */
  require(accountId: string, param: string): Promise<FoundAccount>;
  /** Renames an account here and in the keys service. @returns the name before. @throws ServiceError invalid_value */
  rename(accountId: string, name: string): Promise<string>;
  /**
   * Suspends or resumes an account, and records the reason in the audit log of the account.
   * @param by address of the operator; undefined for the command line
   */
  setSuspended(accountId: string, isSuspended: boolean, reason: string, by?: string): Promise<void>;
}

interface Deps {
  readonly keys: ServiceClient<typeof KeysService>;
  readonly billing: ServiceClient<typeof BillingService>;
  readonly store: ConsoleStore;
  readonly operators: OperatorStore;
  readonly events: ConsoleEvents;
}

export function createAccounts({ keys, billing, store, operators, events }: Deps): Accounts {
  const copyPages = async () => {
    const from = await operators.accountsCompleteUntil();
    let newest = from;
    for (let after = "", hasMore = true; hasMore; ) {
      const page = await keys.listAccounts({ createdFrom: BigInt(from), after });
      for (const { accountId, name, createdAt } of page.accounts) {
        await store.addAccount(accountId, name, new Date(Number(createdAt)));
        newest = Math.max(newest, Number(createdAt) - OVERLAP_MS);
        after = accountId;
      }
      hasMore = page.hasMore;
    }
    await operators.setAccountsCompleteUntil(newest);
  };
  return {
    refresh: () => copyPages().catch((error: unknown) => events.accountsNotCopied(String(error))),
    require: async (accountId, param) => {
      if (!isUuid(accountId)) throw notFound(param);
      const known = await operators.findAccount(accountId);
      if (known !== undefined) return known;
      const { account } = await keys.getAccount({ accountId });
      if (account === undefined) throw notFound(param);
      await store.addAccount(accountId, account.name, new Date(Number(account.createdAt)));
      const copied = await operators.findAccount(accountId);
      if (copied === undefined) throw notFound(param);
      return copied;
    },
    rename: async (accountId, name) => {
      await keys.renameAccount({ accountId, name });
      return store.renameAccount(accountId, name);
    },
    setSuspended: async (accountId, isSuspended, reason, by) => {
      await billing.setSuspended({ accountId, suspended: isSuspended });
      await store.audit({
        ...{ accountId, actor: null, subject: accountId, address: null },
        action: isSuspended ? "operator.suspended" : "operator.unsuspended",
        detail: { reason, ...(by === undefined ? {} : { by }) },
      });
    },
  };
}

function notFound(param: string): ServiceError {
  return new ServiceError("account_not_found", "There is no account with this id.", { param });
}
