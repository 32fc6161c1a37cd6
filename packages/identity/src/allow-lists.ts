// Allow-lists decide which models and providers a key may use. An id is compared after the resolution of a bare name.
// The rule is here alone: keys checks new lists with it, text-proxy and media-generation check requests, the catalogue
// filters its lists.
import { ServiceError } from "@gr/proto";
import type { AllowLists } from "./principal.ts";

/** Fields of a model that the lists are compared with. */
export interface RoutedModel {
  readonly id: string;
  readonly routes: readonly { readonly provider: string }[];
}

/** Returns true if a name of a list is the id, or the beginning of the id with * at the end. */
export function namesModel(name: string, id: string): boolean {
  return name.endsWith("*") ? id.startsWith(name.slice(0, -1)) : name === id;
}

/** Returns true if a key with these lists may use the model at one provider at least. */
export function allowsModel(lists: AllowLists | undefined, { id, routes }: RoutedModel): boolean {
  if (lists === undefined) return true;
  return allowsId(lists, id) && routes.some((route) => allowsRoute(lists, route));
}

/**
 * Returns the model with the routes that the key may use. All later steps see no other routes.
 * @throws ServiceError model_not_allowed
 */
export function requireAllowed<Model extends RoutedModel>(
  lists: AllowLists | undefined,
  model: Model,
): Model {
  if (lists === undefined) return model;
  if (!allowsId(lists, model.id)) throw refusal(`does not allow the model "${model.id}"`);
  if (lists.providers === undefined) return model;
  const routes = model.routes.filter((route) => allowsRoute(lists, route));
  if (routes.length === 0) throw refusal(`allows no provider of the model "${model.id}"`);
  return { ...model, routes };
}

function allowsId({ models }: AllowLists, id: string): boolean {
  return models === undefined || models.some((name) => namesModel(name, id));
}

function allowsRoute({ providers }: AllowLists, { provider }: RoutedModel["routes"][number]): boolean {
  return providers === undefined || providers.includes(provider);
}

function refusal(what: string): ServiceError {
  return new ServiceError("model_not_allowed", `The API key ${what}.`, { param: "model" });
}
