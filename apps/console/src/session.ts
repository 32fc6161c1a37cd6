// The session is the signed-in person, the current account, and the person's rights in it. The server decides; this
// only hides actions that it would refuse.
import { type Membership, mayActAs, type Role, type SessionState } from "@gr/console-api";
import { queryOptions, useSuspenseQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { call } from "./api/console-client.ts";
import { SESSION_KEY } from "./queries.ts";

const ACCOUNT_MEMORY = "generation-router.account";

export const sessionQuery = queryOptions({
  queryKey: SESSION_KEY,
  queryFn: ({ signal }) => call("readSession", { signal }),
  staleTime: 60_000,
});

export function useSession(): SessionState {
  return useSuspenseQuery(sessionQuery).data;
}

export interface OpenAccount extends Membership {
  may(role: Role): boolean;
}

/** The account in the address of the page. */
export function useAccount(): OpenAccount {
  const { account } = useParams({ strict: false });
  const membership = useSession().accounts.find(({ account_id }) => account_id === account);
  if (membership === undefined) throw new Error("The account does not exist, or you are not a member of it.");
  return { ...membership, may: (role) => mayActAs(membership.role, role) };
}

/** Returns the account that was opened last, else the oldest. */
export function usualAccount({ accounts }: SessionState): string | undefined {
  const last = localStorage.getItem(ACCOUNT_MEMORY);
  return (accounts.find(({ account_id }) => account_id === last) ?? accounts[0])?.account_id;
}

export function rememberAccount(account: string): void {
  localStorage.setItem(ACCOUNT_MEMORY, account);
}
