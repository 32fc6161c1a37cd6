// AlertChecks check each account with alert settings about once a minute. A row of the database assigns each check to
// one process. Its result is stored in one transaction, so a crash neither loses an alert nor repeats one.
import { formatCredits } from "@gr/money";
import type { Clock } from "@gr/runtime";
import type { ConsoleEvents } from "../events.ts";
import { decideAlerts } from "./alert-rules.ts";
import type { AlertStore, ClaimedAccount } from "./alert-store.ts";
import type { ReadAccount } from "./read-account.ts";

/** Longest time of a check. Afterwards another process may check the account. */
const CLAIM_MS = 120_000;

export interface AlertChecksDeps {
  readonly alerts: Pick<AlertStore, "claimDue" | "postpone" | "apply">;
  readonly read: ReadAccount;
  readonly events: Pick<ConsoleEvents, "alertsRaised" | "alertsDropped" | "alertCheckFailed">;
  readonly clock: Clock;
  /** Time between two checks of an account with up to 1,000 keys; longer by this time for each further 1,000. */
  readonly everyMs: number;
}

export interface AlertChecks {
  /** Checks all accounts that are due. */
  checkDue(stopping: AbortSignal): Promise<void>;
}

export function createAlertChecks({ alerts, read, events, clock, everyMs }: AlertChecksDeps): AlertChecks {
  const at = (afterMs: number) => new Date(clock.now() + afterMs);
  async function check(account: ClaimedAccount): Promise<void> {
    const { accountId, settings, crossings } = account;
    const wanted = {
      budgets: settings.budgetPercents.length > 0,
      requests: settings.failurePercent !== null,
    };
    const { pages, ...readings } = await read(accountId, wanted);
    const decision = decideAlerts(settings, readings, crossings, { now: clock.now(), format: formatCredits });
    const dropped = await alerts.apply(account, decision, at(0));
    if (dropped === undefined) return;
    events.alertsRaised(decision.alerts.map(({ kind }) => kind));
    if (dropped > 0) events.alertsDropped(accountId, dropped);
    await alerts.postpone(account, at(everyMs * Math.max(1, pages)));
  }
  return {
    checkDue: async (stopping) => {
      while (!stopping.aborted) {
        const account = await alerts.claimDue(at(0), at(CLAIM_MS));
        if (account === undefined) return;
        try {
          await check(account);
        } catch (error) {
          events.alertCheckFailed(account.accountId, error);
          await alerts.postpone(account, at(everyMs));
        }
      }
    },
  };
}
