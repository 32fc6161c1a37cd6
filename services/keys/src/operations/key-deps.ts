// What the key operations work with; module.ts makes one of these.
import type { BillingService } from "@gr/proto/billing";
import type { Clock, ServiceClient } from "@gr/runtime";
import type { KeyEvents } from "../events.ts";
import type { DigestOf, UnknownDigests } from "../records/key-digest.ts";
import type { Revocations } from "../records/revocations.ts";
import type { KeyStore } from "../records/store.ts";
import type { WebTokens } from "./web-token.ts";

export interface KeyDeps {
  readonly store: KeyStore;
  readonly billing: ServiceClient<typeof BillingService>;
  readonly clock: Clock;
  readonly digestOf: DigestOf;
  /** While the pepper is changed: under what else keys may be stored. */
  readonly otherDigestOf: DigestOf | undefined;
  readonly unknownDigests: UnknownDigests;
  /** Undefined without a key to sign them: no web token is issued or valid then. */
  readonly webTokens: WebTokens | undefined;
  readonly revocations: Revocations;
  readonly events: KeyEvents;
  /** Of one account, of both kinds, that are not deleted. */
  readonly mostKeys: number;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Ids from callers are checked before they reach a query: Postgres refuses what is no UUID. */
export function isUuid(id: string): boolean {
  return UUID.test(id);
}
