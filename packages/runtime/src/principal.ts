// Who makes a request, as the gateway found out. Between processes it travels as a signed token and in no other way.
import type { Clock } from "./clock.ts";
import { readToken, signToken } from "./service-token.ts";

export interface Principal {
  readonly accountId: string;
  /** Id of the key and of its spender; of a web token, the account's. */
  readonly keyId: string;
  /** A web token may do what a normal key may. */
  readonly kind: "normal" | "management" | "web_token";
  /** Of a web token, which no table has: Unix milliseconds. */
  readonly expiresAt?: number;
}

export const PRINCIPAL_HEADER = "x-gr-principal";

/** @param audience name of the module that the request is forwarded to. */
export function signPrincipal(
  secret: string,
  audience: string,
  principal: Principal | null,
  clock: Clock,
): string {
  return signToken(secret, `rest:${audience}`, JSON.stringify(principal), clock);
}

/** The principal (null = an anonymous caller), or undefined when the token is not to be trusted. */
export function readPrincipal(
  secret: string,
  audience: string,
  token: string,
  clock: Clock,
): Principal | null | undefined {
  const payload = readToken(secret, `rest:${audience}`, token, clock);
  return payload === undefined ? undefined : (JSON.parse(payload) as Principal | null);
}

declare module "fastify" {
  interface FastifyRequest {
    /** Set by the gateway's authentication, or from the signed header in a service process. */
    principal: Principal | null;
  }
}
