// Events of generations, one function each: a counter and a log line.
// They contain ids, kinds and amounts only; never a prompt, a picture or a secret.
import { formatPicoUsd } from "@gr/money";
import {
  type Bill,
  type Closing,
  countByProvider,
  type Ending,
  type PaidRequestEvents,
  type Route,
} from "@gr/paid-request";
import { ServiceError } from "@gr/proto";
import { errorType, type Logger } from "@gr/runtime";
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { OutboundError } from "../providers/outbound.ts";
import { ProviderError } from "../providers/provider-error.ts";
import type { FailingAccounts } from "./failing-accounts.ts";
import type { MediaKinds, MediaOrder } from "./generation.ts";

type Subject = Pick<MediaOrder, "id" | "accountId" | "model">;

/** Duration of a generation, in milliseconds. */
export interface Took {
  readonly totalMs: number;
  /**
   * Duration until the last of the provider's jobs succeeded. The remaining time is ours:
   * downloads, conversion, storage, money.
   */
  readonly providerMs: number;
}

export interface GenerationEvents extends PaidRequestEvents<MediaKinds> {
  succeeded(order: Subject, route: Route, bill: Bill, took: Took): void;
  failed(order: Subject, route: Route, error: ProviderError): void;
  /** A part of the request failed. The client receives, and pays for, the other parts. */
  partFailed(order: Subject, route: Route, error: ProviderError): void;
  /** A provider refused the operator's key, account or region for a part; the request did not end with that. */
  accountRefused(order: Subject, route: Route, error: ProviderError): void;
  /** It is unknown whether the provider billed the request; the resolver continues. */
  outcomeUnknown(order: Subject, route: Route, error: ProviderError): void;
  /** A client requests a model without a configured provider. */
  noProvider(model: string, variables: readonly string[]): void;
  /** A partial image could not be read or sent. The generation continues. */
  partialNotSent(order: Subject, error: unknown): void;
  /** The output of the provider could not be hosted. */
  notStored(order: Subject, route: Route, error: unknown): void;
  /** The files of an unpaid generation could not be deleted. */
  notDiscarded(id: string, error: unknown): void;
  /** A provider did not answer the query of its bill. */
  notLookedUp(id: string, error: unknown): void;
  /** The answer of this generation was sent again under its Idempotency-Key. */
  replayed(order: Subject): void;
  resumed(order: Subject, route: Route): void;
  /** The request has no result, and no client waits for its answer. */
  endedUnanswered(order: Subject, error: unknown): void;
  /** The client deleted the files and the prompt. */
  contentRemoved(order: Subject): void;
}

/** Outcome of a failure that other accounts of the provider do not have. The alert ProviderFails does not count it. */
const ONE_ACCOUNT = "one_account";
/** Failures that may speak of a provider. */
const OF_PROVIDERS = new Set(["failed", "unavailable", "timeout", "unknown"]);

const ACCOUNT_REFUSED = "a provider refuses us; check its key, its account and the catalogue";

/**
 * @param providers names of those that are configured. @param closings because of losses, as of now
 * @param failing accounts with failures
 */
