// ProviderDefinition describes one provider in its adapter's folder: its variables, its switch, its abilities, its
// simulation. This module and the launchers read these facts from the definition only.
import type { ProviderAbility } from "@gr/models";
import { z } from "zod";
import type { Outbound } from "./outbound.ts";
import type { JobKind, MediaProvider } from "./provider.ts";

export interface ProviderMaterial<Settings> {
  /** The value of the provider's `credential`. */
  readonly secret: string;
  readonly settings: Settings;
  readonly outbound: Outbound;
}

export interface ProviderDefinition<Shape extends z.ZodObject = z.ZodObject> {
  /** Name in the catalogue's routes. */
  readonly name: string;
  /** Abilities of the configured provider. Models that need any other ability are not offered. */
  readonly abilities: readonly ProviderAbility[];
  /** Cost information in the provider's answers, for operators, shown in docs/operations.md. */
  readonly reports: { readonly [Kind in JobKind]?: "cost" | "tokens" | "tokens of some models" | "nothing" };
  /** Variables of the provider. If any of them is set, the provider itself is used and not its simulator. */
  readonly settings: Shape;
  /** The variable among them without which the provider is off. */
  readonly credential: keyof z.infer<Shape> & string;
  /** Variables with addresses of the provider's API, each with its path at the simulator, if simulated. */
  readonly baseUrls: {
    readonly [Variable in keyof z.infer<Shape> & string]?: { simulatedAt?: `/${string}` };
  };
  create(material: ProviderMaterial<z.infer<Shape>>): MediaProvider;
}

/** The variable of an address of an API. */
export function baseUrl(usual: string) {
  return z
    .url({ protocol: /^https?$/, error: "must be an http:// or https:// URL" })
    .default(usual)
    .describe("address of the provider's API");
}

/** Types the argument of `create` by the provider's own settings. A list holds providers of different shapes. */
export function defineProvider<Shape extends z.ZodObject>(
  provider: ProviderDefinition<Shape>,
): ProviderDefinition {
  return provider as unknown as ProviderDefinition;
}
