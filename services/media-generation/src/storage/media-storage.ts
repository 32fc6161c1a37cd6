// MediaStorage is the port to the hosted files. A file is written once, whole, and never changed.
import type { Readable } from "node:stream";
import type { ByteRange } from "./byte-range.ts";

/** Names are checked before each call (media-name.ts). */
export interface MediaStorage {
  /**
   * Resolves when the file is durable. A crash before that stores no file under the name. Rejects with StorageError,
   * or with the error of the pieces.
   */
  put(name: string, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<void>;
  /** Size in bytes; undefined for a missing file. Rejects with StorageError if the size cannot be determined. */
  size(name: string): Promise<number | undefined>;
  /** Returns the file or a part of it. The stream fails if the file was deleted meanwhile. */
  read(name: string, range?: ByteRange): Readable;
  /** Ignores a missing file. */
  delete(name: string): Promise<void>;
  /** Deletes the remains of writes that ended in a crash. */
  sweep(): Promise<void>;
  /** Writes a small file and deletes it. Rejects if nothing can be stored. */
  check(): Promise<void>;
}

/** A failure of the storage. The content is not the cause. */
export class StorageError extends Error {
  override readonly name = "StorageError";
}
