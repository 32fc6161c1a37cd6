// AutoTopUps charge saved cards when balances are low. A crossing of the threshold has one charge: it is stored as a pending payment
// before Stripe is asked, and no other begins until its outcome is known and booked.
import type { BillingService } from "@gr/proto/billing";
import type { Clock, ServiceClient } from "@gr/runtime";
import type { ConsoleEvents } from "../events.ts";
import type { SettlePayments } from "../payments/settle-payment.ts";
import { putDeposit } from "../payments/settle-payment.ts";
import type { AutoTopUpStore } from "./auto-top-up-store.ts";

export interface AutoTopUpsDeps {
  readonly topUps: Pick<AutoTopUpStore, "claimDue" | "decide" | "report">;
  readonly settling: Pick<SettlePayments, "settle">;
  readonly billing: Pick<ServiceClient<typeof BillingService>, "getCredits" | "putDeposit" | "putAdjustment">;
  readonly mailer: { readonly sends: boolean };
  readonly events: Pick<ConsoleEvents, "alertsRaised" | "topUpNotMade">;
  readonly clock: Clock;
  /** Time between two checks of an account. */
  readonly everyMs: number;
}

export interface AutoTopUps {
  /** Checks all accounts that are due, and stores their alerts. */
  runDue(stopping: AbortSignal): Promise<void>;
}

export function createAutoTopUps(deps: AutoTopUpsDeps): AutoTopUps {
  const { topUps, settling, billing, mailer, events, clock, everyMs } = deps;
  const read = (accountId: string) => async () => {
    const { remainingCredits, suspended } = await billing.getCredits({ accountId });
    return { balance: remainingCredits, isSuspended: suspended };
  };
  async function topUp(accountId: string, now: Date): Promise<void> {
    const decision = await topUps.decide(accountId, now, read(accountId));
    if (decision.outcome !== "begun" && decision.outcome !== "open") return;
    const { paymentId } = decision;
    if (decision.outcome === "begun") {
      // Before the charge, so that its first event always finds the deposit.
      await putDeposit(billing, { id: paymentId, accountId, credits: decision.credits }, "pending");
    }
    await settling.settle(paymentId);
  }
  return {
    runDue: async (stopping) => {
      // One time for the round: a slow round does not check an account twice, so it ends.
      const now = new Date(clock.now());
      while (!stopping.aborted) {
        const accountId = await topUps.claimDue(now, new Date(now.getTime() + everyMs));
        if (accountId === undefined) break;
        try {
          await topUp(accountId, now);
        } catch (error) {
          events.topUpNotMade(accountId, error);
        }
      }
      while (!stopping.aborted) {
        const kind = await topUps.report(mailer.sends, now);
        if (kind === undefined) return;
        events.alertsRaised([kind]);
      }
    },
  };
}
