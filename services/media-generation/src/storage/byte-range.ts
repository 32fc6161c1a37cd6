// ByteRange reads the Range header of a GET, as far as we support it: one range of bytes (RFC 9110 §14).

/** Both ends inclusive. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * @returns undefined if the whole file is to be sent: no header, another unit, several ranges, or invalid text;
 * "unsatisfiable" if the range is outside the file.
 */
export function readByteRange(
  header: string | undefined,
  size: number,
): ByteRange | "unsatisfiable" | undefined {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? "");
  if (match === null) return undefined;
  const [, first = "", last = ""] = match;
  if (first === "" && last === "") return undefined;
  if (first === "") {
    const length = Math.min(Number(last), size);
    return length === 0 ? "unsatisfiable" : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  const end = last === "" ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== "" && Number(last) < start) return undefined;
  return start >= size ? "unsatisfiable" : { start, end };
}
