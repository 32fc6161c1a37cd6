// Finishes media generations that were left open, as in services/media-generation/src/resolver.ts: settles from the row
// what was ended, looks up what nobody knows, frees holds that never got a row.
import { followJob } from "./follow-job.ts";
import type { Ending, Row } from "./generation-rows.ts";
import type { Router } from "./router.ts";
import { fail, finish, settle } from "./serve-media.ts";
import type { Steps } from "./task.ts";
import { HOLD_GRACE_MS } from "./timing.ts";

const UNBILLED_LOOK_UPS = 2;

export class MediaResolver {
  readonly #router: Router;

  constructor(router: Router) {
    this.#router = router;
  }

  *round(): Steps {
    const router = this.#router;
    const { rows, process, billing, ledger } = router;
    const due = rows.run(() => rows.takeDue(router));
    yield;
    for (const row of due.reply ?? []) process.run(this.#resolve(row));
    if (!ledger.anyExpired("media")) return;
    const leased = billing.lease("media");
    yield;
    for (const { hold } of leased.reply ?? []) process.run(this.#close(hold));
  }

  *#resolve(row: Row): Steps {
    const { leased, world, process, rows } = this.#router;
    const { hold, ending, queued, deadlineAt } = row;
    const timeLeft = deadlineAt - HOLD_GRACE_MS - process.clock;
    const resumed =
      ending === undefined && queued && (timeLeft > 0 || world.flaw === "job goes on out of time");
    if (ending === undefined && !resumed && !row.unknown) {
      const marked = rows.run(() => rows.markUnknown(hold, this.#router, false));
      yield;
      if (marked.reply === undefined) return;
    }
    leased.add(hold);
    if (ending !== undefined) {
      world.count("resolver: settled from a row");
      yield* settle(this.#router, hold, ending);
    } else if (resumed) yield* this.#resume(row);
    else yield* this.#lookUp(row);
    leased.delete(hold);
  }

  /** As resume-generation.ts: its caller is gone; what is hosted is charged, what was only to be handed over is not. */
  *#resume({ hold, request, deadlineAt }: Row): Steps {
    const router = this.#router;
    const { world } = router;
    world.count("resolver: job resumed");
    const reply = yield* followJob(router, hold, deadlineAt, 50);
    const done = typeof reply === "object" && reply.kind === "answer";
    if (done && request.ephemeral && world.flaw !== "ephemeral job charged after its process") {
      world.count("resolver: ephemeral job ended");
      yield* fail(router, hold, reply.cost ?? 0n);
      return;
    }
    if (done) world.count("resolver: resumed job ended");
    yield* finish(router, request, reply);
  }

  *#lookUp({ hold, deadlineAt, unbilledLookUps }: Row): Steps {
    const { world, upstream, rows, process } = this.#router;
    if (world.flaw === "blind release") {
      yield* this.#conclude(hold, { state: "unresolved", charge: 0n, cost: 0n });
      return;
    }
    const asked = upstream.lookUp(hold);
    yield;
    const found = asked.reply;
    if (typeof found === "bigint") {
      world.count("resolver: cost found");
      const charge = world.flaw === "resolver charges what it finds" ? 1n : 0n;
      yield* this.#conclude(hold, { state: charge > 0n ? "succeeded" : "failed", charge, cost: found });
      return;
    }
    const unbilled = found === "unknown";
    const overdue = process.clock >= deadlineAt;
    const enough = unbilledLookUps + 1 >= (world.flaw === "one look-up only" ? 1 : UNBILLED_LOOK_UPS);
    if (unbilled && ((overdue && enough) || world.flaw === "given up before the deadline")) {
      world.count("resolver: given up");
      yield* this.#conclude(hold, { state: "unresolved", charge: 0n, cost: 0n });
      return;
    }
    if (unbilled) world.count("resolver: not found, once");
    rows.run(() => rows.postpone(hold, this.#router, HOLD_GRACE_MS, unbilled));
    yield;
  }

  *#conclude(hold: number, ending: Ending): Steps {
    const { rows } = this.#router;
    const finished = rows.run(() => rows.finish(hold, this.#router, ending));
    yield;
    if (finished.reply === true) yield* settle(this.#router, hold, ending);
  }

  /** The row comes after the hold and before the call: a hold past its deadline without a row was never sent. */
  *#close(hold: number): Steps {
    const { rows, billing, world } = this.#router;
    const found = rows.run(() => rows.rows.get(hold) ?? "none");
    yield;
    if (found.reply === undefined) return;
    if (found.reply === "none") {
      world.count("resolver: hold without a row");
      yield* billing.insist({ kind: "release", hold, cost: 0n });
    } else if (found.reply.ending !== undefined) yield* settle(this.#router, hold, found.reply.ending);
  }
}
