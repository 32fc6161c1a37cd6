// A clock whose sleeper is not woken while there is nothing to do. A round that finds nothing has no effect, and most rounds
// find nothing: leaving them out saves most of the time, and a history can come to rest.
import type { Timer } from "@gr/runtime";
import type { Life } from "./process.ts";

/** @param work by the length of a pause between rounds: whether the next round would find anything */
export function idleRounds(life: Life, work: ReadonlyMap<number, () => boolean>): Timer {
  const { world } = life;
  return {
    now: () => life.now(),
    sleep: (ms, signal) => {
      const wanted = work.get(ms);
      if (wanted === undefined) return life.sleep(ms, signal);
      const waiting = life.wait<void>();
      const wake = () => {
        if (!life.alive) return;
        if (wanted()) waiting.settle();
        else world.afterInBackground(ms, wake);
      };
      world.afterInBackground(ms, wake);
      return waiting.promise;
    },
  };
}
