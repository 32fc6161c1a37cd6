// KeyRefusals owns the sentences about keys and web tokens that are refused. Each sentence is written here only.
// A refusal never distinguishes a mistyped key from a deleted or disabled key.
import { ServiceError } from "@gr/proto";
import type { Principal } from "./principal.ts";

export function invalidKey(): ServiceError {
  return new ServiceError("invalid_api_key", "The API key is not valid.");
}

export function missingKey(): ServiceError {
  return new ServiceError("invalid_api_key", "An API key is required.");
}

/** @param expiresAt Unix milliseconds */
export function expiredKey(kind: "API key" | "web token", expiresAt: number): ServiceError {
  const time = new Date(expiresAt).toISOString();
  return new ServiceError("api_key_expired", `This ${kind} expired at ${time}.`);
}

/** Returns the principal of a normal key or a web token. @throws ServiceError invalid_api_key, wrong_key_kind */
export function normalKey(principal: object | null): Principal {
  const caller = principal as Principal | null;
  if (caller === null) throw missingKey();
  if (caller.kind !== "management") return caller;
  const message =
    "A management key can only be used on /v1/api-keys and /v1/account; use a normal API key here.";
  throw new ServiceError("wrong_key_kind", message);
}

/** Returns the principal of a normal key or a web token; null for a client without one. @throws as normalKey */
export function optionalKey(principal: object | null): Principal | null {
  return principal === null ? null : normalKey(principal);
}

/** Returns the principal of a management key. @throws ServiceError invalid_api_key, wrong_key_kind */
export function managementKey(principal: object | null): Principal {
  const caller = principal as Principal | null;
  if (caller === null) throw missingKey();
  if (caller.kind === "management") return caller;
  const kind = caller.kind === "web_token" ? "web token" : "normal API key";
  throw new ServiceError("wrong_key_kind", `A management key is required here; this is a ${kind}.`);
}
