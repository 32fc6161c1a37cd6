// What happens to money that operators need to see, each as one function: a counter and, where somebody should look,
// a log line. Ids and amounts only.
import type { Loss, Outcome } from "@gr/ledger";
import { formatCredits, formatPicoUsd } from "@gr/money";
import type { Logger } from "@gr/runtime";
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { ChainOperation } from "./chain/chain-operation.ts";
import type { OpenHolds } from "./holds/hold.ts";
import type { StepLedgerEvents } from "./step-ledger/step-ledger.ts";
import type { Difference } from "./verify/ledger-report.ts";

/** Differences of one verification that are logged; its caller gets all of them. */
const MOST_LOGGED = 20;

/** Operations that are counted: those of requests. */
const COUNTED: ReadonlySet<string> = new Set(["place", "capture", "release", "abandon", "extend", "next"]);

export interface BillingEvents extends StepLedgerEvents {
  /** Prompts and answers that were not saved because their account is full. */
  textsNotSaved(entries: number): void;
  /** All holds that are open now. */
  holdsSeen(holds: readonly OpenHolds[]): void;
  ledgerVerified(differences: readonly Difference[]): void;
  /** A caller was told that its credits cannot be read. */
  creditsUnreadable(accountId: string, error: unknown): void;
  /** Copies of spend windows were written to Redis, or dropped. */
  windowsCopied(outcome: "written" | "dropped", copies: number): void;
  /** @param settings of PostgreSQL with which it may lose confirmed commits; none when it may not. */
  mayForget(settings: readonly string[]): void;
}

