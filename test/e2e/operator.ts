// The operator's view in tests: the router's RPC services through DATA_DIR/runtime.json, like the CLI.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { DescService } from "@bufbuild/protobuf";
import { BillingService, HoldState } from "@gr/proto/billing";
import { KeysService } from "@gr/proto/keys";
import { createRemoteTransport, createServiceClient, type ServiceClient, systemClock } from "@gr/runtime";

/** A slow machine is no failed call. Deadline of calls, milliseconds. */
export const PATIENCE_MS = 120_000;

export const billingOf = (dataDir: string) => serviceOf(dataDir, "billing", BillingService);

export const keysOf = (dataDir: string) => serviceOf(dataDir, "keys", KeysService);

export async function serviceOf<Desc extends DescService>(
  dataDir: string,
  module: string,
  service: Desc,
): Promise<ServiceClient<Desc>> {
  const { rpc_urls: urls, internal_auth_secret: secret } = JSON.parse(
    await readFile(join(dataDir, "runtime.json"), "utf8"),
  );
  const transport = createRemoteTransport(urls[module], secret, systemClock);
  return createServiceClient(service, module, transport, PATIENCE_MS);
}

/** Returns open holds past their deadline. */
export async function overdueHolds(billing: ServiceClient<typeof BillingService>): Promise<string[]> {
  const { holds } = await billing.listHolds({ state: HoldState.OPEN, limit: 1000 });
  return holds.filter(({ deadlineAt }) => Number(deadlineAt) < Date.now()).map(({ holdId }) => holdId);
}
