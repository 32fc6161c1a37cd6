// LossCalls let operators see the routes that this process has closed because of losses, and open them early.
// Each process has closings of its own, so an answer is about the process that answers.
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
