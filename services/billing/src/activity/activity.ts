// Activity connects the room: the reader behind the RPC service and behind GET /v1/activity.
import type { Clock, Pool, RestRoute, RpcService } from "@gr/runtime";
import type { AccountStore } from "../accounts/accounts.ts";
import { activityRoute } from "./activity-rest.ts";
import { activityRpc } from "./activity-rpc.ts";
import { createActivityStore } from "./activity-store.ts";
import { createReadActivity } from "./read-activity.ts";

export interface ActivityDeps {
  readonly pool: Pool;
  readonly accounts: Pick<AccountStore, "readCredits">;
  readonly clock: Clock;
  /** Applies committed steps to the sums. */
  readonly follow: () => Promise<void>;
}

export function createActivity({ pool, accounts, clock, follow }: ActivityDeps): {
  readonly rpc: RpcService;
  readonly route: RestRoute;
} {
  const store = createActivityStore(pool);
  const readActivity = createReadActivity({ store, accounts, follow });
  return { rpc: activityRpc({ readActivity, store }), route: activityRoute({ readActivity, clock }) };
}
