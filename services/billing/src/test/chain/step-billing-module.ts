// The billing module over the chain of steps, for tests: the RPC and REST services of production, and the ledger behind them that
// production will use.
import { defineModule, openPool } from "@gr/runtime";
import { createActivity } from "../../activity/activity.ts";
import { billingConfig } from "../../config.ts";
import { createBillingEvents } from "../../events.ts";
import { billingReportRpc } from "../../reports/report-rpc.ts";
import { billingRest } from "../../rpc/rest.ts";
import { billingRpc } from "../../rpc/rpc.ts";
import { createStepLedger } from "../../step-ledger/step-ledger.ts";
import { textLogRpc } from "../../text-log/text-log-rpc.ts";
import { createTextLogStore } from "../../text-log/text-log-store.ts";
import { billingSchema } from "../migrated-database.ts";

export const stepBillingModule = defineModule({
  name: "billing",
  needs: [],
  config: billingConfig,
  schema: billingSchema,
  async create({ config, log, clock, metrics }) {
    const pool = await openPool(config, billingSchema, log, metrics);
    const events = createBillingEvents(log, metrics, () => 0);
    const freeLimit = config.FREE_REQUESTS_PER_DAY === 0 ? null : config.FREE_REQUESTS_PER_DAY;
    const commits = { committed: () => undefined, triedAgain: events.triedAgain };
    const ledger = createStepLedger({ pool, clock, freeLimit, log, events: commits });
    const { accounts, reports } = ledger;
    const activity = createActivity({ pool, accounts, clock, follow: ledger.follow });
    return {
      rpc: [
        billingRpc({ ...ledger, events }),
        billingReportRpc({ reports, accounts }),
        textLogRpc(createTextLogStore(pool), config.TEXT_LOG_DAYS),
        activity.rpc,
      ],
      rest: { routes: [...billingRest({ accounts, events }).routes, activity.route] },
      stop: async () => {
        ledger.close();
        await pool.end();
      },
    };
  },
});
