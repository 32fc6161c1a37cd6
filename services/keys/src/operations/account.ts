// Accounts are opened, found, listed and renamed here, and their users get web tokens. Billing always has an account
// first, so an account or a token that exists here can hold and spend credit.
import { randomUUID } from "node:crypto";
import type { ResponseFormat } from "@gr/identity";
import { ServiceError } from "@gr/proto";
import { isUuid, type Page } from "@gr/runtime";
import type { Account, AccountPage } from "../records/store.ts";
import type { KeyDeps } from "./key-deps.ts";
import { webTokenSpenderOf } from "./spender.ts";

/**
 * Creates an account. After a crash between the two writes, billing has an unused account; a repeat creates another
 * one.
 * @returns the id of the new account.
 */
export async function createAccount(
  { billing, store, clock, events }: KeyDeps,
  name: string,
): Promise<string> {
  const accountId = randomUUID();
  await billing.openAccount({ accountId });
  await store.addAccount({ id: accountId, name, createdAt: clock.now(), responseFormat: null });
  events.accountCreated(accountId);
  return accountId;
}

/** @throws ServiceError account_not_found */
export async function requireAccount({ store }: KeyDeps, accountId: string): Promise<Account> {
  const account = isUuid(accountId) ? await store.findAccount(accountId) : undefined;
  if (account !== undefined) return account;
  throw new ServiceError("account_not_found", "There is no account with this id.", { param: "account_id" });
}

/**
 * Lists accounts, oldest first.
 * @param createdFrom Unix milliseconds
 * @throws ServiceError invalid_value with param `after` if `after` is no account
 */
export async function listAccounts(
  { store }: Pick<KeyDeps, "store">,
  createdFrom: number,
  page: Page,
): Promise<AccountPage> {
  const { after } = page;
  const isKnown = after === undefined || (isUuid(after) && (await store.findAccount(after)) !== undefined);
  if (isKnown) return store.listAccounts(createdFrom, page);
  const message = 'It must be the id of an account (field "after").';
  throw new ServiceError("invalid_value", message, { param: "after" });
}

/** @throws ServiceError account_not_found */
export async function renameAccount(deps: KeyDeps, accountId: string, name: string): Promise<void> {
  const { id } = await requireAccount(deps, accountId);
  await deps.store.renameAccount(id, name);
}

/**
 * Sets the default response_format of an account; null = none, undefined = unchanged.
 * @returns the account as it is stored. @throws ServiceError account_not_found
 */
export async function updateAccount(
  deps: KeyDeps,
  accountId: string,
  { responseFormat }: { readonly responseFormat: ResponseFormat | null | undefined },
): Promise<Account> {
  const account = await requireAccount(deps, accountId);
  if (responseFormat === undefined) return account;
  await deps.store.setResponseFormat(account.id, responseFormat);
  return { ...account, responseFormat };
}

/**
 * Issues a web token for a user that the operator (the console) has signed in.
 * @throws ServiceError account_not_found, service_unavailable without a signing key; errors of billing.
 */
export async function issueWebToken(
  deps: KeyDeps,
  { accountId, personId }: { readonly accountId: string; readonly personId?: string | undefined },
  lifetimeMs: number,
): Promise<{ token: string; expiresAt: number }> {
  const { billing, clock, events, webTokens } = deps;
  if (webTokens === undefined) {
    const message = "Web tokens cannot be issued: WEB_TOKEN_PRIVATE_KEY is not set.";
    throw new ServiceError("service_unavailable", message);
  }
  const account = await requireAccount(deps, accountId);
  await billing.putSpender({ spender: webTokenSpenderOf(account) });
  const issued = await webTokens.sign(account.id, clock.now(), lifetimeMs, personId);
  events.webTokenIssued(account.id, issued.expiresAt);
  return issued;
}
