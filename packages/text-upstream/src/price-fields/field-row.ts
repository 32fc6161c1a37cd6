// Field rows form the table of request fields: each row states the effect of a field on the price, and its source.
import type { KindName } from "../upstream-kind.ts";

/** Name of an effect in the price list, so that a request with it can be held and charged. */
export type Priced =
  /** The tokens that the effect adds are held, reported and charged as all others. */
  | { readonly as: "tokens" }
  /** Rates of the service tier that the value names. */
  | { readonly as: "tier" }
  /** Rates of this tier. */
  | { readonly as: "fixed_tier"; readonly tier: string }
  | {
      readonly as: "meter";
      readonly meter: "long_cache_write" | "audio_input" | "audio_output" | "image_output";
    }
  /** A fee for each call, under this name in the price list. */
  | { readonly as: "tool"; readonly call: string };

/** Addition to the body, so that the upstream itself ends below the hold. */
export type Bound =
  /** `service_tier: "default"`, since the upstream's own default is a setting of the account there. */
  | "standard_tier"
  /** `provider.max_price`: excludes hosts that cost more. */
  | "max_price"
  /** `stop_server_tools_when` with the amount of the hold. */
  | "server_tool_cost";

export type Treatment =
  | { readonly kind: "harmless" }
  | { readonly kind: "priced"; readonly by: Priced }
  | { readonly kind: "bounded"; readonly by: Bound }
  /** @param remedy continues the sentence: The field "n" is refused: … */
  | { readonly kind: "refused"; readonly remedy: string };

export interface FieldRow {
  /** Path from the body: `tools[].type`. A field that is null counts as absent. */
  readonly field: string;
  /** The row is for these values; one that ends in * is a prefix. Absent = for all that no earlier row is for. */
  readonly values?: readonly string[];
  /** The row is for these kinds of upstreams. Absent = for all. */
  readonly kinds?: readonly KindName[];
  readonly treatment: Treatment;
  readonly source: string;
  /** ISO date on which the source was read. */
  readonly asOf: string;
}

/** One field of a request with the value that decides. */
export interface FieldFound {
  readonly field: string;
  /** Place of the field for an error message: `tools[2].type`. */
  readonly param: string;
  /** Empty for values that are neither text, number nor boolean. */
  readonly value: string;
}

export interface FieldRefusal {
  readonly param: string;
  /** Continues the sentence: The field "n" … */
  readonly problem: string;
}
