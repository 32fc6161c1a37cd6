// What was made, as bytes for an answer: from memory, or from where it is hosted.
import { buffer } from "node:stream/consumers";
import type { MadeFile } from "../generation/generation.ts";
import type { MemoryPlaces } from "../generation/memory-places.ts";
import type { MediaStorage } from "../storage/media-storage.ts";

export interface ReadFilesDeps {
  readonly storage: Pick<MediaStorage, "read">;
  readonly memory: MemoryPlaces;
}

export async function readFiles(
  { storage, memory }: ReadFilesDeps,
  files: readonly MadeFile[],
): Promise<Buffer[]> {
  if (files.length > 0) await memory.take();
  return Promise.all(
    files.map((file) => ("bytes" in file ? file.bytes : buffer(storage.read(file.storedAs)))),
  );
}
