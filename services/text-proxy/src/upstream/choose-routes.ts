// The order in which a request asks the upstreams of its model: the model's own, then upstreams that want to be left alone, and
// last upstreams whose breaker is open. An open breaker never refuses a request. Only a route that loses money is left out.
import type { Route } from "@gr/paid-request";
import type { CircuitBreaker } from "./circuit-breaker.ts";

/** A model, as far as it matters here. */
export interface Routed {
  readonly id: string;
  /** Best first. */
  readonly routes: readonly Route[];
}

interface Asked {
  breaker(model: string): CircuitBreaker;
}

/**
 * @param upstreams by name; routes of others are left out. @param isClosed whether a route loses money
 * @returns best first
 */
export function chooseRoutes(
  model: Routed,
  upstreams: Upstreams,
  isClosed: (route: Route) => boolean,
): readonly Route[] {
  const routes: Route[] = [];
  const resting: Route[] = [];
  const failing: Route[] = [];
  for (const route of knownRoutes(model, upstreams)) {
    if (isClosed(route)) continue;
    const breaker = breakerOf(route, upstreams);
    if (breaker === undefined || isFailing(breaker)) failing.push(route);
    else (breaker.rests ? resting : routes).push(route);
  }
  return [...routes, ...resting, ...failing];
}

/** Whether a request passes a route over: its breaker opened since the routes were chosen, and a later route works. */
export function isPassedOver(
  breaker: CircuitBreaker,
  later: readonly Route[],
  upstreams: Upstreams,
): boolean {
  if (!isFailing(breaker)) return false;
  return later.some((route) => {
    const other = breakerOf(route, upstreams);
    return other !== undefined && !isFailing(other);
  });
}

function isFailing(breaker: CircuitBreaker): boolean {
  return breaker.waitMs > 0;
}

function breakerOf({ provider, upstreamModel }: Route, upstreams: Upstreams): CircuitBreaker | undefined {
  return upstreams.get(provider)?.breaker(upstreamModel);
}

type Upstreams = ReadonlyMap<string, Asked>;

/** A model of the catalogue never changes, nor do the upstreams of a process. */
const known = new WeakMap<Upstreams, WeakMap<Routed, readonly Route[]>>();

/** All routes to upstreams of this process, in the order of the model. */
function knownRoutes(model: Routed, upstreams: Upstreams): readonly Route[] {
  let ofModels = known.get(upstreams);
  if (ofModels === undefined) {
    ofModels = new WeakMap();
    known.set(upstreams, ofModels);
  }
  let routes = ofModels.get(model);
  if (routes === undefined) {
    routes = model.routes.flatMap(({ provider, upstreamModel: said }) =>
      upstreams.has(provider) ? [{ provider, upstreamModel: said || model.id }] : [],
    );
    ofModels.set(model, routes);
  }
  return routes;
}
