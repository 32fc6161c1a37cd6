// Issues a web token to a user whom an operator (the console) has signed in. Billing knows the account's spender of
// web tokens before the first of them exists.
import { ServiceError } from "@gr/proto";
import type { KeyDeps } from "./key-deps.ts";
import { requireAccount } from "./mint-key.ts";
import { webTokenSpenderOf } from "./spender.ts";

/** @throws ServiceError account_not_found, service_unavailable when no key is configured; whatever billing throws. */
export async function issueWebToken(
  deps: KeyDeps,
  accountId: string,
  lifetimeMs: number,
): Promise<{ token: string; expiresAt: number }> {
  const { billing, clock, events, webTokens } = deps;
  if (webTokens === undefined) {
    const message = "Web tokens cannot be issued: WEB_TOKEN_PRIVATE_KEY is not set.";
    throw new ServiceError("service_unavailable", message);
  }
  const account = await requireAccount(deps, accountId);
  await billing.putSpender({ spender: webTokenSpenderOf(account) });
  const issued = await webTokens.sign(account.id, clock.now(), lifetimeMs);
  events.webTokenIssued(account.id, issued.expiresAt);
  return issued;
}
