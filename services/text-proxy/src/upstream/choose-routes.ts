// Which upstreams a request may go to, and in which order: as the model's routes say, but for those that fail, and last those that
// have asked to be left alone.
import type { Route } from "@gr/paid-request";
import type { Model } from "@gr/proto/catalog";
import type { Upstream } from "./upstream.ts";

export interface ChosenRoutes {
  /** Best first. */
  readonly routes: readonly Route[];
  /** When there are none since all fail: milliseconds until one of them is tried again. */
  readonly waitMs: number | undefined;
}

/** @param upstreams by name; routes of others are left out */
export function chooseRoutes(model: Model, upstreams: ReadonlyMap<string, Upstream>): ChosenRoutes {
  const routes: Route[] = [];
  const resting: Route[] = [];
  let waitMs: number | undefined;
  for (const { provider, upstreamModel: said } of model.routes) {
    const upstreamModel = said || model.id;
    const breaker = upstreams.get(provider)?.breaker(upstreamModel);
    if (breaker === undefined) continue;
    const wait = breaker.waitMs;
    if (wait > 0) waitMs = Math.min(wait, waitMs ?? wait);
    else (breaker.rests ? resting : routes).push({ provider, upstreamModel });
  }
  return { routes: [...routes, ...resting], waitMs };
}
