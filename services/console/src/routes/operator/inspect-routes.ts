// Inspect routes show an operator the ledger, the keys and the requests of an account, by the handlers of its members.
import type { ConsoleDeps } from "../../console-deps.ts";
import type { Handlers } from "../../door/console-call.ts";
import { keyRoutes } from "../account/key-routes.ts";
import { ledgerRoutes } from "../account/ledger-routes.ts";
import { requestRoutes } from "../account/request-routes.ts";

type InspectRoutes = Handlers<"readLedgerAsOperator" | "listKeysAsOperator" | "listRequestsAsOperator">;

export function inspectRoutes(deps: ConsoleDeps): InspectRoutes {
  const { accounts } = deps;
  const { readLedger } = ledgerRoutes(deps);
  const { listKeys } = keyRoutes(deps);
  const { listRequests } = requestRoutes(deps);
  /** @throws ServiceError account_not_found */
  const inAccount = async (params: Readonly<Record<string, string>>) => {
    const { id } = await accounts.require(params["id"] ?? "", "id");
    return { ...params, account: id };
  };
  return {
    readLedgerAsOperator: async (call) => readLedger({ ...call, params: await inAccount(call.params) }),
    listKeysAsOperator: async (call) => listKeys({ ...call, params: await inAccount(call.params) }),
    listRequestsAsOperator: async (call) => listRequests({ ...call, params: await inAccount(call.params) }),
  };
}
