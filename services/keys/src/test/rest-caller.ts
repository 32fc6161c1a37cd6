// Calls the REST paths of a service process as the gateway does: with a signed principal.
import type { Principal } from "@gr/identity";
import { type Clock, PRINCIPAL_HEADER, signPrincipal } from "@gr/runtime";

export interface RestAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed JSON of whatever shape. */
  readonly body: ReturnType<typeof JSON.parse>;
}

export function restCaller(baseUrl: string, module: string, secret: string, clock: Clock) {
  return async (
    method: string,
    path: string,
    as: Principal | null,
    body?: string | object,
  ): Promise<RestAnswer> => {
    const response = await fetch(baseUrl + path, {
      method,
      headers: {
        [PRINCIPAL_HEADER]: signPrincipal(secret, module, as, clock),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    return { status: response.status, headers: response.headers, body: await response.json() };
  };
}