/** @param waiting calls that wait for a commit */
export function createBillingEvents(log: Logger, metrics: Registry, waiting: () => number): BillingEvents {
  const registers = [metrics];
  const batchSize = new Histogram({
    name: "billing_batch_operations",
    help: "Operations per commit",
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192],
    registers,
  });
  const decided = new Counter({
    name: "billing_operations_total",
    help: "What was done to holds, and what came of it",
    labelNames: ["operation", "outcome"],
    registers,
  });
  const charged = new Counter({
    name: "billing_charged_usd_total",
    help: "Captured for customers; a repeated capture counts again, the ledger is exact",
    registers,
  });
  const lost = new Counter({
    name: "billing_losses_usd_total",
    help: "Booked to our losses, by why; the ledger is exact",
    labelNames: ["why"],
    registers,
  });
  // There from the beginning, so that the first one is an increase.
  for (const why of ["failed", "late"]) lost.inc({ why }, 0);
  const lateCosts = new Counter({
    name: "billing_late_costs_total",
    help: "Costs that turned up when their hold had been, or had to be, given up; booked to our losses",
    registers,
  });
  const abandoned = new Counter({
    name: "billing_holds_unresolved_total",
    help: "Holds released because nobody could find out what the upstream did",
    registers,
  });
  const failedCosts = new Counter({
    name: "billing_failed_costs_total",
    help: "Costs of attempts that failed; booked to our losses",
    registers,
  });
  const retries = new Counter({
    name: "billing_commit_retries_total",
    help: "Batches that began anew because another process had written to one of their accounts",
    registers,
  });
  const memoryRefusals = new Counter({
    name: "billing_mirror_refusals_total",
    help: "Places that an account read within the last second refuses, without a statement",
    registers,
  });
  const windowCopies = new Counter({
    name: "billing_window_copies_total",
    help: "Copies of spend windows for Redis, by outcome; dropped ones cost nothing but speed",
    labelNames: ["outcome"],
    registers,
  });
  for (const outcome of ["written", "dropped"]) windowCopies.inc({ outcome }, 0);
  const open = new Gauge({
    name: "billing_open_holds",
    help: "Holds that are open, by the service that placed them",
    labelNames: ["service"],
    registers,
  });
  const overdue = new Gauge({
    name: "billing_oldest_hold_overdue_seconds",
    help: "How long ago the deadline of the open hold with the earliest one was; 0 = none is past it",
    labelNames: ["service"],
    registers,
  });
  const textsNotSaved = new Counter({
    name: "billing_saved_texts_refused_total",
    help: "Prompts and answers that were not saved because their account is full",
    registers,
  });
  new Gauge({
    name: "billing_calls_waiting",
    help: "Calls that wait for a commit",
    registers,
    collect() {
      this.set(waiting());
    },
  });
  const count = (operation: ChainOperation, { code }: Outcome) => {
    const name = nameOf(operation);
    if (COUNTED.has(name)) decided.inc({ operation: name, outcome: code });
  };
  const lose = (operation: ChainOperation, loss: Loss) => {
    if (loss.failed > 0n) failedCosts.inc();
    if (loss.late > 0n) lateCosts.inc();
    if (loss.abandoned !== undefined) abandoned.inc();
    lost.inc({ why: "failed" }, Number(formatPicoUsd(loss.failed)));
    lost.inc({ why: "late" }, Number(formatPicoUsd(loss.late)));
    logLoss(log, operation, loss);
  };
  return {
    committed(operations, outcomes) {
      batchSize.observe(operations.length);
      let captured = 0n;
      for (let index = 0; index < outcomes.length; index += 1) {
        const outcome = outcomes[index];
        const operation = operations[index];
        if (outcome === undefined || operation === undefined) continue;
        count(operation, outcome);
        if (operation.kind === "capture" && outcome.code === "done") captured += operation.charge;
        if (outcome.loss !== undefined) lose(operation, outcome.loss);
      }
      if (captured > 0n) charged.inc(Number(formatCredits(captured)));
    },
    textsNotSaved: (entries) => textsNotSaved.inc(entries),
    holdsSeen(holds) {
      open.reset();
      overdue.reset();
      for (const { service, open: count, overdueSeconds } of holds) {
        open.set({ service }, count);
        overdue.set({ service }, overdueSeconds);
      }
    },
    triedAgain(error) {
      retries.inc();
      log.debug({ err: error }, "a batch begins anew");
    },
    refusedFromMemory: (places) => memoryRefusals.inc(places),
    windowsCopied: (outcome, copies) => windowCopies.inc({ outcome }, copies),
    ledgerVerified: verificationEvents(log, registers),
    creditsUnreadable: (accountId, error) =>
      log.error({ accountId, err: error }, "credits could not be read"),
    mayForget: (settings) => {
      if (settings.length === 0) return;
      log.warn({ settings }, "PostgreSQL may lose charges that it has confirmed, because of these settings");
    },
  };
}

function verificationEvents(log: Logger, registers: Registry[]): BillingEvents["ledgerVerified"] {
  const differences = new Counter({
    name: "billing_ledger_differences_total",
    help: "Differences that verifications of the ledger found",
    registers,
  });
  const verifiedAt = new Gauge({
    name: "billing_ledger_verified_timestamp_seconds",
    help: "When a verification that this process made found the ledger right; 0 = none has",
    registers,
  });
  return (found) => {
    differences.inc(found.length);
    if (found.length === 0) verifiedAt.setToCurrentTime();
    for (const difference of found.slice(0, MOST_LOGGED)) {
      log.error({ ...difference, differences: found.length }, "the ledger does not add up");
    }
  };
}

/** A release without a found outcome has a name of its own. */
function nameOf(operation: ChainOperation): string {
  return operation.kind === "release" && operation.unresolved ? "abandon" : operation.kind;
}

function logLoss(log: Logger, operation: ChainOperation, { failed, late, abandoned }: Loss): void {
  const holdId = "holdId" in operation ? operation.holdId : undefined;
  const facts = { holdId, operation: nameOf(operation), costUsd: formatPicoUsd(failed + late) };
  if (abandoned !== undefined) {
    log.warn({ ...facts, heldUsd: formatCredits(abandoned) }, "a hold was released unresolved");
  } else if (late > 0n) {
    log.warn(facts, "a cost turned up after its hold was resolved; booked to our losses");
  } else {
    log.info(facts, "the upstream billed an attempt that failed; booked to our losses");
  }
}
