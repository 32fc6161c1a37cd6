// Writes down how far a request is when it has grown by a tenth, so that thousands of jobs that are polled do not write all the
// time.
import type { ProgressStore } from "./progress-store.ts";

const STEP = 10;

/** @param failed told when it could not be written: nothing depends on it */
export function reportProgress(
  id: string,
  store: ProgressStore,
  failed: (error: unknown) => void,
): (percent: number) => void {
  let written = 0;
  return (percent) => {
    if (percent < written + STEP) return;
    written = percent;
    store.save(id, percent).catch(failed);
  };
}
