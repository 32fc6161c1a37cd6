// Follows a job that waits for a slot at the provider to its end, as services/media-generation/src/run-job.ts: what the
// row says of it comes before each poll, so that another process can go on with it. Out of time, it is cancelled.
import type { Router } from "./router.ts";
import type { Steps } from "./task.ts";
import { HOLD_GRACE_MS, POLL_PAUSE_MS } from "./timing.ts";
import type { UpstreamReply } from "./upstream.ts";

/** "out of time": the job may still end in any way. "not saved": nothing is known, and the row is left to its lease. */
export type Followed = UpstreamReply | "out of time" | "not saved";

/** @param first before the first poll */
export function* followJob(router: Router, hold: number, deadlineAt: number, first: number): Steps<Followed> {
  const { rows, world, process, upstream } = router;
  let pause = first;
  for (;;) {
    const saved = rows.run(() => rows.saveOperation(hold, router));
    yield;
    if (saved.reply === undefined) return "not saved";
    world.current().sleep(pause);
    yield;
    if (process.clock >= deadlineAt - HOLD_GRACE_MS) {
      upstream.cancel(hold);
      return "out of time";
    }
    const polled = upstream.poll(hold);
    yield;
    // A poll that fails says nothing about the job.
    if (polled.reply === undefined) pause *= 2;
    else if (polled.reply !== "pending") return polled.reply;
    else pause = POLL_PAUSE_MS;
  }
}
