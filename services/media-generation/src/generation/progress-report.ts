// Progress is stored only after it has grown by a tenth, so that thousands of polled jobs do not write constantly.
import type { ProgressStore } from "./progress-store.ts";

const STEP = 10;

/** @param failed called after a failed write; the generation does not depend on it */
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
