// Top-up routes serve the saved card of an account and its automatic top-ups. Only admins see and change both. A switch to on may
// charge the card at once, so it counts as a payment.
import type { AutoTopUpRecord } from "@gr/console-api";
import { creditsOf, formatCredits } from "@gr/money";
import { ServiceError } from "@gr/proto";
import type { ConsoleDeps } from "../../console-deps.ts";
import { accountOf, type ConsoleCall, type Handlers, signedInOf } from "../../door/console-call.ts";
import { recordAudit } from "../audit.ts";

type TopUpRoutes = Handlers<
  "openBillingDetails" | "readAutoTopUp" | "changeAutoTopUp" | "saveCard" | "removeCard"
>;

export function topUpRoutes(deps: ConsoleDeps): TopUpRoutes {
  const { payers, topUps, stripe, attempts, config, clock } = deps;
  const returnUrl = (accountId: string) => `${config.CONSOLE_URL}/accounts/${accountId}/credits`;
  const recordOf = async (accountId: string): Promise<AutoTopUpRecord> => {
    const now = new Date(clock.now());
    const [payer, rule, spent] = await Promise.all([
      payers.read(accountId),
      topUps.ruleOf(accountId),
      topUps.spentInMonth(accountId, now),
    ]);
    const card = payer?.card ?? null;
    return {
      is_on: rule?.isOn ?? false,
      threshold: rule === undefined ? null : formatCredits(rule.threshold),
      amount: rule === undefined ? null : formatCredits(rule.amount),
      monthly_limit: rule === undefined ? null : formatCredits(rule.monthlyLimit),
      spent_this_month: formatCredits(spent),
      problem: rule?.problem ?? null,
      card: card === null ? null : { brand: card.brand, last4: card.last4, expires: card.expires },
    };
  };
  return {
    openBillingDetails: async (call) => {
      const accountId = accountOf(call);
      if (stripe === undefined) throw noPayments();
      await attempts.countPayment(accountId);
      const customerId = await payers.customerOf(accountId, signedInOf(call).person.email);
      return { url: await stripe.openPortal(customerId, returnUrl(accountId)) };
    },
    readAutoTopUp: (call) => recordOf(accountOf(call)),
    changeAutoTopUp: (call) => changeRule(deps, call, recordOf),
    saveCard: async (call) => {
      const accountId = accountOf(call);
      await attempts.countPayment(accountId);
      const { email } = signedInOf(call).person;
      return { url: await payers.openSetup(accountId, email, returnUrl(accountId)) };
    },
    removeCard: async (call) => {
      const accountId = accountOf(call);
      await topUps.switchOff(accountId);
      const card = await payers.removeCard(accountId);
      if (card !== undefined) {
        const detail = { card: `${card.brand} ${card.last4}` };
        await recordAudit(deps, call, { action: "card.removed", detail });
      }
      return undefined;
    },
  };
}

async function changeRule(
  deps: ConsoleDeps,
  call: ConsoleCall<"changeAutoTopUp">,
  recordOf: (accountId: string) => Promise<AutoTopUpRecord>,
): Promise<AutoTopUpRecord> {
  const { payers, topUps, stripe, attempts, events, clock } = deps;
  const accountId = accountOf(call);
  const { is_on: isOn, threshold, amount, monthly_limit } = call.body;
  if (stripe === undefined) throw noPayments();
  if (isOn) {
    await attempts.countPayment(accountId);
    if ((await payers.read(accountId))?.card == null) {
      throw new ServiceError("invalid_value", 'Save a card first (field "is_on").', { param: "is_on" });
    }
  }
  const rule = {
    isOn,
    threshold: creditsOf(threshold),
    amount: creditsOf(amount),
    monthlyLimit: creditsOf(monthly_limit),
  };
  await topUps.save(accountId, rule, signedInOf(call).person.email, new Date(clock.now()));
  const detail = { is_on: String(isOn), threshold, amount, monthly_limit };
  await recordAudit(deps, call, { action: "auto_top_up.changed", detail });
  if (!isOn)
    await payers.removeOtherCards(accountId).catch((error) => events.cardsNotRemoved(accountId, error));
  return recordOf(accountId);
}

function noPayments(): ServiceError {
  return new ServiceError(
    "payments_not_taken",
    "This router accepts no payments; ask the operator for credits.",
  );
}
