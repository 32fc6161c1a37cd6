// TextEvents are the events of text requests, one function each: always a counter, and a log line only for problems,
// since this is the hot path. They never contain a word of a prompt or an answer.
import { formatCredits, formatPicoUsd, type PicoUsd } from "@gr/money";
import type { PaidRequestEvents } from "@gr/paid-request";
import type { Logger } from "@gr/runtime";
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { TextOrder } from "./request/text-order.ts";
import type { TextKinds } from "./text-kinds.ts";
import type { UpstreamLoss } from "./upstream/upstream-call.ts";
import type { Refusal } from "./upstream/upstream-refusal.ts";

export interface TextEvents extends PaidRequestEvents<TextKinds> {
  answered(): void;
  /** @param ms from the request to the head of the upstream's answer */
  firstByte(ms: number): void;
  /** The client's stream has begun. @param ms from the arrival of the request */
  begun(ms: number): void;
  /** An answer is paid for. @param ownMs our part of its time. @param upstreamMs from sending to the last byte */
  timed(ownMs: number, upstreamMs: number): void;
  /** The client disconnected during the upstream's work; its answer is still read and charged. */
  clientLeft(): void;
  /** An answer ended early, and its delivered part is charged. */
  cutOff(order: TextOrder, why: string): void;
  lost(order: TextOrder, loss: UpstreamLoss): void;
  refused(order: TextOrder, upstream: string, status: number, refusal: Refusal): void;
  /** An error within an answer: the upstream refuses the operator's account. */
  accountRefused(order: TextOrder, upstream: string): void;
  /** Other routes of a model are preferred to an upstream. @param pauseMs until the next probe */
  breakerOpened(upstream: string, model: string, pauseMs: number): void;
  /** The upstream answers again. */
  breakerClosed(upstream: string, model: string): void;
  /** @param problem in words of this module: the upstream's own may quote the prompt */
  failed(order: TextOrder, problem: string): void;
  /** The answer of a claimed request is too large: it is charged, and cannot be replayed. */
  notKept(): void;
  /** Lines of the log that were lost. */
  linesLost(lines: number, why: unknown): void;
  /** Prompts and answers that could not be saved. */
  textsNotSaved(entries: number, why: unknown): void;
  /** A stored answer was replayed. */
  replayed(): void;
  /** An upstream's bill is above the trusted cost: the excess is our loss, and an operator must check it. */
  notTrusted(order: TextOrder, cost: PicoUsd, trusted: PicoUsd): void;
}

/** Seconds; answers last from milliseconds to minutes. */
const BUCKETS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
/** Seconds of our own time: a few milliseconds in normal operation. */
const OWN_BUCKETS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 5];
const ANSWERED = { outcome: "answered" };

/** Values of the gauges at each collection of metrics. */
export interface TextGauges {
  running(): number;
  /** Number of models with an open breaker, by name of the upstream. */
  openBreakers(): readonly (readonly [string, number])[];
  /** Number of models with a route that is closed for its losses, by name of the upstream. */
  lossyRoutes(): ReadonlyMap<string, number>;
}

