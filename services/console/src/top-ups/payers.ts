// Payers are accounts as customers at Stripe. Cards are stored at Stripe; here is the text to recognize one. A Checkout that saves
// a card is read at Stripe, after its event or when its owner returns.
import { ServiceError } from "@gr/proto";
import type { Clock } from "@gr/runtime";
import type { SavedCard } from "../payments/saved-cards.ts";
import type { Stripe } from "../payments/stripe.ts";
import type { ConsoleStore } from "../store.ts";
import type { EndedSetup, Payer, PayerStore } from "./payer-store.ts";

export interface PayersDeps {
  readonly store: PayerStore;
  /** Undefined without payments. */
  readonly stripe: Stripe | undefined;
  readonly accounts: Pick<ConsoleStore, "audit" | "accountName">;
  readonly clock: Clock;
}

export interface Payers {
  /** Returns the customer of an account at Stripe, which is created at the first use. @throws ServiceError service_unavailable */
  customerOf(accountId: string, email: string): Promise<string>;
  /** Opens a page that saves a card. @throws ServiceError service_unavailable */
  openSetup(accountId: string, email: string, returnUrl: string): Promise<string>;
  /** Returns the payer; an open Checkout is read first, at most every few seconds. */
  read(accountId: string): Promise<Payer | undefined>;
  /** Ends the Checkout of an event. @returns false if it saves no card here */
  settleSetup(sessionId: string): Promise<boolean>;
  /** Removes at Stripe each card but the saved one. @throws ServiceError service_unavailable */
  removeOtherCards(accountId: string): Promise<void>;
  /** @returns the removed card; undefined if none was saved */
  removeCard(accountId: string): Promise<SavedCard | undefined>;
}

export function createPayers({ store, stripe, accounts, clock }: PayersDeps): Payers {
  const required = () => {
    if (stripe !== undefined) return stripe;
    throw new ServiceError(
      "payments_not_taken",
      "This router accepts no payments; ask the operator for credits.",
    );
  };
  const customerOf = async (accountId: string, email: string): Promise<string> => {
    const known = await store.find(accountId);
    if (known !== undefined) return known.customerId;
    const name = (await accounts.accountName(accountId)) ?? accountId;
    return store.addCustomer(accountId, await required().createCustomer({ accountId, name, email }));
  };
  const settleSetup = async (sessionId: string): Promise<boolean> => {
    if ((await store.findBySetup(sessionId)) === undefined) return false;
    const card = await required().readCardSetup(sessionId);
    if (card === undefined) return true;
    const ended = await store.endSetup(sessionId, card);
    if (ended !== undefined && card !== null) await recordCard(ended, card);
    return true;
  };
  // A card that Stripe keeps without a use could be charged by mistake.
  const removeOtherCards = async (accountId: string): Promise<void> => {
    const payer = await store.find(accountId);
    if (payer === undefined || stripe === undefined) return;
    await stripe.removeCards(payer.customerId, payer.card?.paymentMethodId);
  };
  const recordCard = async ({ accountId, by }: EndedSetup, card: SavedCard): Promise<void> => {
    const detail = { card: `${card.brand} ${card.last4}` };
    const event = { actor: by, action: "card.saved", subject: null, detail, address: null };
    await accounts.audit({ accountId, ...event });
    await removeOtherCards(accountId);
  };
  return {
    customerOf,
    openSetup: async (accountId, email, returnUrl) => {
      const customerId = await customerOf(accountId, email);
      const { sessionId, url } = await required().openCardSetup({ customerId, returnUrl });
      await store.beginSetup(accountId, sessionId, email);
      return url;
    },
    read: async (accountId) => {
      const payer = await store.find(accountId);
      if (payer?.setupSessionId == null) return payer;
      if (!(await store.claimSetup(accountId, new Date(clock.now())))) return payer;
      await settleSetup(payer.setupSessionId);
      return await store.find(accountId);
    },
    settleSetup,
    removeOtherCards,
    removeCard: async (accountId) => {
      const payer = await store.find(accountId);
      if (payer === undefined) return undefined;
      // Stripe first: after a failure the card is still here, and the removal can be repeated.
      await required().removeCards(payer.customerId, undefined);
      if (payer.card !== null) await store.removeCard(accountId, payer.card.paymentMethodId);
      return payer.card ?? undefined;
    },
  };
}
