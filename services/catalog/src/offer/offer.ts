// Offer is the part of the seed, and of an operator's own catalogue, that this router can serve. A model is offered if
// a provider here generates its kind. Its listed abilities are those of at least one of these providers.
import { clone } from "@bufbuild/protobuf";
import { needsImage, PARTIAL_IMAGE_PROVIDERS, type ProviderAbility, TAKES_IMAGES } from "@gr/models";
import { type Model, ModelKind, ModelSchema } from "@gr/proto/catalog";

/** Abilities of each provider here. */
export type MediaProviders = ReadonlyMap<string, ReadonlySet<ProviderAbility>>;

const IMAGE_PARAMETERS: ReadonlySet<string> = new Set(["image", "mask"]);

export interface Offer {
  readonly models: readonly Model[];
  /** Ids that are hidden, from any source. */
  readonly hidden: ReadonlySet<string>;
}

/** Returns the models that can be requested here, each with its abilities here. */
export function offeredModels(models: readonly Model[], providers: MediaProviders): Model[] {
  return models.flatMap((model) => offered(model, providers) ?? []);
}

function offered(model: Model, providers: MediaProviders): Model | undefined {
  // Its route is the text upstream, which exists if the model is listed.
  if (model.kind === ModelKind.TEXT) return model;
  const wanted = model.kind === ModelKind.VIDEO ? "video" : "image";
  const can = (provider: string, ability: ProviderAbility) => providers.get(provider)?.has(ability) === true;
  const serving = model.routes.filter(({ provider }) => can(provider, wanted));
  if (serving.length === 0) return undefined;
  const accepting = serving.filter(({ provider }) => can(provider, "image-input"));
  const acceptsImages = model.capabilities.some((capability) => TAKES_IMAGES.has(capability));
  // If only some routes accept images, the others are dropped: the abilities must not depend on the serving route.
  if (!acceptsImages || accepting.length > 0) {
    return withRoutes(model, acceptsImages ? accepting : serving);
  }
  if (needsImage(model)) return undefined;
  const reduced = withRoutes(model, serving);
  reduced.capabilities = model.capabilities.filter((capability) => !TAKES_IMAGES.has(capability));
  reduced.supportedParameters = reduced.supportedParameters.filter((name) => !IMAGE_PARAMETERS.has(name));
  if (reduced.limits !== undefined) reduced.limits.inputImages = 0;
  return reduced;
}

/** Only a provider that sends partial images keeps them as a parameter. */
function withRoutes(model: Model, routes: Model["routes"]): Model {
  const copy = clone(ModelSchema, model);
  copy.routes = routes;
  if (!routes.some(({ provider }) => PARTIAL_IMAGE_PROVIDERS.has(provider))) {
    copy.supportedParameters = copy.supportedParameters.filter((name) => name !== "partial_images");
  }
  return copy;
}
