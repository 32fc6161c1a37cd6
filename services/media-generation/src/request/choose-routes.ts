// Which providers make a model: those of its routes that are configured here, in the catalogue's order.
import type { JsonObject } from "@bufbuild/protobuf";
import { makesSize } from "@gr/models";
import type { Route } from "@gr/paid-request";
import { ServiceError } from "@gr/proto";
import type { Route as CatalogRoute, Model, Price } from "@gr/proto/catalog";
import type { GenerationEvents } from "../generation/events.ts";
import { mediaProviders } from "../providers/media-providers.ts";
import type { JobKind, MediaProvider } from "../providers/provider.ts";

export interface MediaRoute extends Route {
  readonly adapter: MediaProvider;
  /** What the provider bills us by the catalogue; undefined: the list price. */
  readonly cost: Price | undefined;
  /** The request's parameters as the provider calls them. */
  readonly fields: JsonObject;
}

/** As a request has them, every "auto" resolved; undefined: the model takes none. */
export type Parameters = Readonly<Record<string, string | number | boolean | undefined>>;

/**
 * Those that cannot make the size, and those that lose money, are passed over. What is missing goes to the operator's log, not to the caller.
 * @throws ServiceError provider_unavailable, or invalid_value of size
 */
export function chooseRoutes(
  kind: JobKind,
  model: Model,
  parameters: Parameters,
  providers: ReadonlyMap<string, MediaProvider>,
  events: Pick<GenerationEvents, "noProvider">,
  isClosed: (route: Route) => boolean,
): [MediaRoute, ...MediaRoute[]] {
  const size = String(parameters["size"] ?? "");
  const available = model.routes.flatMap((route) => {
    const adapter = providers.get(route.provider);
    return adapter?.makes[kind] === undefined ? [] : { route, adapter };
  });
  const able = available.filter(({ route }) => makesSize(route, size));
  const open = able.filter(({ route }) => !isClosed(route));
  const [first, ...more] = open.map(({ route, adapter }): MediaRoute => {
    const { provider, upstreamModel, cost } = route;
    return { provider, upstreamModel, cost, adapter, fields: fieldsAt(route, parameters) };
  });
  if (first !== undefined) return [first, ...more];
  const unavailable = `No provider of the model "${model.id}" is available now.`;
  if (able.length > 0) throw new ServiceError("provider_unavailable", unavailable);
  if (available.length > 0) {
    const message = `No provider that is available here makes the size ${size} of the model "${model.id}".`;
    throw new ServiceError("invalid_value", message, { param: "size" });
  }
  events.noProvider(model.id, [...new Set(model.routes.map((route) => credentialOf(route.provider)))]);
  throw new ServiceError("provider_unavailable", unavailable);
}

type FieldsOfValue = Pick<CatalogRoute["parameters"][number], "parameter" | "value" | "fields">;

/** What every request has, and what each parameter is there; a value that the catalogue does not map goes as it is. */
function fieldsAt(
  { parameters: rows }: { readonly parameters: readonly FieldsOfValue[] },
  parameters: Parameters,
): JsonObject {
  const fields: JsonObject = Object.assign(
    {},
    ...rows.flatMap((row) => (row.parameter === "" ? [row.fields] : [])),
  );
  for (const [parameter, value] of Object.entries(parameters)) {
    if (value === undefined) continue;
    const row = rows.find((each) => each.parameter === parameter && each.value === String(value));
    Object.assign(fields, row?.fields ?? { [parameter]: value });
  }
  return fields;
}

/** The variable that would switch a provider on, for the operator's log. */
function credentialOf(provider: string): string {
  const definition = mediaProviders.find(({ name }) => name === provider);
  return definition?.credential ?? `(none for ${provider})`;
}
