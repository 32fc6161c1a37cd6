// What has to be known of a provider before it can be used, said by its adapter and nowhere else: the variables that
// configure it, the one that switches it on, what it then makes, and how it is simulated. This module and the launchers
// go by it.
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
  /** As the catalogue's routes name it. */
  readonly name: string;
  /** What it can do once it is switched on. Models that need anything else are not offered. */
  readonly abilities: readonly ProviderAbility[];
  /** What its answers say about what they cost, for operators to read in docs/operations.md. */
  readonly reports: { readonly [Kind in JobKind]?: "cost" | "tokens" | "tokens of some models" | "nothing" };
  /** Its variables. Setting any of them says that the provider itself is meant, not a simulator. */
  readonly settings: Shape;
  /** The variable among them without which the provider is off. */
  readonly credential: keyof z.infer<Shape> & string;
  /** The variables among them that say where its API is, each with where the simulator plays it, if it does. */
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

/** Gives `create` the type of its own settings; in a list, providers are of different shapes. */
export function defineProvider<Shape extends z.ZodObject>(
  provider: ProviderDefinition<Shape>,
): ProviderDefinition {
  return provider as unknown as ProviderDefinition;
}
