// Which encoding an answer gets: Brotli before gzip, of those that the client names. Read in linear time, since it is the
// client's text.
import { constants } from "node:zlib";

export type Encoding = "br" | "gzip";

/** Best first. */
const ENCODINGS: readonly Encoding[] = ["br", "gzip"];

/** @returns undefined when the answer is to be sent as it is */
export function acceptedEncoding(header: string | undefined): Encoding | undefined {
  if (header === undefined) return undefined;
  const accepted = new Set(
    header.split(",").flatMap((part) => {
      const [name = "", ...parameters] = part.split(";");
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
