// Opens an account: in billing first, so that an account that exists here can always hold credit.
import { randomUUID } from "node:crypto";
import type { KeyDeps } from "./key-deps.ts";

/**
 * A crash between the two writes leaves an account in billing that nobody knows; creating it again makes another.
 * @returns the id of the new account.
 */
export async function createAccount(
  { billing, store, clock, events }: KeyDeps,
  name: string,
): Promise<string> {
  const accountId = randomUUID();
  await billing.openAccount({ accountId });
  await store.addAccount({ id: accountId, name, createdAt: clock.now() });
  events.accountCreated(accountId);
  return accountId;
}
