// Modules of media generation beside its crashes: the service and its edge. Billing and the catalogue are remote. Besides the real
// providers there is one with a queue.
import type { Module } from "@gr/runtime";
import { defineMediaGeneration } from "../module.ts";
import { createProviders } from "../providers/configured-providers.ts";
import { edgeModule } from "./edge.ts";
import { queueProvider } from "./queue-provider.ts";

const media = defineMediaGeneration((config, outbound) => {
  const providers = [...createProviders(config, outbound).values()];
  const lookUp = providers[0]?.lookUp;
  const { OPENAI_BASE_URL: url }: Readonly<Record<string, unknown>> = config;
  const queue = queueProvider({ url: String(url), secret: "sandbox", outbound, lookUp });
  return new Map([...providers, queue].map((each) => [each.name, each]));
});

export const crashModules: readonly Module[] = [media, edgeModule];
