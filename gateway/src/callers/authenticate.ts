// Authentication identifies the sender of a request before its body is read.
// Claims of the client about itself in other headers are ignored.
import { managementKey, normalKey, type Principal } from "@gr/identity";
import { ServiceError } from "@gr/proto";
import { countHeader, pathOf, routeNotFound, withoutEndSlash } from "@gr/runtime";
import type { FastifyRequest } from "fastify";
import type { RouteRow } from "../routes.ts";
import type { VerifiedKeys } from "./verified-keys.ts";

const BEARER = /^bearer +(\S+)$/i;

/**
 * Returns the sender of a request; null for no sender, on routes that are open.
 * @param anew skip the cache and query the keys service.
 * @throws ServiceError invalid_api_key, api_key_expired, wrong_key_kind, route_not_found, service_unavailable
 */
export type Authenticate = (
  request: FastifyRequest,
  row: RouteRow | undefined,
  anew?: "anew",
) => Principal | null | Promise<Principal>;

/** Returns true if authentication would query the keys service about a key that was never verified. */
export type IsStranger = (request: FastifyRequest, row: RouteRow | undefined) => boolean;

export function strangerFinder(keys: VerifiedKeys): IsStranger {
  return ({ headers: { authorization } }, row) => {
    if (row === undefined || row.access === "public" || authorization === undefined) return false;
    const secret = BEARER.exec(authorization)?.[1];
    return secret !== undefined && keys.isStranger(secret);
  };
}

/** @param openPaths paths of the gateway itself, for everybody. */
export function authenticator(keys: VerifiedKeys, openPaths: readonly string[]): Authenticate {
  const open = new Set(openPaths);
  return (request, row, anew) => {
    if (row === undefined) {
      if (!open.has(withoutEndSlash(pathOf(request)))) throw routeNotFound(request);
      return null;
    }
    if (row.access === "public" || (row.access === "optional" && !hasCredentials(request))) return null;
    const secret = secretOf(request);
    const found =
      row.spends && anew === undefined
        ? keys.ofSpender(secret, request.id)
        : keys.asOfNow(secret, request.id);
    if (!(found instanceof Promise)) return ofRightKind(row, found);
    return found.then((principal) => ofRightKind(row, principal));
  };
}

function hasCredentials(request: FastifyRequest): boolean {
  return request.headers.authorization !== undefined;
}

function secretOf(request: FastifyRequest): string {
  const { authorization } = request.headers;
  if (authorization === undefined) {
    throw new ServiceError(
      "invalid_api_key",
      "The Authorization header is missing; send Authorization: Bearer <API key>.",
    );
  }
  if (countHeader(request.raw.rawHeaders, "authorization") > 1) {
    throw new ServiceError("invalid_api_key", "Send exactly one Authorization header.");
  }
  const secret = BEARER.exec(authorization)?.[1];
  if (secret === undefined) {
    throw new ServiceError("invalid_api_key", "The Authorization header must be Bearer <API key>.");
  }
  return secret;
}

function ofRightKind({ access }: RouteRow, principal: Principal): Principal {
  return access === "management" ? managementKey(principal) : normalKey(principal);
}
