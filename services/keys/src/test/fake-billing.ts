// The fake billing service as the tests of keys use it: what was written to it, and a word before each write.
import { FakeBilling } from "@gr/ledger-model";
import type { Spender } from "@gr/proto/billing";
import type { Clock } from "@gr/runtime";

export class BillingOfKeys extends FakeBilling {
  readonly openedAccounts: string[] = [];
  /** Every spender that was put, in order. */
  readonly spenders: Spender[] = [];
  /** Runs before a spender is put; a rejection is what the caller gets. */
  beforePutSpender: (spender: Spender) => Promise<void> = async () => undefined;
  beforeOpenAccount: (accountId: string) => Promise<void> = async () => undefined;

  constructor(clock: Clock) {
    super({ clock, credit: 0n });
    this.before = async ({ kind, spender, accountId }) => {
      if (kind === "openAccount") await this.beforeOpenAccount(accountId);
      else if (spender !== undefined) await this.beforePutSpender(spender);
    };
    this.after = async ({ kind, spender, accountId }) => {
      if (kind === "openAccount") this.openedAccounts.push(accountId);
      else if (spender !== undefined) this.spenders.push(spender);
    };
  }
}
