// Key members send billing the creators of keys, for activity by member. A new key is named at once; each read by member
// names all keys again, so a call that failed is repaired before its first use.
import type { ActivityService } from "@gr/proto/activity";
import { isUuid, type ServiceClient } from "@gr/runtime";
import type { ConsoleEvents } from "../events.ts";
import type { KeyMemberStore } from "./key-member-store.ts";

/** Keys in one call of billing. */
const MOST_AT_ONCE = 5_000;

export interface KeyMembers {
  /** Names the creator of a key. A failure is logged. */
  name(accountId: string, keyId: string, personId: string): Promise<void>;
  nameAll(accountId: string): Promise<void>;
  namesOf: KeyMemberStore["namesOf"];
  /** Returns the keys that a person created in an account, also deleted ones. */
  keysOf(accountId: string, personId: string): Promise<string[]>;
}

interface Deps {
  readonly activity: Pick<ServiceClient<typeof ActivityService>, "nameKeyMembers">;
  readonly store: KeyMemberStore;
  readonly events: Pick<ConsoleEvents, "keyMemberNotNamed">;
}

export function createKeyMembers({ activity, store, events }: Deps): KeyMembers {
  return {
    name: async (accountId, keyId, personId) => {
      await activity
        .nameKeyMembers({ accountId, keys: [{ keyId, personId }] })
        .catch(events.keyMemberNotNamed);
    },
    nameAll: async (accountId) => {
      const creators = [...(await store.creatorsOf(accountId))].filter(([keyId]) => isUuid(keyId));
      for (let start = 0; start < creators.length; start += MOST_AT_ONCE) {
        const some = creators.slice(start, start + MOST_AT_ONCE);
        await activity.nameKeyMembers({
          accountId,
          keys: some.map(([keyId, personId]) => ({ keyId, personId })),
        });
      }
    },
    namesOf: store.namesOf,
    keysOf: async (accountId, personId) => {
      const creators = [...(await store.creatorsOf(accountId))];
      return creators.flatMap(([keyId, person]) => (person === personId && isUuid(keyId) ? [keyId] : []));
    },
  };
}
