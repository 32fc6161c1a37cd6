// authorize identifies the sender of a request and checks the permission by the table of routes, before the body is
// read. A browser also sends cookies for foreign pages, so each change must be requested by a page of the console.
import { type ConsoleRoute, consoleRoutes, mayActAs, type Role } from "@gr/console-api";
import { ServiceError } from "@gr/proto";
import { isUuid, reportSignedIn } from "@gr/runtime";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { OperatorStore } from "../operators/operator-store.ts";
import type { People } from "../people/people.ts";
import type { ConsoleStore } from "../store.ts";
import { type CallerFacts, setCookies } from "./console-call.ts";

const SAFE = new Set(["GET", "HEAD"]);
const routes = new Map<string, ConsoleRoute>(
  Object.values<ConsoleRoute>(consoleRoutes).map((route) => [`${route.method} ${route.path}`, route]),
);

export interface AuthorizeDeps {
  readonly people: People;
  readonly store: Pick<ConsoleStore, "roleOf">;
  readonly operators: Pick<OperatorStore, "isOperator">;
  /** Origin of the pages that may request changes. */
  readonly origin: string;
}

/** @throws ServiceError cross_site_request, not_signed_in, account_not_found, role_required */
export async function authorize(
  { people, store, operators, origin }: AuthorizeDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<CallerFacts> {
  const method = request.method === "HEAD" ? "GET" : request.method;
  const route = routes.get(`${method} ${request.routeOptions.url}`);
  if (route === undefined) throw new ServiceError("route_not_found", "There is nothing here.");
  if (!SAFE.has(method)) refuseCrossSite(request, origin);
  const headers = headersOf(request);
  const network = headers.get("x-client-network") ?? "unknown";
  const { value: signedIn, cookies } = await people.readSession(headers);
  reportSignedIn(reply, signedIn?.person.id);
  setCookies(reply, cookies);
  if (route.access === "open") return { headers, network, signedIn, role: undefined };
  if (signedIn === undefined) throw new ServiceError("not_signed_in", "Sign in first.");
  if (route.access === "person") return { headers, network, signedIn, role: undefined };
  if (route.access === "operator") {
    if (await operators.isOperator(signedIn.person.id))
      return { headers, network, signedIn, role: undefined };
    throw new ServiceError("role_required", "Only operators of this router may do this.");
  }
  const { account = "" } = request.params as { account?: string };
  const role = isUuid(account) ? await store.roleOf(account, signedIn.person.id) : undefined;
  if (role === undefined) {
    throw new ServiceError(
      "account_not_found",
      "The account does not exist, or you are not a member of it.",
      { param: "account" },
    );
  }
  requireRole(role, route.access);
  return { headers, network, signedIn, role };
}

/** @throws ServiceError role_required */
export function requireRole(role: Role | undefined, wanted: Role): void {
  if (role !== undefined && mayActAs(role, wanted)) return;
  throw new ServiceError("role_required", `This needs the role ${wanted}; yours is ${role ?? "none"}.`);
}

function refuseCrossSite({ headers }: FastifyRequest, own: string): void {
  const site = headers["sec-fetch-site"];
  if (headers.origin === own && (site === undefined || site === "same-origin")) return;
  throw new ServiceError("cross_site_request", `Only pages of ${own} may change something here.`);
}

function headersOf({ headers }: FastifyRequest): Headers {
  const kept = new Headers();
  for (const name of ["cookie", "user-agent", "x-client-network"]) {
    const value = headers[name];
    if (typeof value === "string") kept.set(name, value);
  }
  return kept;
}
