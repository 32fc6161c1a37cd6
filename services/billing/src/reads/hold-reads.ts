// Hold reads own lists of holds and the leases of overdue ones. Lists of open holds, and overdue holds, are candidates from behind
// the ledger; each answer is from the steps of its account.
import {
  type Account,
  type Facts,
  findHold,
  type Id,
  type Lease as LeaseOperation,
  type Hold as LedgerHold,
  type Outcome,
} from "@gr/ledger";
import type { Clock, Logger, Pool } from "@gr/runtime";
import type { Follower } from "../follower/follower.ts";
import { countOpenHolds, listOverdue, type NamedHold } from "../follower/open-hold-store.ts";
import type { Hold, HoldFilter, HoldStore, Lease } from "../holds/hold.ts";
import type { AccountReader, Answered } from "./account-reader.ts";
import { listHoldIds } from "./hold-page-store.ts";

export interface HoldReadsDeps {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly accounts: AccountReader;
  /** Keeps the list of open holds. */
  readonly openHolds: Pick<Follower, "catchUp">;
  readonly post: (operations: readonly LeaseOperation[]) => Promise<Outcome[]>;
  readonly log: Logger;
}

export function createHoldReads({ pool, clock, accounts, openHolds, post, log }: HoldReadsDeps): HoldStore {
  const now = () => Math.floor(clock.now());
  /** A follower that fails delays no resolver: the list is complete up to its latest round. */
  const refreshList = () =>
    openHolds
      .catchUp()
      .catch((error) =>
        log.warn({ err: error }, "the list of open holds is read as its latest round left it"),
      );
  return {
    list: async (filter: HoldFilter) => {
      if (filter.state === "open") await refreshList();
      const named = await listHoldIds(pool, filter);
      const holds = await readHolds(accounts, named.slice(0, filter.limit));
      // A candidate may have ended meanwhile.
      const wanted = holds.filter(({ state }) => filter.state === undefined || filter.state === state);
      return { holds: wanted.map(withoutKept), hasMore: named.length > filter.limit };
    },
    leaseExpired: async ({ service, limit, leaseMs }: Lease) => {
      await refreshList();
      const overdue = await listOverdue(pool, service, now(), limit);
      if (overdue.length === 0) return [];
      const until = now() + Number(leaseMs);
      const outcomes = await post(overdue.map((hold) => ({ kind: "lease" as const, ...hold, until })));
      const leased = overdue.filter((_, index) => outcomes[index]?.code === "done");
      return await readHolds(accounts, leased);
    },
    countOpen: async () => {
      await refreshList();
      return await countOpenHolds(pool, now());
    },
  };
}

/** @returns the holds that exist, in the order of their names */
export async function readHolds(accounts: AccountReader, named: readonly NamedHold[]): Promise<Hold[]> {
  const byAccount = Map.groupBy(named, ({ accountId }) => accountId);
  const found = new Map<Id, Hold>();
  await Promise.all(
    Array.from(byAccount, async ([accountId, holds]) => {
      const ids = holds.map(({ holdId }) => holdId);
      const own = await accounts.ask(accountId, (account, facts) => holdsOf(account, ids, facts));
      for (const hold of own) found.set(hold.id, hold);
    }),
  );
  return named.flatMap(({ holdId }) => found.get(holdId) ?? []);
}

/** Only a resolver with the lease captures the kept amounts. */
function withoutKept(hold: Hold): Hold {
  return { ...hold, kept: undefined };
}

function holdsOf(account: Account, ids: readonly Id[], { absentHolds }: Facts): Answered<Hold[]> {
  const unknown = ids.filter((id) => findHold(account, id) === undefined && !absentHolds.has(id));
  if (unknown.length > 0) return { missing: { holds: unknown } };
  const holds = ids.flatMap((id) => findHold(account, id) ?? []);
  return { answer: holds.map((hold) => holdOf(account, hold)) };
}

function holdOf(account: Account, hold: LedgerHold): Hold {
  const [lowest] = hold.chain;
  const spender = lowest && account.budgets[lowest.budget - 1];
  if (spender === undefined)
    throw new Error(`Hold ${hold.id} names a budget that account ${account.id} lacks.`);
  const kept = hold.state === "open" ? hold.kept : undefined;
  return { ...hold, accountId: account.id, spenderId: spender.definition.id, kept };
}
