// Dry runs own the answers about a place that is not made: would this key, this claim, this size be accepted now? They run the
// ledger's own decision on the stored state of the account.
import { checkSpender, type Id, judgeClaim, type Outcome } from "@gr/ledger";
import type { Credits } from "@gr/money";
import type { Clock } from "@gr/runtime";
import type { AccountReader, Answered } from "./account-reader.ts";

export interface AskedClaim {
  readonly accountId: Id;
  readonly budgetId: Id;
  readonly memberId?: Id | undefined;
  readonly claim: { readonly key: string; readonly fingerprint: string };
}

export interface AskedSpender {
  readonly accountId: Id;
  readonly budgetId: Id;
  readonly memberId?: Id | undefined;
  readonly claimKey: string | undefined;
  /** 0 = the smallest hold */
  readonly credits: Credits;
}

export interface DryRuns {
  /** Outcome of a place with this claim; `done` if the key is free. */
  judgeClaim(asked: AskedClaim): Promise<Outcome>;
  /** Outcome of a place without other open holds. */
  checkSpender(asked: AskedSpender): Promise<Outcome>;
}

export function createDryRuns(accounts: AccountReader, clock: Clock): DryRuns {
  const now = () => Math.floor(clock.now());
  return {
    judgeClaim: ({ accountId, ...asked }) =>
      accounts.ask(accountId, (account, facts) => answerOf(judgeClaim(account, asked, facts, now()))),
    checkSpender: ({ accountId, ...asked }) =>
      accounts.ask(accountId, (account, facts) => answerOf(checkSpender(account, asked, facts, now()))),
  };
}

function answerOf(judged: ReturnType<typeof judgeClaim>): Answered<Outcome> {
  return "missing" in judged ? judged : { answer: judged.outcome };
}
