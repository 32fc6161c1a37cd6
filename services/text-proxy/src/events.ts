// What happens to text requests, each as one function: counters always, a log line only for what went wrong, since
// this is the hot path. Never a word of a prompt or an answer.
import type { ReleaseReason } from "@gr/clients";
import { type Credits, formatCredits, formatPicoUsd, type PicoUsd } from "@gr/money";
import type { Logger } from "@gr/runtime";
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { Exchange } from "./exchange.ts";
import type { UpstreamLoss } from "./upstream-call.ts";
import type { Refusal } from "./upstream-refusal.ts";

export interface TextEvents {
  answered(): void;
  /** @param ms from the request to the head of the upstream's answer */
  firstByte(ms: number): void;
  /** The client left while the upstream worked; its answer is drained and charged. */
  clientLeft(): void;
  lost(exchange: Exchange, loss: UpstreamLoss): void;
  refused(exchange: Exchange, status: number, refusal: Refusal): void;
  failed(exchange: Exchange, problem: string): void;
  chargedAboveHold(exchange: Exchange, charge: Credits): void;
  usageLookedUp(): void;
  usageEstimated(holdId: string, model: string): void;
  /** A capture failed; the hold is open and its client got an error. */
  notCaptured(exchange: Exchange, error: unknown): void;
  /** The answer of a claimed request is too large: it is charged, and cannot be given again. */
  notKept(): void;
  /** A kept answer was given again. */
  replayed(): void;
  /** A hold could not be released or captured; it is open until a later round. */
  notResolved(holdId: string, error: unknown): void;
  /** A hold whose process did not get to capture it, but had kept the answer. */
  chargedKept(holdId: string, charge: Credits): void;
  resolved(holdId: string, reason: ReleaseReason, cost: PicoUsd): void;
  leaseFailed(error: unknown): void;
}

/** Seconds; answers take from milliseconds to minutes. */
const BUCKETS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

export function createTextEvents(log: Logger, metrics: Registry, running: () => number): TextEvents {
  const registers = [metrics];
  const outcomes = new Counter({
    name: "text_requests_total",
    help: "Text requests that had a hold, by outcome",
    labelNames: ["outcome"],
    registers,
  });
  const counted = (name: string, help: string) => new Counter({ name, help, registers });
  const keyRefused = counted(
    "text_upstream_key_refused_total",
    "Answers 401, 402 and 403 to our own upstream key",
  );
  const clientsLeft = counted("text_clients_left_total", "Clients that left before the end of their answer");
  const lookedUp = counted("text_usage_looked_up_total", "Charges whose usage had to be looked up");
  const estimated = counted("text_usage_estimated_total", "Charges whose usage was metered by us");
  const aboveHold = counted("text_charges_above_hold_total", "Charges larger than their hold");
  const replayed = counted("text_answers_replayed_total", "Kept answers that were given again");
  const notKept = counted("text_answers_not_kept_total", "Answers too large to be given again");
  const resolvedHolds = new Counter({
    name: "text_holds_resolved_total",
    help: "Holds resolved after their request had failed, by result",
    labelNames: ["result"],
    registers,
  });
  const firstBytes = new Histogram({
    name: "text_upstream_first_byte_seconds",
    help: "From the request to the head of the upstream's answer",
    buckets: BUCKETS,
    registers,
  });
  new Gauge({
    name: "text_requests_running",
    help: "Text requests that have a hold now",
    registers,
    collect() {
      this.set(running());
    },
  });
  return {
    answered: () => outcomes.inc(ANSWERED),
    firstByte: (ms) => firstBytes.observe(ms / 1_000),
    clientLeft: () => clientsLeft.inc(),
    lost: ({ id, request }, loss) => {
      outcomes.inc({ outcome: loss.kind.replace(" ", "_") });
      log.warn({ requestId: id, model: request.model, err: loss.cause }, `upstream lost: ${loss.kind}`);
    },
    refused: ({ id, request }, status, { error, ourFault }) => {
      outcomes.inc({ outcome: "refused" });
      if (ourFault) {
        keyRefused.inc();
        log.error({ requestId: id, status }, "our upstream key is refused");
      } else if (status >= 500) {
        log.warn({ requestId: id, model: request.model, status, reason: error.reason }, "upstream failed");
      }
    },
    failed: ({ id, request }, problem) => {
      outcomes.inc({ outcome: "failed" });
      log.warn({ requestId: id, model: request.model, problem }, "upstream gave no usable answer");
    },
    chargedAboveHold: ({ id, request, held }, charge) => {
      aboveHold.inc();
      const amounts = { charge: formatCredits(charge), held: formatCredits(held) };
      log.warn({ requestId: id, model: request.model, ...amounts }, "charge above hold");
    },
    usageLookedUp: () => lookedUp.inc(),
    usageEstimated: (holdId, model) => {
      estimated.inc();
      log.warn({ requestId: holdId, model }, "no usage was sent or found: the charge is metered");
    },
    notCaptured: ({ id }, error) => {
      outcomes.inc({ outcome: "not_captured" });
      log.error({ requestId: id, err: error }, "the hold could not be captured");
    },
    notKept: () => notKept.inc(),
    replayed: () => replayed.inc(),
    notResolved: (holdId, error) =>
      log.warn({ requestId: holdId, err: error }, "the hold could not be resolved"),
    chargedKept: (holdId, charge) => {
      resolvedHolds.inc({ result: "answer_kept" });
      log.warn({ requestId: holdId, charge: formatCredits(charge) }, "hold charged: its answer was kept");
    },
    resolved: (holdId, reason, cost) => {
      resolvedHolds.inc({ result: cost > 0n ? "cost_found" : "nothing_found" });
      log.warn({ requestId: holdId, reason, lost: formatPicoUsd(cost) }, "hold resolved without a charge");
    },
    leaseFailed: (error) => log.warn({ err: error }, "holds past their deadline could not be fetched"),
  };
}

const ANSWERED = { outcome: "answered" };
