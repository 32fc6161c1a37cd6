// Events of webhooks, each as one function: a counter and a log line. They contain ids and statuses, never an address: an
// address may have a secret of its owner in it.
import type { Logger } from "@gr/runtime";
import { Counter, type Registry } from "prom-client";
import type { Delivery } from "./delivery.ts";
import type { Failure } from "./retry-schedule.ts";

type Subject = Pick<Delivery, "id" | "accountId" | "type">;

export interface WebhookEvents {
  delivered(delivery: Subject): void;
  /** @param nextAt Unix milliseconds; undefined: no further attempt */
  notDelivered(delivery: Subject, failure: Failure, nextAt: number | undefined): void;
  /** The result of an attempt could not be recorded: the attempt is repeated after its lease. */
  notRecorded(delivery: Subject, error: unknown): void;
  /** A round failed; the next round continues. */
  roundFailed(error: unknown): void;
}

export function createWebhookEvents(log: Logger, metrics: Registry): WebhookEvents {
  const attempts = new Counter({
    name: "webhook_attempts_total",
    help: "Attempts to deliver a webhook, by outcome: delivered, again (a later attempt follows), failed",
    labelNames: ["outcome"],
    registers: [metrics],
  });
  const facts = ({ id, accountId, type }: Subject) => ({ webhookId: id, accountId, type });
  return {
    delivered: (delivery) => {
      attempts.inc({ outcome: "delivered" });
      log.info(facts(delivery), "a webhook was delivered");
    },
    notDelivered: (delivery, { status, error }, nextAt) => {
      const isOver = nextAt === undefined;
      attempts.inc({ outcome: isOver ? "failed" : "again" });
      const details = { ...facts(delivery), status, error };
      log.warn(
        details,
        isOver ? "a webhook was given up" : "a webhook was not delivered, and will be repeated",
      );
    },
    notRecorded: (delivery, error) =>
      log.warn({ ...facts(delivery), err: error }, "the result of a webhook could not be recorded"),
    roundFailed: (error) => log.warn({ err: error }, "a round of webhooks failed"),
  };
}
