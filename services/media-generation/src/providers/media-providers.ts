// Every provider that there is an adapter for. Whoever adds one adds it here; settings, what the launchers do with them
// and what the catalogue offers follow from its definition.
import { openAi } from "./openai/openai-definition.ts";
import type { ProviderDefinition } from "./provider-definition.ts";

export const mediaProviders: readonly ProviderDefinition[] = [openAi];
