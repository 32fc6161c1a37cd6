// This program verifies the router that its environment names. `skaffold verify` runs it beside the router, from the image `e2e`.
import { OperatorError, readConfig } from "@gr/runtime";
import { z } from "zod";
import { verifyRouter } from "./verify-router.ts";

const environment = z.object({
  BASE_URL: z.url(),
  KEYS_RPC_URL: z.url(),
  BILLING_RPC_URL: z.url(),
  INTERNAL_AUTH_SECRET: z.string().min(32),
});

try {
  const read = readConfig("verify", environment, process.env);
  if ("problems" in read)
    throw new OperatorError(`The configuration is not usable: ${read.problems.join("; ")}.`);
  const { BASE_URL, KEYS_RPC_URL, BILLING_RPC_URL, INTERNAL_AUTH_SECRET } = read.config;
  const place = {
    baseUrl: BASE_URL,
    keysRpcUrl: KEYS_RPC_URL,
    billingRpcUrl: BILLING_RPC_URL,
    secret: INTERNAL_AUTH_SECRET,
  };
  await verifyRouter(place, (step) => process.stdout.write(`ok  ${step}\n`));
  process.exit(0);
} catch (error) {
  process.stderr.write(`FAILED  ${(error as Error).message}\n`);
  process.exit(1);
}
