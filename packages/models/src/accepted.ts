// What may be asked of a model together, and what "auto" stands for there. The list, the services that serve it and the seed's
// checks all ask here.
import type { Model } from "@gr/proto/catalog";

export interface AskedTogether {
  /** Every "auto" resolved; absent = the model takes none. */
  readonly size?: string | undefined;
  readonly quality?: string | undefined;
  readonly seconds?: number | undefined;
  readonly inputImages?: number | undefined;
}

/** Whether the model sells these values together; each of them alone has to be accepted besides. */
export function acceptsTogether(
  { combinations }: Pick<Model, "combinations">,
  asked: AskedTogether,
): boolean {
  if (combinations.length === 0) return true;
  const brought = asked.inputImages ?? 0;
  const brings = brought > 0;
  return combinations.some(
    ({ sizes, qualities, seconds, inputImages, maxInputImages }) =>
      isOneOf(sizes, asked.size) &&
      isOneOf(qualities, asked.quality) &&
      isOneOf(seconds, asked.seconds) &&
      (inputImages ?? brings) === brings &&
      (maxInputImages === 0 || brought <= maxInputImages),
  );
}

export interface DefaultValues {
  /** Empty or 0 = the model ignores the parameter. */
  readonly size: string;
  readonly quality: string;
  readonly seconds: number;
}

/** What "auto" and an absent parameter stand for in a request that brings so many images along. */
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

/** An empty list has every value. */
function isOneOf<Value>(values: readonly Value[], value: Value | undefined): boolean {
  return values.length === 0 || (value !== undefined && values.includes(value));
}
