// Timers without pauses between the polls of a job.
import type { Timer } from "@gr/runtime";

/** More polls than any script has entries. */
const MOST_POLLS = 100;

export const immediate: Timer = {
  now: () => Date.now(),
  sleep: () => new Promise((resolve) => setImmediate(resolve)),
};

/** Returns a timer that fails for an adapter that does not notice the end of its job. */
export function limitedTimer(): Timer {
  let polls = 0;
  const sleep: Timer["sleep"] = async (ms) => {
    polls += 1;
    if (polls > MOST_POLLS) throw new Error("the job is polled without an end");
    await immediate.sleep(ms);
  };
  return { ...immediate, sleep };
}
