// A text request step by step, as in services/text-proxy (serve-text.ts, serve-whole.ts, settle.ts, give-up.ts): hold,
// upstream, kept answer, capture, answer. Each `yield` is an await.
import type { PicoUsd } from "@gr/money";
import { checkDispatch, violated } from "./invariants.ts";
import type { Answer, Request } from "./request.ts";
import type { Router } from "./router.ts";
import type { Steps } from "./task.ts";
import { HOLD_GRACE_MS, UPSTREAM_TIMEOUT_MS, USAGE_LOOK_UPS_MS } from "./timing.ts";
import { chargeFor, metered, type UpstreamReply } from "./upstream.ts";

/** Share of requests of which more is reserved while they run. */
const GROWS = 0.2;
const MOST_GROWTH = 3;

export function* serveText(router: Router, request: Request, answer: (answer: Answer) => void): Steps {
  const { world, billing, upstream, ledger } = router;
  const placed = billing.post(router.placeOf(request));
  if (world.flaw === "dispatch before the hold") checkDispatch(ledger, request.hold);
  yield;
  const outcome = placed.reply;
  if (outcome === undefined) {
    // The hold may exist although its place was never answered.
    router.releaseUnsent(request.hold);
    answer({ kind: "failed" });
    return;
  }
  router.countRefusal(outcome);
  if (outcome.code === "claim finished") {
    answer(yield* replay(router, request, outcome.earlierHold ?? -1));
    return;
  }
  if (outcome.code !== "done") {
    answer({ kind: "refused", code: outcome.code });
    return;
  }
  if (request.left) {
    router.releaseUnsent(request.hold);
    return;
  }
  checkDispatch(ledger, request.hold);
  const sent = upstream.send(request);
  if (world.random.chance(GROWS)) router.process.run(extend(router, request));
  yield;
  answer(yield* finish(router, request, sent.reply));
}

/**
 * An extension names the new total, so it may be repeated, and one that came late names less than the hold has. It may
 * come when the hold is resolved already.
 */
function* extend({ world, process, billing }: Router, { hold, credits }: Request): Steps {
  const { random } = world;
  for (let growths = random.between(1, 2); growths > 0; growths -= 1) {
    const total = credits * BigInt(random.between(1, MOST_GROWTH));
    world.current().sleep(random.between(1, 4_000));
    yield;
    const deadlineAt = process.clock + UPSTREAM_TIMEOUT_MS + HOLD_GRACE_MS;
    yield* billing.insist({ kind: "extend", hold, credits: total, deadlineAt });
  }
}

function* finish(router: Router, request: Request, reply: UpstreamReply | undefined): Steps<Answer> {
  const { billing, world, text } = router;
  const { hold } = request;
  switch (reply?.kind) {
    case "answer":
      request.delivered = true;
      if (world.flaw === "client who leaves is released" && request.left) break;
      return yield* settle(router, request, reply.cost);
    case "refused":
    case "not sent":
      yield* billing.insist({ kind: "release", hold, cost: 0n });
      return { kind: "failed" };
    case "failed": {
      const cost = world.flaw === "failed cost dropped" ? 0n : reply.cost;
      yield* billing.insist({ kind: "release", hold, cost });
      return { kind: "failed" };
    }
    default:
      // Nobody knows whether it was billed: the hold waits for what a look-up says.
      if (world.flaw === "release on a lost answer") break;
      text.resolveSoon(hold);
      return { kind: "failed" };
  }
  yield* billing.insist({ kind: "release", hold, cost: 0n });
  return { kind: "failed" };
}

function* settle(router: Router, request: Request, told: PicoUsd | undefined): Steps<Answer> {
  const { billing, world } = router;
  const { hold, claim } = request;
  let cost = told ?? (world.flaw === "missing usage is zero" ? 0n : yield* findOut(router, request));
  if (cost === 0n && world.flaw === "zero usage is estimated") cost = metered(request);
  const credits = chargeFor(request, cost);
  const after = world.flaw === "answer kept after the capture";
  if (claim !== undefined && !after) {
    const kept = yield* billing.keepAnswer(hold, { credits, cost });
    // What we know of its cost is ours, whoever resolves the hold.
    if (kept === false) {
      yield* billing.insist({ kind: "release", hold, cost });
      return late(router);
    }
    if (kept === undefined) {
      world.count("outcomes unknown to the client");
      return { kind: "unknown" };
    }
  }
  if (world.flaw === "answer before the capture") {
    router.process.run(captureLater(router, hold, credits, cost));
    return { kind: "ok", charge: credits };
  }
  const captured = yield* billing.insist({ kind: "capture", hold, credits, cost });
  if (claim !== undefined && after) yield* billing.keepAnswer(hold, { credits, cost });
  const resolved = captured?.code === "already resolved";
  if (resolved && world.flaw !== "capture that came too late is an answer") return late(router);
  return answerOf(router, captured?.code, credits);
}

function late({ world }: Router): Answer {
  world.count("answers that came too late");
  return { kind: "late" };
}

function* captureLater(router: Router, hold: number, credits: bigint, cost: PicoUsd): Steps {
  yield* router.billing.insist({ kind: "capture", hold, credits, cost });
}

/** What a client is told after a capture: a hold that was resolved in another way was not charged. */
export function answerOf({ world }: Router, code: string | undefined, charge: bigint): Answer {
  if (code === "done") return { kind: "ok", charge };
  if (code === "already resolved" && world.flaw === "capture that came too late is an answer") {
    return { kind: "ok", charge };
  }
  if (code === undefined && world.flaw === "capture not repeated") return { kind: "ok", charge };
  world.count("outcomes unknown to the client");
  return { kind: "unknown" };
}

/** The usage is missing: the upstream is asked, and metered when it does not say. */
function* findOut({ world, upstream }: Router, request: Request): Steps<PicoUsd> {
  for (const pause of USAGE_LOOK_UPS_MS) {
    if (pause > 0) {
      world.current().sleep(pause);
      yield;
    }
    const asked = upstream.lookUp(request.hold);
    yield;
    const found = asked.reply;
    if (typeof found === "bigint") return found;
  }
  return metered(request);
}

function* replay({ billing, world }: Router, { hold, account }: Request, earlier: number): Steps<Answer> {
  const read = billing.readAnswer(account, earlier);
  yield;
  if (read.reply === undefined) return { kind: "failed" };
  if (read.reply === "over") {
    world.count("kept answers that were over");
    return { kind: "not kept" };
  }
  if (read.reply === "none") throw violated("I8", `${hold} repeats ${earlier}, whose answer was not kept`);
  world.count("answered from an earlier request");
  return { kind: "replayed", hold: earlier };
}
