// Lets a request in, or not, before anything of its body is read: first who it is from, then whether it comes too
// fast. One that is refused reaches no module. An address that was over its limit a moment ago is counted before its
// unknown keys are looked up, so that they cost no query.
import type { Principal } from "@gr/identity";
import type { FastifyReply, FastifyRequest, onRequestHookHandler } from "fastify";
import type { Authenticate, IsStranger } from "./authenticate.ts";
import type { RequestLimits, Verdict } from "./request-limits.ts";
import { type RouteRow, rowOf } from "./routes.ts";

export function admitRequests(
  authenticate: Authenticate,
  isStranger: IsStranger,
  limits: RequestLimits,
): onRequestHookHandler {
  // Without a promise when nobody has to be asked, which is most requests.
  const verdictOn = (request: FastifyRequest, reply: FastifyReply): unknown => {
    const row = rowOf(request.raw.url ?? "");
    if (!limits.wasOverLimit(request) || !isStranger(request, row)) {
      return lookUp(request, reply, row, (refusal) => limits.ofRefused(request, reply, refusal));
    }
    const counted = (limited: unknown) => limited ?? lookUp(request, reply, row, (refusal) => refusal);
    const limited = limits.ofStranger(request, reply);
    return limited instanceof Promise ? limited.then(counted) : counted(limited);
  };
  const lookUp = (
    request: FastifyRequest,
    reply: FastifyReply,
    row: RouteRow | undefined,
    refuse: (refusal: unknown) => unknown,
  ): unknown => {
    // Redis only says that a key may be gone; whether it is, the keys service says.
    const confirm = async (verdict: Verdict) => {
      if (verdict !== "revoked") return verdict;
      try {
        await authenticate(request, row, "anew");
      } catch (refusal) {
        return refuse(refusal);
      }
    };
    const admit = (principal: Principal | null) => {
      request.principal = principal;
      const verdict = limits.ofAdmitted(request, reply, row, principal);
      return verdict instanceof Promise ? verdict.then(confirm) : verdict;
    };
    let found: ReturnType<Authenticate>;
    try {
      found = authenticate(request, row);
    } catch (refusal) {
      return refuse(refusal);
    }
    return found instanceof Promise ? found.then(admit, refuse) : admit(found);
  };
  return (request, reply, done) => {
    const verdict = verdictOn(request, reply);
    if (verdict instanceof Promise) verdict.then(done, done);
    else done(verdict as Error | undefined);
  };
}
