// Console events, each as one function: a counter and a log line. Ids and reasons only, never an address of a person, a
// token or a cookie.
import { formatPicoUsd, type PicoUsd } from "@gr/money";
import type { Reason } from "@gr/proto";
import type { StatementComparison } from "@gr/proto/console";
import type { Logger } from "@gr/runtime";
import { Counter, Gauge, type Registry } from "prom-client";
import { type AlertKind, CROSSING_KINDS, TOP_UP_KINDS } from "./alert-kind.ts";
import type { PaymentStatus } from "./payment-status.ts";

const STRIPE_OUTCOMES = ["done", "repeated", "not_ours", "bad_signature", "failed"] as const;
export type StripeOutcome = (typeof STRIPE_OUTCOMES)[number];

const WAYS_IN = ["password", "link", "issuer", "passkey"] as const;
const ISSUER_FAILURES = ["away", "not_believed"] as const;
export type IssuerFailure = (typeof ISSUER_FAILURES)[number];
/** Proof of identity at a sign-in. */
export type WayIn = (typeof WAYS_IN)[number];

const ALERT_WAYS = ["mail", "webhook"] as const;
export type AlertWay = (typeof ALERT_WAYS)[number];

export interface ConsoleEvents {
  signedIn(personId: string, by: WayIn): void;
  /** A sign-in at the issuer failed: the issuer does not answer, or its answer is not enough. */
  issuerFailed(issuer: string, outcome: IssuerFailure, problem: string): void;
  /** A request was refused, for any reason; many of one reason need attention. */
  refused(reason: Reason): void;
  /** An event of Stripe was processed or not; Stripe repeats "failed" ones. */
  stripeEvent(outcome: StripeOutcome): void;
  paymentSettled(paymentId: string, status: PaymentStatus): void;
  /** A payment or a refund happened that the books do not have. */
  paymentNotBooked(paymentId: string, problem: string): void;
  /** This process has compared a statement with the books. */
  statementCompared(statement: string, comparison: StatementComparison): void;
  statementNotRead(statement: string, problem: string): void;
  /** Thresholds were crossed and are reported. */
  alertsRaised(kinds: readonly AlertKind[]): void;
  /** An automatic top-up was not decided or not charged; the next round continues. */
  topUpNotMade(accountId: string, error: unknown): void;
  /** Cards without a use that Stripe still has. */
  cardsNotRemoved(accountId: string, error: unknown): void;
  /** Alerts beyond the limit of a day. */
  alertsDropped(accountId: string, count: number): void;
  /** The thresholds of an account were not checked; the next check repeats it. */
  alertCheckFailed(accountId: string, error: unknown): void;
  /** A mail or webhook was not sent; a later try follows, unless the refusal is final. */
  alertNotSent(way: AlertWay, error: unknown): void;
  /** The keys service did not list its accounts, so an operator may miss the newest ones. */
  accountsNotCopied(problem: string): void;
  /** Billing did not store the creator of a key; the next read by member repeats it. */
  keyMemberNotNamed(error: unknown): void;
  /** The list of members was answered without their budgets. */
  memberBudgetsNotRead(accountId: string, error: unknown): void;
  /** The answer of a rotation has the secret and not the key. */
  rotatedKeyNotRead(keyId: string, error: unknown): void;
  /** The audit log has no line of this rotation. */
  rotationNotAudited(keyId: string, personId: string, error: unknown): void;
  /** Difference beyond the tolerance in the stored comparison, from any process. */
  statementStored(statement: string, off: PicoUsd): void;
}

