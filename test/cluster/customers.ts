// This file opens a customer of the router in the cluster, and verifies the books. Its calls are those of an operator: the
// node sends them directly to a pod, and the network policies do not restrict the node.
import { randomUUID } from "node:crypto";
import { creditsOf } from "@gr/money";
import { BillingService, DepositStatus } from "@gr/proto/billing";
import { KeyKind, KeysService } from "@gr/proto/keys";
import { createRemoteTransport, createServiceClient, systemClock } from "@gr/runtime";
import { kubectlOf } from "./control-plane.ts";
import { NAMESPACE } from "./deploy-router.ts";
import type { Places } from "./layout.ts";

const VERIFY_TIMEOUT_MS = 60_000;
const RPC_PORT = 8082;

/** @returns an operator's transport to a pod of the service that is ready now */
async function transportTo(places: Places, service: string) {
  const kubectl = kubectlOf(places);
  const here = ["--namespace", NAMESPACE, "-o"];
  const path = "jsonpath={.data.INTERNAL_AUTH_SECRET}";
  const secret = Buffer.from(await kubectl("get", "secret", "router-internal", ...here, path), "base64");
  const addresses = "jsonpath={.items[0].endpoints[?(@.conditions.ready==true)].addresses[0]}";
  const slice = ["endpointslice", "-l", `kubernetes.io/service-name=${service}`];
  const [address] = (await kubectl("get", ...slice, ...here, addresses)).split(" ");
  return createRemoteTransport(`http://${address}:${RPC_PORT}`, secret.toString(), systemClock);
}

/** Creates an account with a deposit and an API key. @param usd amount of the deposit @returns the secret of the key */
export async function openCustomer(places: Places, usd: string): Promise<string> {
  const keys = createServiceClient(KeysService, "keys", await transportTo(places, "keys"));
  const { accountId } = await keys.createAccount({ name: "cluster" });
  const billing = createServiceClient(BillingService, "billing", await transportTo(places, "billing"));
  const deposit = { depositId: randomUUID(), accountId, credits: creditsOf(usd), source: "cluster" };
  await billing.putDeposit({ ...deposit, status: DepositStatus.COMPLETED });
  return (await keys.mintKey({ accountId, name: "cluster", kind: KeyKind.NORMAL })).secret;
}

/** Verifies the ledger. @returns the number of accounts, as a text @throws Error if a balance differs from its entries */
export async function verifyBooks(places: Places): Promise<string> {
  const billing = createServiceClient(BillingService, "billing", await transportTo(places, "billing"));
  const { differences, accounts } = await billing.verifyLedger({}, { timeoutMs: VERIFY_TIMEOUT_MS });
  if (differences.length > 0) throw new Error(`the ledger has ${differences.length} differences`);
  return `${accounts} accounts, no difference`;
}
