// Callbacks decide about the address that receives the end of a request: the request's own, else the default of its key,
// else that of its account. The guard of input pictures checks each address by its text here, and by DNS when it is used.
import { ServiceError } from "@gr/proto";
import { isServerTrouble } from "@gr/runtime";
import { type Outbound, OutboundError } from "../providers/outbound.ts";
import type { ReceiverStore } from "./receiver-store.ts";

export const MOST_URL_CHARACTERS = 2_048;
const RETRY_MS = 1_000;

export interface Callbacks {
  /** @param asked the request's own address. @throws ServiceError */
  urlFor(
    sender: { readonly accountId: string; readonly keyId: string },
    asked: string | null | undefined,
  ): Promise<string | undefined>;
  /** Returns the address in its normal form. @param field name in the error. @throws ServiceError */
  check(url: string, field: string): string;
}

export function createCallbacks(
  receivers: Pick<ReceiverStore, "urlOf">,
  outbound: Pick<Outbound, "checkAddress">,
): Callbacks {
  const check = (url: string, field: string) => {
    if (url.length > MOST_URL_CHARACTERS) {
      const message = `${field} must have at most ${MOST_URL_CHARACTERS} characters.`;
      throw new ServiceError("invalid_value", message, { param: field });
    }
    try {
      outbound.checkAddress(url);
    } catch (cause) {
      if (!(cause instanceof OutboundError)) throw cause;
      const message = `${field} is not allowed: it must be http or https, port 80 or 443, in the public internet.`;
      throw new ServiceError("url_not_allowed", message, { param: field, cause });
    }
    return new URL(url).href;
  };
  return {
    check,
    urlFor: async ({ accountId, keyId }, asked) => {
      if (asked != null) return check(asked, "callback_url");
      try {
        return await receivers.urlOf(accountId, keyId);
      } catch (cause) {
        if (!isServerTrouble(cause)) throw cause;
        const message = "Media cannot be made at the moment; try again shortly. You are not charged.";
        throw new ServiceError("service_unavailable", message, { retryAfterMs: RETRY_MS, cause });
      }
    },
  };
}
