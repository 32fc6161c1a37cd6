// Combinations decide which parameters a model accepts together, and the values of "auto".
// The model list, the services that serve the model and the seed's checks all use these functions.
import type { Model } from "@gr/proto/catalog";

export interface AskedTogether {
  /** Every "auto" resolved; absent = the model ignores it. */
  readonly size?: string | undefined;
  readonly quality?: string | undefined;
  readonly seconds?: number | undefined;
  readonly inputImages?: number | undefined;
}

/** Returns true if the model sells these values together. Each value must also be accepted alone. */
export function acceptsTogether(
  { combinations }: Pick<Model, "combinations">,
  asked: AskedTogether,
): boolean {
  if (combinations.length === 0) return true;
  const inputs = asked.inputImages ?? 0;
  const hasInput = inputs > 0;
  return combinations.some(
    ({ sizes, qualities, seconds, inputImages, maxInputImages }) =>
      isOneOf(sizes, asked.size) &&
      isOneOf(qualities, asked.quality) &&
      isOneOf(seconds, asked.seconds) &&
      (inputImages ?? hasInput) === hasInput &&
      (maxInputImages === 0 || inputs <= maxInputImages),
  );
}

export interface DefaultValues {
  /** Empty or 0 = the model ignores the parameter. */
  readonly size: string;
  readonly quality: string;
  readonly seconds: number;
}

/** Returns the values of "auto" and of absent parameters, for a request with this number of images. */
export function defaultsOf(
  model: Pick<Model, "defaultSize" | "defaultQuality" | "defaultSeconds" | "defaultWithImages">,
  inputImages: number,
): DefaultValues {
  const other = inputImages > 0 ? model.defaultWithImages : undefined;
  return {
    size: other?.size || model.defaultSize,
    quality: other?.quality || model.defaultQuality,
    seconds: other?.seconds || model.defaultSeconds,
  };
}

/** Returns true for a member; an empty list accepts every value. */
function isOneOf<Value>(values: readonly Value[], value: Value | undefined): boolean {
  return values.length === 0 || (value !== undefined && values.includes(value));
}