export function createTextEvents(log: Logger, metrics: Registry, gauges: TextGauges): TextEvents {
  const registers = [metrics];
  const outcomes = new Counter({
    name: "text_requests_total",
    help: "Text requests that had a hold, by outcome",
    labelNames: ["outcome"],
    registers,
  });
  // Created at zero, so that the first failure is an increase.
  outcomes.inc({ outcome: "not_captured" }, 0);
  const counted = (name: string, help: string) => new Counter({ name, help, registers });
  const countedByUpstream = (name: string, help: string) =>
    new Counter({ name, help, labelNames: ["upstream"], registers });
  const keyRefused = countedByUpstream(
    "text_upstream_key_refused_total",
    "Answers 401, 402 and 403 to our own key of an upstream",
  );
  const opened = countedByUpstream(
    "text_upstream_breaker_opened_total",
    "How often an upstream was put behind the other routes of a model after failures in a row",
  );
  const clientsLeft = counted(
    "text_clients_left_total",
    "Clients that disconnected before the end of their answer",
  );
  const lookedUp = counted("text_usage_looked_up_total", "Charges with usage from a look-up at the provider");
  const metered = counted("text_usage_estimated_total", "Charges with usage that the router metered");
  const notTrusted = counted(
    "text_costs_not_believed_total",
    "Costs far above the listed price of the reported tokens",
  );
  const notCovered = counted(
    "text_costs_not_covered_total",
    "Charges that their hold and the money did not cover, so that a part of them is ours",
  );
  const replayed = counted("text_answers_replayed_total", "Stored answers that were sent again");
  const notKept = counted("text_answers_not_kept_total", "Answers too large to be stored for a repeat");
  const linesLost = counted(
    "text_log_lines_lost_total",
    "Lines of the log of text requests that could not be written",
  );
  const textsNotSaved = counted("text_saved_texts_lost_total", "Prompts and answers that could not be saved");
  const fellBack = counted("text_requests_fell_back_total", "Attempts after another provider had failed");
  const lateBills = counted("text_late_bills_total", "Bills that arrived after their request was released");
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
  const streams = new Histogram({
    name: "text_first_byte_seconds",
    help: "From the arrival of a request milliseconds to the first byte of the streamed answer",
    buckets: BUCKETS,
    registers,
  });
  const own = new Histogram({
    name: "text_own_seconds",
    help: "Part of a text request's time in the router: all but the time between sending it upstream and the answer's last byte",
    buckets: OWN_BUCKETS,
    registers,
  });
  const upstreams = new Histogram({
    name: "text_upstream_seconds",
    help: "Part of a text request's time at the upstream: from sending it to the answer's last byte",
    buckets: BUCKETS,
    registers,
  });
  createGauges(registers, gauges);
  const named = ({ id, model }: TextOrder) => ({ requestId: id, model });
  return {
    answered: () => outcomes.inc(ANSWERED),
    firstByte: (ms) => firstBytes.observe(ms / 1_000),
    begun: (ms) => streams.observe(ms / 1_000),
    timed: (ownMs, upstreamMs) => {
      own.observe(ownMs / 1_000);
      upstreams.observe(upstreamMs / 1_000);
    },
    clientLeft: () => clientsLeft.inc(),
    cutOff: (order, why) => {
      outcomes.inc({ outcome: "cut_off" });
      log.warn({ ...named(order), why }, "answer cut off; the delivered part is charged");
    },
    lost: (order, loss) => {
      outcomes.inc({ outcome: loss.kind.replace(" ", "_") });
      log.warn({ ...named(order), code: loss.code }, `upstream lost: ${loss.kind}`);
    },
    breakerOpened: (upstream, model, pauseMs) => {
      opened.inc({ upstream });
      log.warn({ upstream, model, pauseMs }, "the upstream fails; other routes of this model are preferred");
    },
    breakerClosed: (upstream, model) => log.info({ upstream, model }, "the upstream answers again"),
    refused: (order, upstream, status, { error, isOurFault }) => {
      outcomes.inc({ outcome: "refused" });
      if (isOurFault) {
        keyRefused.inc({ upstream });
        log.error({ requestId: order.id, upstream, status }, "our upstream key is refused");
      } else if (status >= 500) {
        log.warn({ ...named(order), status, reason: error.reason }, "upstream failed");
      }
    },
    accountRefused: ({ id }, upstream) => {
      keyRefused.inc({ upstream });
      log.error({ requestId: id, upstream }, "our account is refused in the middle of an answer");
    },
    failed: (order, problem) => {
      outcomes.inc({ outcome: "failed" });
      log.warn({ ...named(order), problem }, "upstream sent no usable answer");
    },
    fellBack: (order, { why }, { provider }) => {
      fellBack.inc();
      log.warn({ ...named(order), why, provider }, "another provider is tried");
    },
    billLookedUp: () => lookedUp.inc(),
    billMetered: (order) => {
      metered.inc();
      log.warn(named(order), "no usage was sent or found: the charge is metered");
    },
    notCaptured: ({ id }, error) => {
      outcomes.inc({ outcome: "not_captured" });
      log.error({ requestId: id, err: error }, "the hold could not be captured");
    },
    notCovered: (order, { charge }, held) => {
      notCovered.inc();
      const amounts = { charge: formatCredits(charge), held: formatCredits(held) };
      log.warn({ ...named(order), ...amounts }, "a charge is cut to its hold");
    },
    routeClosed: ({ provider, upstreamModel }, accountId = "all", loss) =>
      log.error(
        { provider, upstreamModel, accountId, loss: formatPicoUsd(loss) },
        "a route is closed: its provider bills more than requests pay",
      ),
    routeReopened: (route) => log.warn({ ...route }, "an operator has opened a route that loses money"),
    notTrusted: (order, cost, trusted) => {
      notTrusted.inc();
      const amounts = { cost: formatPicoUsd(cost), trusted: formatPicoUsd(trusted) };
      log.error({ ...named(order), ...amounts }, "an upstream bills more than the trusted cost");
    },
    notKept: () => notKept.inc(),
    replayed: () => replayed.inc(),
    linesLost: (lines, err) => {
      linesLost.inc(lines);
      log.warn({ err, lines }, "lines of the log of text requests are lost; no money depends on them");
    },
    textsNotSaved: (entries, err) => {
      textsNotSaved.inc(entries);
      log.warn({ err, entries }, "prompts and answers could not be saved; no money depends on them");
    },
    notBooked: (id, error) => log.warn({ requestId: id, err: error }, "the hold could not be resolved"),
    resolved: (id, ending) => {
      if (ending.kind === "captured") {
        resolvedHolds.inc({ result: "answer_kept" });
        const charge = formatCredits(ending.bill.charge);
        log.warn({ requestId: id, charge }, "hold charged: its answer was kept");
      } else {
        resolvedHolds.inc({ result: ending.cost > 0n ? "cost_found" : "nothing_found" });
        const fields = { requestId: id, why: ending.why, lost: formatPicoUsd(ending.cost) };
        log.warn(fields, "hold resolved without a charge");
      }
    },
    lateBill: (id, cost) => {
      lateBills.inc();
      log.warn({ requestId: id, lost: formatPicoUsd(cost) }, "a bill arrived after its request was released");
    },
    roundFailed: (error) => log.warn({ err: error }, "holds past their deadline could not be resolved"),
  };
}

function createGauges(registers: Registry[], gauges: TextGauges): void {
  new Gauge({
    name: "text_requests_running",
    help: "Text requests that have a hold now",
    registers,
    collect() {
      this.set(gauges.running());
    },
  });
  new Gauge({
    name: "text_upstream_breakers_open",
    help: "Models for which an upstream that failed is behind the other routes now",
    labelNames: ["upstream"],
    registers,
    collect() {
      for (const [upstream, open] of gauges.openBreakers()) this.set({ upstream }, open);
    },
  });
  new Gauge({
    name: "text_routes_closed_by_losses",
    help: "Models for which an upstream is not asked now, because it billed more than requests paid",
    labelNames: ["provider"],
    registers,
    collect() {
      for (const [provider, closed] of gauges.lossyRoutes()) this.set({ provider }, closed);
    },
  });
}
