// A media request step by step, as in services/media-generation (generate-images.ts, end-generation.ts, settle.ts): hold,
// row, provider, end of the row, capture, answer. On every path the row decides first.

import { type Followed, followJob } from "./follow-job.ts";
import type { Ending } from "./generation-rows.ts";
import { checkDispatch, violated } from "./invariants.ts";
import type { Answer, Request } from "./request.ts";
import type { Router } from "./router.ts";
import { answerOf } from "./serve-text.ts";
import type { Steps } from "./task.ts";
import { HOLD_GRACE_MS, POLL_PAUSE_MS } from "./timing.ts";

export function* serveMedia(router: Router, request: Request, answer: (answer: Answer) => void): Steps {
  router.leased.add(request.hold);
  answer(yield* generate(router, request));
  router.leased.delete(request.hold);
}

function* generate(router: Router, request: Request): Steps<Answer> {
  const { billing, rows, upstream, world, ledger } = router;
  const { hold } = request;
  const place = router.placeOf(request);
  const placed = billing.post(place);
  yield;
  const outcome = placed.reply;
  if (outcome === undefined) {
    router.releaseUnsent(hold);
    return { kind: "failed" };
  }
  router.countRefusal(outcome);
  if (outcome.code === "claim finished") return yield* replay(router, hold, outcome.earlierHold ?? -1);
  if (outcome.code !== "done") return { kind: "refused", code: outcome.code };
  const late = world.flaw === "row after the call";
  if (!late && !(yield* insert(router, request, place.deadlineAt))) return { kind: "failed" };
  // The work must be over before the grace begins.
  if (router.process.clock >= place.deadlineAt - HOLD_GRACE_MS) {
    const marked = rows.run(() => rows.markUnknown(hold, router, true));
    yield;
    return marked.reply === undefined ? { kind: "unknown" } : { kind: "failed" };
  }
  checkDispatch(ledger, hold);
  const sent = upstream.send(request);
  yield;
  if (late && !(yield* insert(router, request, place.deadlineAt))) return { kind: "failed" };
  if (sent.reply?.kind !== "queued") return yield* finish(router, request, sent.reply);
  const followed = yield* followJob(router, hold, place.deadlineAt, POLL_PAUSE_MS);
  return yield* finish(router, request, followed);
}

function* insert(router: Router, request: Request, deadlineAt: number): Steps<boolean> {
  const { rows } = router;
  const { hold } = request;
  const inserted = rows.run(() => rows.insert(request, deadlineAt, router));
  yield;
  if (inserted.reply !== undefined) return true;
  router.releaseUnsent(hold);
  return false;
}

/** @param reply undefined when nobody knows the outcome */
export function* finish(router: Router, request: Request, reply: Followed | undefined): Steps<Answer> {
  if (reply === "not saved") return { kind: "unknown" };
  if (reply === "out of time") return yield* leaveUnknown(router, request, true);
  const { world } = router;
  const { hold, credits } = request;
  switch (reply?.kind) {
    case "answer":
      if (!request.ephemeral || router.running.has(request)) request.delivered = true;
      if (world.flaw === "client who leaves is released" && request.left) {
        return yield* fail(router, hold, 0n);
      }
      return yield* succeed(router, hold, { state: "succeeded", charge: credits, cost: reply.cost ?? 0n });
    case "refused":
    case "not sent":
      return yield* fail(router, hold, 0n);
    case "failed":
      return yield* fail(router, hold, world.flaw === "failed cost dropped" ? 0n : reply.cost);
    default:
      if (world.flaw === "release on a lost answer") return yield* fail(router, hold, 0n);
      return yield* leaveUnknown(router, request, false);
  }
}

/** Should this fail, the lease runs out and the row is found all the same. */
function* leaveUnknown(router: Router, { hold }: Request, outOfTime: boolean): Steps<Answer> {
  const { rows, world } = router;
  const marked = rows.run(() => rows.markUnknown(hold, router, outOfTime));
  yield;
  // Whoever has the row by now may go on with its job, and charge for it.
  const passed = marked.reply === false || (outOfTime && marked.reply === undefined);
  return { kind: passed && world.flaw !== "row that had passed is a failure" ? "unknown" : "failed" };
}

function* succeed(router: Router, hold: number, ending: Ending): Steps<Answer> {
  const { rows, world } = router;
  const finished = rows.run(() => rows.finish(hold, router, ending));
  yield;
  if (finished.reply !== true) {
    world.count("outcomes unknown to the client");
    return { kind: "unknown" };
  }
  if (world.flaw === "answer before the capture") {
    router.process.run(settleLater(router, hold, ending));
    return { kind: "ok", charge: ending.charge };
  }
  return answerOf(router, yield* settle(router, hold, ending), ending.charge);
}

function* settleLater(router: Router, hold: number, ending: Ending): Steps {
  yield* settle(router, hold, ending);
}

export function* fail(router: Router, hold: number, cost: bigint): Steps<Answer> {
  const { rows } = router;
  const ending: Ending = { state: "failed", charge: 0n, cost };
  const finished = rows.run(() => rows.finish(hold, router, ending));
  yield;
  if (finished.reply === true) yield* settle(router, hold, ending);
  return { kind: "failed" };
}

/** Books the end that the row records; may be repeated. @returns what billing said, undefined when it is not known */
export function* settle(router: Router, hold: number, ending: Ending): Steps<string | undefined> {
  const { billing, rows } = router;
  const { charge: credits, cost } = ending;
  const outcome =
    ending.state === "succeeded"
      ? yield* billing.insist({ kind: "capture", hold, credits, cost })
      : yield* billing.insist({ kind: ending.state === "failed" ? "release" : "abandon", hold, cost });
  if (outcome === undefined) return undefined;
  rows.run(() => rows.markSettled(hold));
  yield;
  return outcome.code;
}

/** The answer follows from the row and its files. */
function* replay({ rows, world }: Router, hold: number, earlier: number): Steps<Answer> {
  const found = rows.run(() => rows.rows.get(earlier)?.ending?.state ?? "none");
  yield;
  if (found.reply === undefined) return { kind: "failed" };
  if (found.reply !== "succeeded") throw violated("I8", `${hold} repeats ${earlier}, which has no answer`);
  world.count("answered from an earlier request");
  return { kind: "replayed", hold: earlier };
}
