// What may make room for a place: deposits, adjustments and changes of spenders. They answer after the mirror was
// asked to forget the account, so whoever has the answer is not refused by older numbers.
import type { AccountStore } from "./account-store.ts";
import type { AdjustmentStore } from "./adjustment-store.ts";
import type { SpendMirror } from "./spend-mirror.ts";

export function forgettingAccounts(accounts: AccountStore, mirror: SpendMirror): AccountStore {
  return {
    ...accounts,
    putSpender: forgetting(mirror, accounts.putSpender),
    putDeposit: forgetting(mirror, accounts.putDeposit),
  };
}

export function forgettingAdjustments({ put }: AdjustmentStore, mirror: SpendMirror): AdjustmentStore {
  return { put: forgetting(mirror, put) };
}

type Change = { readonly accountId: string };

/** Also after a failure, which may be that of a connection after the commit. */
function forgetting<C extends Change>(mirror: SpendMirror, change: (to: C) => Promise<void>) {
  return async (to: C): Promise<void> => {
    try {
      await change(to);
    } finally {
      await mirror.forget(to.accountId);
    }
  };
}
