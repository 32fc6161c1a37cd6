// The client of Stripe's API for our settings, and the errors of its calls as ours.
import { ServiceError } from "@gr/proto";
import StripeClient from "stripe";

/** Two such calls run in a row while a row is locked. */
const CALL_TIMEOUT_MS = 5_000;

/** @param url of Stripe's API */
export function createStripeClient(key: string, url: string): StripeClient {
  const { protocol, hostname, port } = new URL(url);
  return new StripeClient(key, {
    protocol: protocol === "http:" ? "http" : "https",
    host: hostname,
    ...(port === "" ? {} : { port }),
    timeout: CALL_TIMEOUT_MS,
    // Our own callers retry.
    maxNetworkRetries: 0,
    telemetry: false,
  });
}

/** @throws ServiceError service_unavailable in place of any error of Stripe */
export async function asking<T>(answer: Promise<T>): Promise<T> {
  return answer.catch((cause: unknown) => {
    if (!(cause instanceof StripeClient.errors.StripeError)) throw cause;
    const message = "The payment service does not answer as it should; try again shortly.";
    throw new ServiceError("service_unavailable", message, { retryAfterMs: 1_000, cause });
  });
}

export function idOf(object: string | { readonly id: string } | null | undefined): string | undefined {
  return typeof object === "string" ? object : object?.id;
}
