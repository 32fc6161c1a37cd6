// ExpireMedia deletes the files of generations after their retention period. The row is marked after the deletion.
// After a crash in between, the next round deletes them again, which has no further effect.
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
  /** Retention of accounts without their own. */
  readonly days: Days;
}

/** Runs one round over all expired media. Several processes may run it at once. */
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
    // The next round finds files again that could not be deleted.
    if (found.length < AT_ONCE || gone.length < found.length) return;
  }
}
