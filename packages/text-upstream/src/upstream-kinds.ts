// All kinds of text upstreams, by name.
import { openAi, openAiCompatible } from "./openai.ts";
import { openRouter } from "./openrouter.ts";
import type { KindName, UpstreamKind } from "./upstream-kind.ts";
import { vercel } from "./vercel.ts";

export const UPSTREAM_KINDS: Readonly<Record<KindName, UpstreamKind>> = {
  openrouter: openRouter,
  vercel,
  openai: openAi,
  "openai-compatible": openAiCompatible,
};
