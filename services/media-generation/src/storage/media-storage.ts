// The port to wherever hosted files lie. A file is written once, whole, and never changed.
import type { Readable } from "node:stream";
import type { ByteRange } from "./byte-range.ts";

/** Names are checked by the callers (media-name.ts). */
export interface MediaStorage {
  /**
   * Resolves when the file is durable; a crash in between leaves no file under the name. Rejects with StorageError, or
   * as the pieces do.
   */
  put(name: string, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<void>;
  /** Size in bytes; undefined when there is no such file. Rejects with StorageError when nobody can tell. */
  size(name: string): Promise<number | undefined>;
  /** The file or a part of it. The stream fails when the file has gone meanwhile. */
  read(name: string, range?: ByteRange): Readable;
  /** Does nothing when there is no such file. */
  delete(name: string): Promise<void>;
  /** Removes what puts have left that a crash has ended. */
  sweep(): Promise<void>;
  /** Writes something small and removes it. Rejects when nothing can be stored. */
  check(): Promise<void>;
}

/** Nothing is wrong with what was to be stored. */
export class StorageError extends Error {
  override readonly name = "StorageError";
}
