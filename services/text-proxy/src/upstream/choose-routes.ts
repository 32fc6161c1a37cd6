// Which upstreams a request may go to, and in which order: as the model's routes say, but for those that fail, and last those that
// have asked to be left alone.
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

export interface ChosenRoutes {
  /** Best first. */
  readonly routes: readonly Route[];
  /** When there are none since all fail: milliseconds until one of them is tried again. */
  readonly waitMs: number | undefined;
}

/** @param upstreams by name; routes of others are left out */
export function chooseRoutes(model: Routed, upstreams: Upstreams): ChosenRoutes {
  const routes: Route[] = [];
  const resting: Route[] = [];
  let waitMs: number | undefined;
  for (const route of knownRoutes(model, upstreams)) {
    const breaker = upstreams.get(route.provider)?.breaker(route.upstreamModel);
    if (breaker === undefined) continue;
    const wait = breaker.waitMs;
    if (wait > 0) waitMs = Math.min(wait, waitMs ?? wait);
    else (breaker.rests ? resting : routes).push(route);
  }
  return { routes: [...routes, ...resting], waitMs };
}

type Upstreams = ReadonlyMap<string, Asked>;

/** A model of the catalogue never changes, nor do the upstreams of a process. */
const known = new WeakMap<Upstreams, WeakMap<Routed, readonly Route[]>>();

/** All that there are, whether they fail now or not: as much as is needed to say what a request costs. */
export function knownRoutes(model: Routed, upstreams: Upstreams): readonly Route[] {
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
