// Dry runs own the answers about a place that is not made: would this key, this claim, this size be accepted now? They run the
// ledger's own decision on the stored state of the account.
import { type Claim, checkSpender, judgeClaim, type Outcome, type Place } from "@gr/ledger";
import type { Clock } from "@gr/runtime";
import type { AccountReader, Answered } from "./account-reader.ts";

/** A place without a step. */
type AskedPlace = Pick<Place, "accountId" | "budgetId" | "memberId">;

export type AskedClaim = AskedPlace & { readonly claim: Claim };

/** Credits of 0 are the smallest hold. */
export type AskedSpender = AskedPlace & Pick<Place, "credits"> & { readonly claimKey: string | undefined };

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
