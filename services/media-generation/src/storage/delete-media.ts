// Deletes hosted files together with their previews.
import { previewNameOf } from "./media-name.ts";
import type { MediaStorage } from "./media-storage.ts";

/** Ignores missing files. @param names of hosted files, without previews */
export async function deleteMedia(
  storage: Pick<MediaStorage, "delete">,
  names: readonly string[],
): Promise<void> {
  const all = names.flatMap((name) => [name, previewNameOf(name)]);
  await Promise.all(all.map((name) => storage.delete(name)));
}
