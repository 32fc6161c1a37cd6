// admitRequests admits or refuses a request before its body is read: first by its sender, then by the rate limits.
// A refused request reaches no module. An address that was over its limit a moment ago is counted before the look-up of
// its unknown keys, so that they cost no query.
import type { Principal } from "@gr/identity";
import { setPrincipal } from "@gr/runtime";
import type { FastifyReply, FastifyRequest, onRequestHookHandler } from "fastify";
import type { Authenticate, IsStranger } from "./callers/authenticate.ts";
import type { RequestLimits, Verdict } from "./limits/request-limits.ts";
import { clientNetwork } from "./network/client-address.ts";
import type { TrustedProxies } from "./network/trusted-proxies.ts";
import { CLIENT_NETWORK_HEADER, type RouteRow, rowOf } from "./routes.ts";
import type { WebApplication } from "./web-application.ts";

export interface Admission {
  readonly authenticate: Authenticate;
  readonly isStranger: IsStranger;
  readonly limits: RequestLimits;
  readonly proxies: Pick<TrustedProxies, "clientOf" | "warnOfForgery">;
  /** Files for everybody; absent = none. */
  readonly pages: Pick<WebApplication, "find"> | undefined;
}

/** Row of files; a page's files in quick succession are no flood. */
const FILES: RouteRow = { prefix: "/", module: "", access: "public", class: "downloads", spends: false };

interface Asked {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly row: RouteRow | undefined;
  /** True if the rate limit of the address has counted the request already. */
  readonly isCounted: boolean;
}

export function admitRequests({
  authenticate,
  isStranger,
  limits,
  proxies,
  pages,
}: Admission): onRequestHookHandler {
  const rowFor = (request: FastifyRequest): RouteRow | undefined =>
    rowOf(request.raw.url ?? "", request.method) ?? (pages?.find(request) === undefined ? undefined : FILES);
  // Without a promise if no service must be called, which is true of most requests.
  const verdictOn = (request: FastifyRequest, reply: FastifyReply): unknown => {
    proxies.warnOfForgery(request.raw);
    const row = rowFor(request);
    if (row?.keeps?.includes(CLIENT_NETWORK_HEADER)) {
      request.raw.headers[CLIENT_NETWORK_HEADER] = clientNetwork(proxies.clientOf(request.raw));
    }
    if (!limits.wasOverLimit(request) || !isStranger(request, row)) {
      return lookUp({ request, reply, row, isCounted: false });
    }
    const counted = (limited: unknown) => limited ?? lookUp({ request, reply, row, isCounted: true });
    const limited = limits.ofStranger(request, reply);
    return limited instanceof Promise ? limited.then(counted) : counted(limited);
  };
  const lookUp = (asked: Asked): unknown => {
    let found: ReturnType<Authenticate>;
    try {
      found = authenticate(asked.request, asked.row);
    } catch (refusal) {
      return refuse(asked, refusal);
    }
    return found instanceof Promise
      ? found.then(
          (principal) => admit(asked, principal),
          (refusal) => refuse(asked, refusal),
        )
      : admit(asked, found);
  };
  const admit = (asked: Asked, principal: Principal | null): unknown => {
    const { request, reply, row } = asked;
    setPrincipal(request, principal);
    const verdict = limits.ofAdmitted(request, reply, row, principal);
    return verdict instanceof Promise ? verdict.then((late) => confirm(asked, late)) : verdict;
  };
  // Redis only reports a recent change; the keys service has the key as it is now.
  const confirm = async (asked: Asked, verdict: Verdict): Promise<unknown> => {
    if (verdict !== "revoked") return verdict;
    try {
      setPrincipal(asked.request, await authenticate(asked.request, asked.row, "anew"));
      return undefined;
    } catch (refusal) {
      return refuse(asked, refusal);
    }
  };
  const refuse = ({ request, reply, isCounted }: Asked, refusal: unknown): unknown =>
    isCounted ? refusal : limits.ofRefused(request, reply, refusal);
  return (request, reply, done) => {
    const verdict = verdictOn(request, reply);
    if (verdict instanceof Promise) verdict.then(done, done);
    else done(verdict as Error | undefined);
  };
}
