// What happens to money that operators need to see, each as one function: a counter and, where somebody should look,
// a log line. Ids and amounts only.
import { formatCredits, formatPicoUsd } from "@gr/money";
import type { Logger } from "@gr/runtime";
import { Counter, Histogram, type Registry } from "prom-client";
import type { Difference } from "./verify/ledger-invariants-store.ts";
import type { Operation } from "./writer/operation.ts";
import type { Loss, Posted } from "./writer/post-store.ts";

/** Differences of one verification that are logged; its caller gets all of them. */
const MOST_LOGGED = 20;

export interface BillingEvents {
  /** A batch was committed. */
  committed(operations: readonly Operation[], posted: readonly Posted[]): void;
  /** A batch met another writer's locks and starts anew. */
  triedAgain(error: unknown): void;
  /** So many places were refused without PostgreSQL. */
  refusedByMirror(places: number): void;
  /** What PostgreSQL refuses could not be mirrored, so it will be asked again. */
  notMirrored(error: unknown): void;
  ledgerVerified(differences: readonly Difference[]): void;
  /** A caller was told that its credits cannot be read. */
  creditsUnreadable(accountId: string, error: unknown): void;
  /** @param settings of PostgreSQL with which it may lose confirmed commits; none when it may not. */
  mayForget(settings: readonly string[]): void;
}

export function createBillingEvents(log: Logger, metrics: Registry): BillingEvents {
  const registers = [metrics];
  const batchSize = new Histogram({
    name: "billing_batch_operations",
    help: "Operations per commit",
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192],
    registers,
  });
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
    help: "Batches that began anew after a deadlock or serialization failure",
    registers,
  });
  const mirrorRefusals = new Counter({
    name: "billing_mirror_refusals_total",
    help: "Places refused by what PostgreSQL said within the last second, without asking it again",
    registers,
  });
  const differences = new Counter({
    name: "billing_ledger_differences_total",
    help: "Differences that verifications of the ledger found",
    registers,
  });
  return {
    committed(operations, posted) {
      batchSize.observe(operations.length);
      for (let index = 0; index < posted.length; index += 1) {
        const loss = posted[index]?.loss;
        const operation = operations[index];
        if (loss === undefined || operation === undefined) continue;
        if (loss.failed > 0n) failedCosts.inc();
        if (loss.late > 0n) lateCosts.inc();
        if (loss.abandoned !== undefined) abandoned.inc();
        logLoss(log, operation, loss);
      }
    },
    triedAgain(error) {
      retries.inc();
      log.debug({ err: error }, "a batch begins anew");
    },
    refusedByMirror: (places) => mirrorRefusals.inc(places),
    notMirrored: (error) => log.warn({ err: error }, "a refusal could not be mirrored"),
    ledgerVerified(found) {
      differences.inc(found.length);
      for (const difference of found.slice(0, MOST_LOGGED)) {
        log.error({ ...difference, differences: found.length }, "the ledger does not add up");
      }
    },
    creditsUnreadable: (accountId, error) =>
      log.error({ accountId, err: error }, "credits could not be read"),
    mayForget: (settings) => {
      if (settings.length === 0) return;
      log.warn({ settings }, "PostgreSQL may lose charges that it has confirmed, because of these settings");
    },
  };
}

function logLoss(log: Logger, { holdId, kind }: Operation, { failed, late, abandoned }: Loss): void {
  const facts = { holdId, operation: kind, costUsd: formatPicoUsd(failed + late) };
  if (abandoned !== undefined) {
    log.warn({ ...facts, heldUsd: formatCredits(abandoned) }, "a hold was released unresolved");
  } else if (late > 0n) {
    log.warn(facts, "a cost turned up after its hold was resolved; booked to our losses");
  } else {
    log.info(facts, "the upstream billed an attempt that failed; booked to our losses");
  }
}
