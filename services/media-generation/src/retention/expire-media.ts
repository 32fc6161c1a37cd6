// Retention deletes the files of generations after their period, and once more those that a client removed. The row is marked after the
// deletion. After a crash in between, the next round deletes them again, which has no further effect.
import { deleteMedia } from "../storage/delete-media.ts";
import type { MediaStorage } from "../storage/media-storage.ts";
import type { RetentionEvents } from "./retention-events.ts";
import type { Days, Expired, RetentionStore } from "./retention-store.ts";

const AT_ONCE = 100;
/** A generation is shorter. Only a process that stood still for longer writes its files afterwards. */
const WRITTEN_FOR_MS = 86_400_000;

export interface ExpireDeps {
  readonly retention: Pick<RetentionStore, "findExpired" | "markExpired" | "findRemoved" | "markRemoved">;
  readonly storage: Pick<MediaStorage, "delete">;
  readonly events: RetentionEvents;
  /** Unix milliseconds. A time that is too late deletes files too early. */
  readonly now: number;
  /** Retention of accounts without their own. */
  readonly days: Days;
}

/** Runs one round over all expired media. Several processes may run it at once. */
export async function expireMedia(deps: ExpireDeps, stopping: AbortSignal): Promise<void> {
  const { retention, events, now, days } = deps;
  await deleteFound(deps, stopping, {
    find: () => retention.findExpired(days, now, AT_ONCE),
    mark: async (ids) => {
      await retention.markExpired(ids, now);
      if (ids.length > 0) events.expired(ids.length);
    },
  });
}

/**
 * Deletes the files of removed generations again, a day after the removal. A process that paused while another one finished the
 * generation may have written them in between, and died before it deleted them.
 */
export async function deleteRemovedAgain(deps: ExpireDeps, stopping: AbortSignal): Promise<void> {
  const { retention, now } = deps;
  await deleteFound(deps, stopping, {
    find: () => retention.findRemoved(now - WRITTEN_FOR_MS, AT_ONCE),
    mark: (ids) => retention.markRemoved(ids, now),
  });
}

interface Marked {
  readonly find: () => Promise<Expired[]>;
  readonly mark: (ids: readonly string[]) => Promise<void>;
}

async function deleteFound(
  { storage, events }: Pick<ExpireDeps, "storage" | "events">,
  stopping: AbortSignal,
  { find, mark }: Marked,
): Promise<void> {
  while (!stopping.aborted) {
    const found = await find();
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
    await mark(gone);
    // The next round finds files again that could not be deleted.
    if (found.length < AT_ONCE || gone.length < found.length) return;
  }
}
