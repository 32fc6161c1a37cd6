// What has to be known of a provider before it can be used, said by its adapter and nowhere else: the variables that
// configure it, the one that switches it on, what it then makes, and how it is simulated. This module and the launchers
// go by it.
import type { ProviderAbility } from "@gr/models";
import type { z } from "zod";
import type { Outbound } from "./outbound.ts";
import type { MediaProvider } from "./provider.ts";

export interface ProviderMaterial<Settings> {
  /** The value of the provider's `credential`. */
  readonly secret: string;
  readonly settings: Settings;
  readonly outbound: Outbound;
  readonly lookUp: MediaProvider["lookUp"] | undefined;
}

export interface ProviderDefinition<Shape extends z.ZodObject = z.ZodObject> {
  /** As the catalogue's routes name it. */
  readonly name: string;
  /** What it can do once it is switched on. Models that need anything else are not offered. */
  readonly abilities: readonly ProviderAbility[];
  /** Its variables. Setting any of them says that the provider itself is meant, not a simulator. */
  readonly settings: Shape;
  /** The variable among them without which the provider is off. */
  readonly credential: keyof z.infer<Shape> & string;
  /** The variable among them that says where its API is. */
  readonly baseUrl: keyof z.infer<Shape> & string;
  /** Where the simulator plays it; absent while it does not. */
  readonly simulatedAt?: `/${string}`;
  create(material: ProviderMaterial<z.infer<Shape>>): MediaProvider;
}

/** Gives `create` the type of its own settings; in a list, providers are of different shapes. */
export function defineProvider<Shape extends z.ZodObject>(
  provider: ProviderDefinition<Shape>,
): ProviderDefinition {
  return provider as unknown as ProviderDefinition;
}