export function createGenerationEvents(
  log: Logger,
  metrics: Registry,
  providers: readonly string[],
  closings: () => readonly Closing[],
  failing: FailingAccounts,
): GenerationEvents {
  const { generations, duration, provided, own, resolutions, replays, trouble } = createCounters(metrics);
  // Created at zero, so that the first failure is an increase.
  trouble.inc({ what: "not_captured" }, 0);
  for (const provider of providers) generations.inc({ provider, outcome: "misconfigured" }, 0);
  new Gauge({
    name: "media_routes_closed_by_losses",
    help: "Models for which a provider is not asked now, because it billed more than generations paid",
    labelNames: ["provider"],
    registers: [metrics],
    collect() {
      for (const [provider, closed] of countByProvider(providers, closings())) {
        this.set({ provider }, closed);
      }
    },
  });
  const countFailure = ({ accountId }: Subject, provider: string, kind: string) => {
    const isAlone = OF_PROVIDERS.has(kind) && failing.recordFailure(provider, accountId);
    generations.inc({ provider, outcome: isAlone ? ONE_ACCOUNT : kind });
  };
  const facts = ({ id, accountId, model }: Subject) => ({ requestId: id, accountId, model });
  const amounts = ({ charge, cost }: Bill) => ({ charge: String(charge), cost: formatPicoUsd(cost) });
  return {
    succeeded: (order, route, bill, { totalMs, providerMs }) => {
      const { provider } = route;
      failing.recordSuccess(provider, order.accountId);
      generations.inc({ provider, outcome: "succeeded" });
      duration.observe({ provider }, totalMs / 1_000);
      provided.observe({ provider }, providerMs / 1_000);
      own.observe(Math.max(0, totalMs - providerMs) / 1_000);
      log.info({ ...facts(order), provider, ...amounts(bill) }, "generation succeeded");
    },
    failed: (order, { provider }, error) => {
      countFailure(order, provider, error.kind);
      const details = { ...facts(order), provider, ...causeOf(error) };
      if (error.kind === "misconfigured") log.error(details, ACCOUNT_REFUSED);
      else log.warn(details, "generation failed");
    },
    accountRefused: (order, { provider }, error) => {
      generations.inc({ provider, outcome: error.kind });
      log.error({ ...facts(order), provider, ...causeOf(error) }, ACCOUNT_REFUSED);
    },
    partFailed: (order, { provider }, error) => {
      trouble.inc({ what: "part_failed" });
      log.warn({ ...facts(order), provider, ...causeOf(error) }, "a part of a generation failed");
    },
    outcomeUnknown: (order, { provider }, error) => {
      countFailure(order, provider, "unknown");
      const details = { ...facts(order), provider, ...causeOf(error) };
      log.warn(details, "the outcome of a generation is unknown");
    },
    noProvider: (model, variables) => {
      trouble.inc({ what: "no_provider" });
      log.error({ model, variables }, "no provider of this model is configured; set one of the variables");
    },
    partialNotSent: (order, error) => {
      trouble.inc({ what: "partial_not_sent" });
      log.warn({ ...facts(order), ...causeOf(error) }, "a partial image was not sent");
    },
    notStored: (order, { provider }, error) => {
      trouble.inc({ what: "not_stored" });
      log.error({ ...facts(order), provider, ...causeOf(error) }, "generated media could not be stored");
    },
    notDiscarded: (requestId, error) => {
      trouble.inc({ what: "not_discarded" });
      log.error({ requestId, err: error }, "files that nobody paid for could not be removed");
    },
    notLookedUp: (requestId, error) => {
      trouble.inc({ what: "not_looked_up" });
      log.warn({ requestId, ...causeOf(error) }, "a provider did not report its bill");
    },
    replayed: (order) => {
      replays.inc();
      log.info(facts(order), "a stored answer of a generation was sent again");
    },
    resumed: (order, { provider }) =>
      log.info({ ...facts(order), provider }, "a generation of another process is resumed"),
    endedUnanswered: (order, error) =>
      log.warn({ ...facts(order), ...causeOf(error) }, "an asynchronous generation ended without a result"),
    contentRemoved: (order) =>
      log.info(facts(order), "the files and the prompt of a generation were removed"),
    routeClosed: ({ provider, upstreamModel }, accountId = "all", loss) =>
      log.error(
        { provider, upstreamModel, accountId, loss: formatPicoUsd(loss) },
        "a route is closed: its provider bills more than generations pay",
      ),
    routeReopened: (route) => log.warn({ ...route }, "an operator has opened a route that loses money"),
    notCovered: (order, bill) =>
      log.error({ ...facts(order), ...amounts(bill) }, "a generation costs more than its hold"),
    billLookedUp: (order) => log.info(facts(order), "the cost of a generation was looked up"),
    billMetered: (order) => {
      trouble.inc({ what: "cost_unknown" });
      log.warn(facts(order), "the cost of a generation is unknown; it counts as its price");
    },
    fellBack: (order, { why }, { provider }) => {
      trouble.inc({ what: "fell_back" });
      log.warn({ ...facts(order), provider, why }, "the next provider is tried");
    },
    notCaptured: (order, error) => {
      trouble.inc({ what: "not_captured" });
      log.error({ ...facts(order), err: error }, "a generation is not charged yet; it will be tried again");
    },
    notBooked: (requestId, error) => {
      trouble.inc({ what: "not_booked" });
      log.error(
        { requestId, err: error },
        "the end of a generation is not booked yet; it will be tried again",
      );
    },
    resolved: (requestId, ending) => {
      resolutions.inc({ result: resultOf(ending) });
      log.info({ requestId, ...detailsOf(ending) }, "an open generation was resolved");
    },
    lateBill: (requestId, cost) => {
      trouble.inc({ what: "late_bill" });
      log.warn({ requestId, cost: formatPicoUsd(cost) }, "a provider billed an abandoned generation");
    },
    roundFailed: (error) => log.warn({ err: error }, "a round of background work failed"),
  };
}

/** Kind and status of a provider's failure; any other error whole. The provider's message may quote the prompt. */
function causeOf(error: unknown): object {
  if (error instanceof ProviderError) {
    const { kind, status, cause } = error;
    const exchange =
      cause instanceof OutboundError ? { exchange: cause.kind, code: errorType(cause.cause) } : {};
    return { kind, ...(status !== undefined && { status }), ...exchange };
  }
  if (!(error instanceof ServiceError)) return { err: error };
  return { reason: error.reason, ...(error.cause === undefined ? {} : causeOf(error.cause)) };
}

function resultOf(ending: Ending): string {
  return ending.kind === "captured" ? "succeeded" : ending.why;
}

function detailsOf(ending: Ending): object {
  if (ending.kind === "released") return { why: ending.why, cost: formatPicoUsd(ending.cost) };
  const { charge, cost } = ending.bill;
  return { charge: String(charge), cost: formatPicoUsd(cost) };
}

function createCounters(metrics: Registry) {
  const registers = [metrics];
  return {
    generations: new Counter({
      name: "media_generations_total",
      help: "Generations that were sent to a provider, by outcome",
      labelNames: ["provider", "outcome"],
      registers,
    }),
    duration: new Histogram({
      name: "media_generation_seconds",
      help: "Time from a request to its paid answer",
      labelNames: ["provider"],
      buckets: [0.5, 1, 2, 5, 10, 20, 40, 80, 160, 320],
      registers,
    }),
    provided: new Histogram({
      name: "media_provider_seconds",
      help: "Part of a generation's time at its provider: until the last of its jobs had succeeded",
      labelNames: ["provider"],
      buckets: [0.5, 1, 2, 5, 10, 20, 40, 80, 160, 320],
      registers,
    }),
    own: new Histogram({
      name: "media_own_seconds",
      help: "Part of a generation's time in the router: downloads, conversion, storage, money",
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
      registers,
    }),
    resolutions: new Counter({
      name: "media_resolutions_total",
      help: "Open generations and holds that were resolved, by result",
      labelNames: ["result"],
      registers,
    }),
    replays: new Counter({
      name: "media_replays_total",
      help: "Stored answers that were sent again for their Idempotency-Key",
      registers,
    }),
    trouble: new Counter({
      name: "media_trouble_total",
      help: "Events for the operator's attention, by kind",
      labelNames: ["what"],
      registers,
    }),
  };
}
