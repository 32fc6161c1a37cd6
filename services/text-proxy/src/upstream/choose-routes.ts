// Orders the upstreams of a model for a request: first the model's own order, then upstreams in a cool-down, and last
// upstreams with an open breaker. An open breaker never refuses a request. Only a route that loses money is excluded.
import type { Route } from "@gr/paid-request";
import type { CircuitBreaker } from "./circuit-breaker.ts";

/** Fields of a model that this module reads. */
export interface Routed {
  readonly id: string;
  /** Routes, best first. */
  readonly routes: readonly Route[];
}

interface Asked {
  breaker(model: string): CircuitBreaker;
}

/**
 * @param upstreams by name; other routes are excluded. @param isClosed returns true for a route that loses money
 * @returns best first
 */
export function chooseRoutes(
  model: Routed,
  upstreams: Upstreams,
  isClosed: (route: Route) => boolean,
): readonly Route[] {
  const known = knownRoutes(model, upstreams);
  const isUsual = (route: Route) => !isClosed(route) && isWell(breakerOf(route, upstreams));
  if (known.every(isUsual)) return known;
  const routes: Route[] = [];
  const resting: Route[] = [];
  const failing: Route[] = [];
  for (const route of known) {
    if (isClosed(route)) continue;
    const breaker = breakerOf(route, upstreams);
    if (breaker === undefined || isFailing(breaker)) failing.push(route);
    else (breaker.isCooling ? resting : routes).push(route);
  }
  return [...routes, ...resting, ...failing];
}

/** Returns true if a request skips a route: its breaker opened after the choice of routes, and a later route works. */
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

function isWell(breaker: CircuitBreaker | undefined): boolean {
  return breaker !== undefined && !breaker.isOpen && !breaker.isCooling;
}

function isFailing(breaker: CircuitBreaker): boolean {
  return breaker.waitMs > 0;
}

function breakerOf({ provider, upstreamModel }: Route, upstreams: Upstreams): CircuitBreaker | undefined {
  return upstreams.get(provider)?.breaker(upstreamModel);
}

type Upstreams = ReadonlyMap<string, Asked>;

/** A model of the catalogue never changes, nor do the upstreams of a process. */
const knownBefore = new WeakMap<Upstreams, WeakMap<Routed, readonly Route[]>>();

/** All routes to upstreams of this process, in the order of the model. */
function knownRoutes(model: Routed, upstreams: Upstreams): readonly Route[] {
  let ofModels = knownBefore.get(upstreams);
  if (ofModels === undefined) {
    ofModels = new WeakMap();
    knownBefore.set(upstreams, ofModels);
  }
  let routes = ofModels.get(model);
  if (routes === undefined) {
    routes = model.routes.flatMap(({ provider, upstreamModel: named }) =>
      upstreams.has(provider) ? [{ provider, upstreamModel: named || model.id }] : [],
    );
    ofModels.set(model, routes);
  }
  return routes;
}
