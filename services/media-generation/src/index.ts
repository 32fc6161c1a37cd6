// The media-generation module: images from providers, hosted media, the generation log.
export { mediaGenerationModule } from "./module.ts";
export { mediaProviders } from "./providers/media-providers.ts";
export type { ProviderDefinition as MediaProviderDefinition } from "./providers/provider-definition.ts";
