// The part of the seed that this router can serve. A model is offered when a provider makes its kind here. An ability of
// it is promised when one of these providers has it.
import { clone } from "@bufbuild/protobuf";
import type { ProviderAbility } from "@gr/models";
import { type Model, ModelKind, ModelSchema } from "@gr/proto/catalog";

/** What each provider can do here. */
export type MediaProviders = ReadonlyMap<string, ReadonlySet<ProviderAbility>>;

/** Abilities that need images in the request. */
export const TAKES_IMAGES: ReadonlySet<string> = new Set([
  "image-edit",
  "mask",
  "multi-reference",
  "image-variation",
  "upscale",
  "vectorize",
  "reframe",
  "background-removal",
  "background-replace",
  "image-to-video",
  "first-last-frame",
  "reference-to-video",
]);
const IMAGE_PARAMETERS: ReadonlySet<string> = new Set(["image", "mask"]);
/** Abilities that need nothing but words. */
const FROM_WORDS: ReadonlySet<string> = new Set(["text-to-image", "text-to-video"]);

/** Whether a request must bring an image along. */
export function needsImage({ kind, capabilities }: Model): boolean {
  return kind !== ModelKind.TEXT && !capabilities.some((capability) => FROM_WORDS.has(capability));
}

/** The models that can be asked for here, each with the abilities that it has here. */
export function offeredModels(seed: readonly Model[], providers: MediaProviders): Model[] {
  return seed.flatMap((model) => offered(model, providers) ?? []);
}

function offered(model: Model, providers: MediaProviders): Model | undefined {
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
