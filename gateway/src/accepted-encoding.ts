// Which encoding an answer gets: Brotli before gzip, of those that the client names. Only the beginning of a long
// header is read, since it is the client's text.
import { constants } from "node:zlib";

export type Encoding = "br" | "gzip";

/** Of a header, so many encodings are read. */
const MOST_NAMED = 32;
/** Best first. */
const ENCODINGS: readonly Encoding[] = ["br", "gzip"];

/** @returns undefined when the answer is to be sent as it is */
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

/** Options of zlib. @param bytes length of what is compressed. @param quality 0 to 11 */
export function brotliOptions(bytes: number, quality: number, windowBits: number) {
  return {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: quality,
      [constants.BROTLI_PARAM_LGWIN]: windowBits,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes,
    },
  };
}
