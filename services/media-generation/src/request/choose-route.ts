// Which provider makes a model: the first of its routes that is configured here.
import { ServiceError } from "@gr/proto";
import type { Model, Route } from "@gr/proto/catalog";
import type { GenerationDeps } from "../generation-deps.ts";
import { mediaProviders } from "../providers/media-providers.ts";
import type { MediaProvider } from "../providers/provider.ts";

export interface ChosenRoute {
  readonly route: Route;
  readonly provider: MediaProvider;
}

/** @throws ServiceError provider_unavailable; what is missing goes to the operator's log, not to the caller */
export function chooseRoute(
  { providers, events }: Pick<GenerationDeps, "providers" | "events">,
  model: Model,
): ChosenRoute {
  for (const route of model.routes) {
    const provider = providers.get(route.provider);
    if (provider !== undefined) return { route, provider };
  }
  events.noProvider(model.id, [...new Set(model.routes.map((route) => credentialOf(route.provider)))]);
  throw new ServiceError("provider_unavailable", `No provider of the model "${model.id}" is available now.`);
}

/** The variable that would switch a provider on, for the operator's log. */
function credentialOf(provider: string): string {
  const definition = mediaProviders.find(({ name }) => name === provider);
  return definition?.credential ?? `(none for ${provider})`;
}
