// Step accounts own the changes of accounts that are no requests: openings, suspensions, keys, payments and corrections. Each change is
// a step; the report of a payment is stored beside it for states that change no credit.
import type { Account, Id, Outcome } from "@gr/ledger";
import { type Clock, inTransaction, type Pool } from "@gr/runtime";
import { type AccountStore, noAccount } from "../accounts/accounts.ts";
import { depositEntry } from "../accounts/deposit.ts";
import { earlierAdjustment } from "../before-steps/earlier-credit-store.ts";
import type { ChainOperation } from "../chain/chain-operation.ts";
import type { AccountReader } from "../reads/account-reader.ts";
import { summaryOf } from "../reads/account-summary.ts";
import { invalid } from "../rpc/field-rules.ts";
import { creditSteps, lockCredit, readDeposit, storeReport } from "./owner-store.ts";

export interface StepAccountsDeps {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly accounts: AccountReader;
  readonly post: (operations: readonly ChainOperation[]) => Promise<Outcome[]>;
}

export function createStepAccounts(deps: StepAccountsDeps): AccountStore {
  const { pool, clock, accounts, post } = deps;
  const now = () => Math.floor(clock.now());
  const postOne = async (operation: ChainOperation): Promise<Outcome> => {
    const [outcome] = await post([operation]);
    if (outcome === undefined) throw new Error("The ledger did not answer an operation.");
    return outcome;
  };
  const requireAccount = async (accountId: Id) => {
    const isOpen = await accounts.ask(accountId, ({ seq }) => ({ answer: seq > 0 }));
    if (!isOpen) throw noAccount(accountId);
  };
  const requireDone = ({ code }: Outcome, field: string) => {
    if (code === "out_of_range")
      throw invalid("operations", "An amount makes a sum of its account too large to be kept");
    if (code !== "done") throw invalid(field, "This id belongs to another account, amount or reason");
  };
  // A report keeps its connection while the writer works. One at a time, so connections are left for the writer.
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = (work: () => Promise<void>) => {
    const turn = last.then(work);
    last = turn.catch(() => undefined);
    return turn;
  };
  return {
    open: async (accountId) => {
      await postOne({ kind: "open", accountId });
    },
    setSuspended: async (accountId, suspended) => {
      await requireAccount(accountId);
      await postOne({ kind: "suspend", accountId, suspended });
    },
    putSpender: async (accountId, definition) => {
      await requireAccount(accountId);
      const { code } = await postOne({ kind: "budget", accountId, definition });
      if (code === "done") return;
      if (code === "invalid_parent") throw invalid("spender.parent_id", PARENT_RULE);
      throw invalid("spender.revision", "A newer revision of this spender is stored");
    },
    putDeposit: async (deposit) => {
      const { id, accountId, credits, source: note } = deposit;
      await requireAccount(accountId);
      await inTurn(() =>
        inTransaction(pool, async (client) => {
          await lockCredit(client, id);
          const kind = depositEntry(await readDeposit(client, id), deposit);
          await storeReport(client, deposit, now());
          if (kind === null) return;
          const change = kind === "deposit" ? credits : -credits;
          requireDone(await postOne({ kind, accountId, id, credits: change, note }), "deposit_id");
        }),
      );
    },
    putAdjustment: async ({ id, accountId, credits, reason: note }) => {
      await requireAccount(accountId);
      await inTurn(() =>
        inTransaction(pool, async (client) => {
          await lockCredit(client, id);
          const known = (await creditSteps(client, id)).find(({ kind }) => kind === "adjustment");
          if (known !== undefined && known.accountId !== accountId) {
            requireDone({ code: "already_resolved" }, "adjustment_id");
          }
          const earlier = await earlierAdjustment(client, id);
          if (earlier !== undefined) {
            const isSame =
              earlier.accountId === accountId && earlier.credits === credits && earlier.reason === note;
            return requireDone({ code: isSame ? "done" : "already_resolved" }, "adjustment_id");
          }
          const step = { kind: "adjustment", accountId, id, credits, note } as const;
          requireDone(await postOne(step), "adjustment_id");
        }),
      );
    },
    readCredits: async (accountId, page) =>
      await accounts.ask(accountId, (account: Account) => {
        if (account.seq === 0) throw noAccount(accountId);
        return { answer: summaryOf(account, page, now()) };
      }),
    ping: async () => {
      await pool.query("SELECT");
    },
  };
}

const PARENT_RULE =
  "It must be a budget of this account of the level account, member or customer, and it never changes";
