// Bill look-up queries the bill of one of our requests: GET {url}/{request id}. The simulator answers for every
// provider that it simulates. Real providers with such a query implement it in their adapters.
import type { PicoUsd } from "@gr/money";
import { trimSlashes } from "@gr/runtime";
import { z } from "zod";
import { exchangeFailure } from "./answer-failure.ts";
import { type Outbound, OutboundError } from "./outbound.ts";
import type { MediaProvider } from "./provider.ts";
import { ProviderError } from "./provider-error.ts";

const billSchema = z.object({ pico_usd: z.string().regex(/^\d{1,18}$/) });

export function createBillLookUp(url: string, outbound: Outbound): NonNullable<MediaProvider["lookUp"]> {
  return async (requestId, signal): Promise<PicoUsd | undefined> => {
    const answer = await outbound
      .send({
        method: "GET",
        url: `${trimSlashes(url)}/${encodeURIComponent(requestId)}`,
        headers: { accept: "application/json" },
        signal,
      })
      .catch((error: unknown) => {
        throw error instanceof OutboundError ? exchangeFailure("bill look-up", error, "submit") : error;
      });
    if (answer.status === 404) return undefined;
    const bill = answer.status === 200 ? billSchema.safeParse(answer.json()) : undefined;
    if (bill?.success !== true) {
      throw new ProviderError("unavailable", `bill look-up: answered ${answer.status}`, { accepted: false });
    }
    return BigInt(bill.data.pico_usd);
  };
}
