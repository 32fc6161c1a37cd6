// Reads each chunk of a file when its client is ready for it. A Node stream reads one chunk ahead, which would double
// the memory of each client that requests a file and reads none of it.
import { type FileHandle, open } from "node:fs/promises";
import { Readable } from "node:stream";
import type { ByteRange } from "./byte-range.ts";

const CHUNK_BYTES = 64 * 1024;

/** Fails as `open` does. The file is open from the first requested byte to the end. */
export function readOnDemand(path: string, range?: ByteRange): Readable {
  let file: Promise<FileHandle> | undefined;
  let at = range?.start ?? 0;
  const end = range === undefined ? Number.POSITIVE_INFINITY : range.end + 1;
  return new Readable({
    highWaterMark: 0,
    read() {
      file ??= open(path);
      readChunk(file, at, Math.min(CHUNK_BYTES, end - at)).then(
        (chunk) => {
          at += chunk.length;
          this.push(chunk.length === 0 ? null : chunk);
        },
        (error: Error) => this.destroy(error),
      );
    },
    destroy(error, done) {
      if (file === undefined) done(error);
      else file.then((opened) => opened.close()).then(() => done(error), done);
    },
  });
}

/** @returns nothing at the end of the file, or if no byte is requested */
async function readChunk(file: Promise<FileHandle>, at: number, bytes: number): Promise<Buffer> {
  const opened = await file;
  const chunk = Buffer.allocUnsafeSlow(bytes);
  const { bytesRead } = await opened.read(chunk, 0, bytes, at);
  return chunk.subarray(0, bytesRead);
}
