// VideoFile accepts bytes as a video if their first box is that of an MP4. The provider's declared type does not
// count. A video is hosted unchanged and never decoded here.

/** Major brands of other files that begin with the same box: pictures, sound, QuickTime. */
const OTHER_BRANDS = new Set([
  "avif",
  "avis",
  "heic",
  "heix",
  "mif1",
  "msf1",
  "crx ",
  "M4A ",
  "M4B ",
  "qt  ",
]);
/** Number of bytes that the check needs. */
const HEAD_BYTES = 12;

export class InvalidVideoError extends Error {
  override readonly name = "InvalidVideoError";
}

/** Passes the bytes through after the check. @throws InvalidVideoError during the read */
export async function* mp4Only(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let head: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of chunks) {
    if (head === undefined) {
      yield chunk;
      continue;
    }
    head = Buffer.concat([head, chunk]);
    if (head.length < HEAD_BYTES) continue;
    if (!isMp4(head)) break;
    yield head;
    head = undefined;
  }
  if (head !== undefined) throw new InvalidVideoError("the bytes are no MP4 video");
}

function isMp4(head: Buffer): boolean {
  const isFileType = head.toString("latin1", 4, 8) === "ftyp";
  return isFileType && !OTHER_BRANDS.has(head.toString("latin1", 8, HEAD_BYTES));
}
