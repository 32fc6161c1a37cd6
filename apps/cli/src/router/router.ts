// The router's services as clients, dialled when a command first needs them.
import type { DescService } from "@bufbuild/protobuf";
import { BillingService, TextLogService } from "@gr/proto/billing";
import { BudgetService } from "@gr/proto/budgets";
import { CatalogOperatorService, CatalogService } from "@gr/proto/catalog";
import { KeysService } from "@gr/proto/keys";
import { MediaGenerationService } from "@gr/proto/media";
import { TextProxyService } from "@gr/proto/text";
import { WebhookService } from "@gr/proto/webhooks";
import {
  addressVariables,
  createRemoteTransport,
  createServiceClient,
  OperatorError,
  type ServiceClient,
  systemClock,
} from "@gr/runtime";
import type { RouterAddress, ServiceName } from "./router-address.ts";

/** An operator waits longer than a service, for example for the keys of a large account on a busy machine. */
const CALL_TIMEOUT_MS = 60_000;

export interface Router {
  readonly address: RouterAddress;
  keys(): ServiceClient<typeof KeysService>;
  billing(): ServiceClient<typeof BillingService>;
  budgets(): ServiceClient<typeof BudgetService>;
  texts(): ServiceClient<typeof TextLogService>;
  catalog(): ServiceClient<typeof CatalogService>;
  catalogOperator(): ServiceClient<typeof CatalogOperatorService>;
  textProxy(): ServiceClient<typeof TextProxyService>;
  media(): ServiceClient<typeof MediaGenerationService>;
  webhooks(): ServiceClient<typeof WebhookService>;
  /** Returns a client of any RPC service of that process. @throws OperatorError if its address is missing. */
  dial<Desc extends DescService>(service: ServiceName, desc: Desc): ServiceClient<Desc>;
}

export function reachRouter(address: RouterAddress): Router {
  const dial = <Desc extends DescService>(service: ServiceName, desc: Desc): ServiceClient<Desc> => {
    const url = address.rpcUrls[service];
    if (url === undefined) {
      throw new OperatorError(`Set ${addressVariables(service).rpc} to the RPC address of ${service}.`);
    }
    const transport = createRemoteTransport(url, address.secret, systemClock);
    return createServiceClient(desc, service, transport, CALL_TIMEOUT_MS);
  };
  return {
    address,
    keys: () => dial("keys", KeysService),
    billing: () => dial("billing", BillingService),
    budgets: () => dial("billing", BudgetService),
    texts: () => dial("billing", TextLogService),
    catalog: () => dial("catalog", CatalogService),
    catalogOperator: () => dial("catalog", CatalogOperatorService),
    textProxy: () => dial("text-proxy", TextProxyService),
    media: () => dial("media-generation", MediaGenerationService),
    webhooks: () => dial("media-generation", WebhookService),
    dial,
  };
}
