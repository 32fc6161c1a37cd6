// What a caller has removed: of a generation that has ended its files and its prompt; one that runs is given up, and whoever
// works on it removes what comes of it.
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
  readonly work: Pick<MediaWork, "giveUp">;
}

/**
 * The files go last, so that whoever is told of an error can repeat it. Of one that runs they go when it has ended.
 * @throws ServiceError when it is not in the log, and while its caller waits for it
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
  // Another process finds out when it next renews its leases.
  if (removed === "running") work.giveUp(id);
  else await deleteMedia(storage, entry.outputs);
  if (!entry.deleted) events.contentRemoved(entry);
  return { id, removed };
}
