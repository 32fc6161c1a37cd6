// Chooses the routes of a model: those with a provider configured here, in the catalogue's order.
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
  /** Cost price of the provider in the catalogue; undefined: the list price. */
  readonly cost: Price | undefined;
  /** The request's parameters under the provider's names. */
  readonly fields: JsonObject;
}

/** Parameters of the request with every "auto" resolved; undefined: the model has no such parameter. */
export type Parameters = Readonly<Record<string, string | number | boolean | undefined>>;

/**
 * Skips routes that cannot generate the size and routes that lose money. A missing provider is logged for the
 * operator, not sent to the client.
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
    return adapter?.kinds[kind] === undefined ? [] : { route, adapter };
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
    const message = `No provider that is available here generates the size ${size} of the model "${model.id}".`;
    throw new ServiceError("invalid_value", message, { param: "size" });
  }
  events.noProvider(model.id, [...new Set(model.routes.map((route) => credentialOf(route.provider)))]);
  throw new ServiceError("provider_unavailable", unavailable);
}

type FieldsOfValue = Pick<CatalogRoute["parameters"][number], "parameter" | "value" | "fields">;

/** Returns the fixed fields and the fields of each parameter. A value without a mapping is sent unchanged. */
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

/** Name of the variable that would enable a provider, for the operator's log. */
function credentialOf(provider: string): string {
  const definition = mediaProviders.find(({ name }) => name === provider);
  return definition?.credential ?? `(none for ${provider})`;
}
