// Job fields are parameters under our own names, if the catalogue's route did not rename them for the provider.
// Adapters translate these fields themselves and send all others unchanged.
import type { JsonObject } from "@bufbuild/protobuf";
import { parseSize, type Size } from "@gr/models";

export interface ParsedFields {
  /** Width and height, in pixels. */
  readonly size: Size | undefined;
  readonly seconds: number | undefined;
  readonly audio: boolean | undefined;
  /** Parameters that already have the provider's names. */
  readonly others: JsonObject;
}

export function readJobFields(fields: JsonObject): ParsedFields {
  const { size, seconds, audio, ...others } = fields;
  const length = Number(seconds ?? Number.NaN);
  return {
    size: typeof size === "string" ? parseSize(size) : undefined,
    seconds: Number.isInteger(length) ? length : undefined,
    audio: audio === undefined ? undefined : String(audio) === "true",
    others,
  };
}
