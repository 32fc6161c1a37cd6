// The operator's view in tests: the router's RPC services through DATA_DIR/runtime.json, as the CLI sees them.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { BillingService, HoldState } from "@gr/proto/billing";
import { createRemoteTransport, createServiceClient, systemClock } from "@gr/runtime";

export async function billingOf(dataDir: string) {
  const { rpc_urls: urls, internal_auth_secret: secret } = JSON.parse(
    await readFile(join(dataDir, "runtime.json"), "utf8"),
  );
  return createServiceClient(
    BillingService,
    "billing",
    createRemoteTransport(urls.billing, secret, systemClock),
  );
}

/** Open holds whose deadline has passed. */
export async function overdueHolds(billing: Awaited<ReturnType<typeof billingOf>>): Promise<string[]> {
  const { holds } = await billing.listHolds({ state: HoldState.OPEN, limit: 1000 });
  return holds.filter(({ deadlineAt }) => Number(deadlineAt) < Date.now()).map(({ holdId }) => holdId);
}
