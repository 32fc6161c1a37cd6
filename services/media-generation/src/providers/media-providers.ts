// The list of all providers with an adapter. Settings, launchers and the offers of the catalogue follow from the definition of
// each. Two places follow by hand: the key of the pods in `deploy/base/media-generation.yaml`, and the row of the abilities
// in `docs/operations.md`.
import { bfl } from "./bfl/bfl-definition.ts";
import { bytePlus } from "./byteplus/byteplus-definition.ts";
import { fal } from "./fal/fal-definition.ts";
import { gemini } from "./gemini/gemini-definition.ts";
import { openAi } from "./openai/openai-definition.ts";
import { openRouter } from "./openrouter/openrouter-definition.ts";
import type { ProviderDefinition } from "./provider-definition.ts";
import { replicate } from "./replicate/replicate-definition.ts";
import { runware } from "./runware/runware-definition.ts";
import { together } from "./together/together-definition.ts";
import { xai } from "./xai/xai-definition.ts";

export const mediaProviders: readonly ProviderDefinition[] = [
  openAi,
  gemini,
  xai,
  together,
  bytePlus,
  bfl,
  fal,
  replicate,
  runware,
  openRouter,
];
