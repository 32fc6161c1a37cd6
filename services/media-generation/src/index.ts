// The media-generation module: images from providers, hosted media, the generation log.
export { BYTES_PER_INPUT_BYTE, BYTES_PER_PLACE, memoryBudgetOf } from "./memory-budget.ts";
export { mediaGenerationModule } from "./module.ts";
export { mediaProviders } from "./providers/media-providers.ts";
export type { ProviderDefinition as MediaProviderDefinition } from "./providers/provider-definition.ts";
