// Which providers make a model: those of its routes that are configured here, in the catalogue's order.
import type { Route } from "@gr/paid-request";
import { ServiceError } from "@gr/proto";
import type { Model, Price } from "@gr/proto/catalog";
import type { GenerationEvents } from "../generation/events.ts";
import { mediaProviders } from "../providers/media-providers.ts";
import type { MediaProvider } from "../providers/provider.ts";

export interface MediaRoute extends Route {
  readonly adapter: MediaProvider;
  /** What the provider bills us by the catalogue; undefined: the list price. */
  readonly cost: Price | undefined;
}

/** @throws ServiceError provider_unavailable; what is missing goes to the operator's log, not to the caller */
export function chooseRoutes(
  model: Model,
  providers: ReadonlyMap<string, MediaProvider>,
  events: Pick<GenerationEvents, "noProvider">,
): [MediaRoute, ...MediaRoute[]] {
  const [first, ...more] = model.routes.flatMap(({ provider, upstreamModel, cost }) => {
    const adapter = providers.get(provider);
    return adapter === undefined ? [] : [{ provider, upstreamModel, cost, adapter }];
  });
  if (first !== undefined) return [first, ...more];
  events.noProvider(model.id, [...new Set(model.routes.map((route) => credentialOf(route.provider)))]);
  throw new ServiceError("provider_unavailable", `No provider of the model "${model.id}" is available now.`);
}

/** The variable that would switch a provider on, for the operator's log. */
function credentialOf(provider: string): string {
  const definition = mediaProviders.find(({ name }) => name === provider);
  return definition?.credential ?? `(none for ${provider})`;
}
