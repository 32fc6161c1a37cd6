// Removes the files of generations that have been kept as long as they were to be. The row is marked when they are gone, so
// that a crash in between leaves nothing behind: the next round removes them again, which changes nothing.
import type { Clock } from "@gr/runtime";
import { deleteMedia } from "../storage/delete-media.ts";
import type { MediaStorage } from "../storage/media-storage.ts";
import type { RetentionEvents } from "./retention-events.ts";
import type { Days, RetentionStore } from "./retention-store.ts";

const AT_ONCE = 100;

export interface ExpireDeps {
  readonly retention: Pick<RetentionStore, "findExpired" | "markExpired">;
  readonly storage: Pick<MediaStorage, "delete">;
  readonly events: RetentionEvents;
  readonly clock: Clock;
  /** Of accounts that have none of their own. */
  readonly days: Days;
}

/** One round over all that is over. Several processes may do it at once. */
export async function expireMedia(
  { retention, storage, events, clock, days }: ExpireDeps,
  stopping: AbortSignal,
): Promise<void> {
  while (!stopping.aborted) {
    const found = await retention.findExpired(days, clock.now(), AT_ONCE);
    const removals = found.map(async ({ id, outputs }) => {
      try {
        await deleteMedia(storage, outputs);
        return id;
      } catch (error) {
        events.notRemoved(id, error);
        return undefined;
      }
    });
    const gone = (await Promise.all(removals)).filter((id) => id !== undefined);
    await retention.markExpired(gone, clock.now());
    if (gone.length > 0) events.expired(gone.length);
    // What could not be removed is found again in the next round.
    if (found.length < AT_ONCE || gone.length < found.length) return;
  }
}
