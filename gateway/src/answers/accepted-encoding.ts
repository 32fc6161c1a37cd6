// accepted-encoding selects the encoding of an answer: Brotli before gzip, of those that the client names. Only the
// beginning of a long header is read, since it is the client's text.
import { constants } from "node:zlib";

export type Encoding = "br" | "gzip";

/** Encodings that are read of one header. */
const MOST_NAMED = 32;
/** Best first. */
const ENCODINGS: readonly Encoding[] = ["br", "gzip"];

/** @returns undefined if the answer stays unencoded */
export function acceptedEncoding(header: string | undefined): Encoding | undefined {
  if (header === undefined) return undefined;
  const accepted = new Set(
    header.split(",", MOST_NAMED).flatMap((part) => {
      const [name = "", ...parameters] = part.split(";", MOST_NAMED);
      return parameters.some(isRefusal) ? [] : [name.trim().toLowerCase()];
    }),
  );
  return ENCODINGS.find((encoding) => accepted.has(encoding));
}

function isRefusal(parameter: string): boolean {
  const [name = "", value = ""] = parameter.split("=", 2);
  return name.trim().toLowerCase() === "q" && Number(value) === 0;
}

/** Returns options of zlib. @param bytes length of the uncompressed answer. @param quality 0 to 11 */
export function brotliOptions(bytes: number, quality: number, windowBits: number) {
  return {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: quality,
      [constants.BROTLI_PARAM_LGWIN]: windowBits,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes,
    },
  };
}
