// Removes content for its client: of an ended generation the files and the prompt. A running one is cancelled, and its
// worker deletes its output at the end.
import { ServiceError } from "@gr/proto";
import type { GenerationEvents } from "../generation/events.ts";
import type { MediaWork } from "../generation/media-work.ts";
import { deleteMedia } from "../storage/delete-media.ts";
import type { MediaStorage } from "../storage/media-storage.ts";
import { readEntry } from "./log-query.ts";
import type { LogOwner, LogStore } from "./log-store.ts";

export interface RemovalDeps {
  readonly generationLog: Pick<LogStore, "find" | "removeContent">;
  readonly storage: Pick<MediaStorage, "delete">;
  readonly events: Pick<GenerationEvents, "contentRemoved">;
  readonly work: Pick<MediaWork, "cancel">;
}

/**
 * Deletes the files last, so that a client can retry after an error. A running
 * generation's files are deleted at its end.
 * @throws ServiceError if it is not in the log, or its client still waits for the answer
 */
export async function removeContent(
  { generationLog, storage, events, work }: RemovalDeps,
  caller: LogOwner,
  asked: string,
): Promise<{ id: string; removed: "ended" | "running" }> {
  const entry = await readEntry(generationLog, caller, asked);
  const { id } = entry;
  const removed = await generationLog.removeContent(entry);
  if (removed === undefined) {
    const message =
      "This generation is still running, and its caller waits for it; delete it when it has ended.";
    throw new ServiceError("generation_running", message, { param: "id" });
  }
  // Another process sees the deletion at its next renewal of leases.
  if (removed === "running") work.cancel(id);
  else await deleteMedia(storage, entry.outputs);
  if (!entry.deleted) events.contentRemoved(entry);
  return { id, removed };
}