/** @param statements names of the statements that are read, as labels of their metrics */
export function createConsoleEvents(
  log: Logger,
  metrics: Registry,
  statements: readonly string[] = [],
): ConsoleEvents {
  const registers = [metrics];
  const signIns = new Counter({
    name: "console_sign_ins_total",
    help: "Sessions that were begun, by how",
    labelNames: ["by"],
    registers,
  });
  for (const by of WAYS_IN) signIns.inc({ by }, 0);
  const issuerFailures = new Counter({
    name: "console_issuer_failures_total",
    help: "Failures of the issuer for single sign-on: no answer, or an unusable one",
    labelNames: ["outcome"],
    registers,
  });
  for (const outcome of ISSUER_FAILURES) issuerFailures.inc({ outcome }, 0);
  const refusals = new Counter({
    name: "console_refusals_total",
    help: "Requests to the console that were refused, by reason",
    labelNames: ["reason"],
    registers,
  });
  const stripe = new Counter({
    name: "console_stripe_events_total",
    help: "Events of Stripe, by their handling",
    labelNames: ["outcome"],
    registers,
  });
  for (const outcome of STRIPE_OUTCOMES) stripe.inc({ outcome }, 0);
  const notBooked = new Counter({
    name: "console_payments_not_booked_total",
    help: "Times that Stripe had money of a payment which the books do not have",
    registers,
  });
  const differences = new Gauge({
    name: "statement_difference_usd",
    help: "Difference between a provider's statement and the books beyond the tolerance, in the last daily comparison, USD",
    labelNames: ["upstream"],
    registers,
  });
  const unread = new Counter({
    name: "statement_reads_failed_total",
    help: "Daily comparisons that could not read the statement or the ledger; the next try is an hour later",
    labelNames: ["upstream"],
    registers,
  });
  for (const upstream of statements) {
    differences.set({ upstream }, 0);
    unread.inc({ upstream }, 0);
  }
  const alerts = new Counter({
    name: "console_alerts_total",
    help: "Alerts of accounts: crossed thresholds, and automatic top-ups that were not made, by kind",
    labelNames: ["kind"],
    registers,
  });
  for (const kind of [...CROSSING_KINDS, ...TOP_UP_KINDS]) alerts.inc({ kind }, 0);
  const unsent = new Counter({
    name: "console_alert_failures_total",
    help: "Tries to send an alert that failed, by way",
    labelNames: ["way"],
    registers,
  });
  for (const way of ALERT_WAYS) unsent.inc({ way }, 0);
  return {
    alertsRaised: (kinds) => {
      for (const kind of kinds) alerts.inc({ kind });
    },
    alertsDropped: (accountId, count) =>
      log.warn({ accountId, count }, "alerts beyond the limit of a day were dropped"),
    cardsNotRemoved: (accountId, err) =>
      log.warn({ err, accountId }, "cards without a use are still at Stripe; removing the card repeats it"),
    topUpNotMade: (accountId, err) =>
      log.warn({ accountId, err }, "an automatic top-up was not finished; the next round continues"),
    alertCheckFailed: (accountId, err) =>
      log.warn({ accountId, err }, "the alerts of an account were not checked; the next check repeats it"),
    alertNotSent: (way, err) => {
      unsent.inc({ way });
      log.warn({ way, err }, "an alert was not sent");
    },
    signedIn: (personId, by) => {
      signIns.inc({ by });
      log.info({ personId, by }, "signed in");
    },
    issuerFailed: (issuer, outcome, problem) => {
      issuerFailures.inc({ outcome });
      const away = "the issuer of single sign-on does not answer; people cannot sign in there";
      log.warn({ issuer, problem }, outcome === "away" ? away : "an answer of the issuer lets nobody in");
    },
    refused: (reason) => refusals.inc({ reason }),
    stripeEvent: (outcome) => stripe.inc({ outcome }),
    paymentSettled: (paymentId, status) => log.info({ paymentId, status }, "a payment has changed"),
    paymentNotBooked: (paymentId, problem) => {
      notBooked.inc();
      log.error({ paymentId, problem }, "a payment is not booked as Stripe has it");
    },
    statementCompared: (statement, { fromDay, toDay, models, offPicoUsd }) => {
      const differing = models.flatMap(({ differs, model }) => (differs ? [model] : [])).slice(0, 20);
      const facts = { statement, fromDay, toDay, off: formatPicoUsd(BigInt(offPicoUsd)) };
      if (differing.length === 0) log.info(facts, "the books fit a provider's statement");
      else log.error({ ...facts, models: differing }, "the books differ from a provider's statement");
    },
    statementNotRead: (statement, problem) => {
      unread.inc({ upstream: statement });
      log.warn({ statement, problem }, "a provider's statement was not compared; the next try is in an hour");
    },
    accountsNotCopied: (problem) => log.warn({ problem }, "the newest accounts were not read from keys"),
    keyMemberNotNamed: (err) => log.warn({ err }, "billing did not store the creator of a key"),
    memberBudgetsNotRead: (accountId, err) =>
      log.warn({ accountId, err }, "billing did not answer the budgets of members"),
    rotatedKeyNotRead: (keyId, err) =>
      log.warn({ keyId, err }, "the answer of a rotation has the secret, without the figures of the key"),
    rotationNotAudited: (keyId, personId, err) =>
      log.error({ keyId, personId, err }, "a key was rotated, and the audit log has no line of the rotation"),
    // A gauge is a floating-point number; the exact amounts are in the stored comparison.
    statementStored: (statement, off) => differences.set({ upstream: statement }, Number(formatPicoUsd(off))),
  };
}
