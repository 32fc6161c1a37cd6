// Parameters of a job that the catalogue's route has not put into the provider's words arrive in ours. Adapters take
// these out and say them as their provider does; all others are sent as they are.
import type { JsonObject } from "@bufbuild/protobuf";
import { parseSize, type Size } from "@gr/models";

export interface JobFields {
  /** In pixels. */
  readonly size: Size | undefined;
  readonly seconds: number | undefined;
  readonly audio: boolean | undefined;
  /** What the provider calls so, too. */
  readonly others: JsonObject;
}

export function readJobFields(fields: JsonObject): JobFields {
  const { size, seconds, audio, ...others } = fields;
  const length = Number(seconds ?? Number.NaN);
  return {
    size: typeof size === "string" ? parseSize(size) : undefined,
    seconds: Number.isInteger(length) ? length : undefined,
    audio: audio === undefined ? undefined : String(audio) === "true",
    others,
  };
}
