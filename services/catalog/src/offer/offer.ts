// The part of the seed, and of an operator's own catalogue, that this router can serve. A model is offered when a provider
// makes its kind here. An ability of it is promised when one of these providers has it.
import { clone } from "@bufbuild/protobuf";
import { needsImage, type ProviderAbility, TAKES_IMAGES } from "@gr/models";
import { type Model, ModelKind, ModelSchema } from "@gr/proto/catalog";

/** What each provider can do here. */
export type MediaProviders = ReadonlyMap<string, ReadonlySet<ProviderAbility>>;

const IMAGE_PARAMETERS: ReadonlySet<string> = new Set(["image", "mask"]);

export interface Offer {
  readonly models: readonly Model[];
  /** Ids that are not listed, whoever has them. */
  readonly hidden: ReadonlySet<string>;
}

/** The models that can be asked for here, each with the abilities that it has here. */
export function offeredModels(models: readonly Model[], providers: MediaProviders): Model[] {
  return models.flatMap((model) => offered(model, providers) ?? []);
}

function offered(model: Model, providers: MediaProviders): Model | undefined {
  // Its route is the text upstream, which is there or the model would not be.
  if (model.kind === ModelKind.TEXT) return model;
  const makes = model.kind === ModelKind.VIDEO ? "video" : "image";
  const can = (provider: string, ability: ProviderAbility) => providers.get(provider)?.has(ability) === true;
  const serving = model.routes.filter(({ provider }) => can(provider, makes));
  if (serving.length === 0) return undefined;
  const taking = serving.filter(({ provider }) => can(provider, "image-input"));
  const takesImages = model.capabilities.some((capability) => TAKES_IMAGES.has(capability));
  // Where only some routes take images, the others are dropped: what is possible must not depend on the route that serves.
  if (!takesImages || taking.length > 0) {
    return withRoutes(model, takesImages ? taking : serving);
  }
  if (needsImage(model)) return undefined;
  const reduced = withRoutes(model, serving);
  reduced.capabilities = model.capabilities.filter((capability) => !TAKES_IMAGES.has(capability));
  reduced.supportedParameters = model.supportedParameters.filter((name) => !IMAGE_PARAMETERS.has(name));
  if (reduced.limits !== undefined) reduced.limits.inputImages = 0;
  return reduced;
}

function withRoutes(model: Model, routes: Model["routes"]): Model {
  const copy = clone(ModelSchema, model);
  copy.routes = routes;
  return copy;
}
