// The principal is the sender of a request. Between processes it is transferred as a signed token and in no other way.
// The product defines its fields; this file requires only an object that JSON can represent.
import type { Clock } from "../process/clock.ts";
import { readToken, signToken } from "./service-token.ts";

export const PRINCIPAL_HEADER = "x-gr-principal";

/** @param audience name of the module that the request is forwarded to. */
export function signPrincipal(
  secret: string,
  audience: string,
  principal: object | null,
  clock: Clock,
): string {
  return signToken(secret, `rest:${audience}`, JSON.stringify(principal), clock);
}

/** The principal (null = an anonymous caller), or undefined when the token is not to be trusted. */
export function readPrincipal(
  trustedSecrets: readonly string[],
  audience: string,
  token: string,
  clock: Clock,
): object | null | undefined {
  const payload = readToken(trustedSecrets, `rest:${audience}`, token, clock);
  return payload === undefined ? undefined : (JSON.parse(payload) as object | null);
}

declare module "fastify" {
  interface FastifyRequest {
    /** Set by the gateway's authentication, or from the signed header in a service process. */
    principal: object | null;
  }
}
