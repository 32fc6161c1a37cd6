// Which bytes are taken for a video: an MP4 by its first box, whatever the provider calls them. A video is hosted as it came;
// nobody decodes it here.

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
/** As many bytes as have to be there to tell. */
const HEAD_BYTES = 12;

export class InvalidVideoError extends Error {
  override readonly name = "InvalidVideoError";
}

/** Hands the bytes on once enough have come to tell. @throws InvalidVideoError while it is read */
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
