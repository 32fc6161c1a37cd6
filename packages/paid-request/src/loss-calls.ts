// LossCalls let operators see the routes that this process has closed because of losses, and open them early.
// Each process has closings of its own, so an answer is about the process that answers.
import { RouteCondition, type RouteStateInit } from "@gr/clients";
import type { LossBreaker } from "./loss-breaker.ts";
import type { Route } from "./order.ts";

/** Returns the RPCs on closed routes, which are the same in all services that have paid requests. */
export function lossCalls(losses: LossBreaker) {
  return {
    listClosedRoutes: async () => ({
      routes: losses.closings().map(({ route, accountId = "", reopensAt, loss }) => ({
        ...{ provider: route.provider, upstreamModel: route.upstreamModel, accountId },
        ...{ reopensAt: BigInt(reopensAt), lossPicoUsd: loss },
      })),
    }),
    reopenRoute: async ({ provider, upstreamModel }: Route) => ({
      reopened: losses.reopen({ provider, upstreamModel }),
    }),
  };
}

/** Returns the closed routes for the report of this process. A route that is closed for one account works for others. */
export function losingRoutes(losses: LossBreaker): RouteStateInit[] {
  const forAll = losses.closings().filter(({ accountId }) => accountId === undefined);
  return forAll.map(({ route: { provider, upstreamModel }, reopensAt, loss }) => ({
    ...{ provider, upstreamModel, condition: RouteCondition.LOSING },
    ...{ until: BigInt(reopensAt), lossPicoUsd: loss },
  }));
}
