// What happens to generations, each as one function: a counter and a log line. Ids, kinds and amounts only; never a
// prompt, a picture or a secret.
import { formatPicoUsd } from "@gr/money";
import type { Logger } from "@gr/runtime";
import { Counter, Histogram, type Registry } from "prom-client";
import type { ProviderError } from "../providers/provider-error.ts";
import type { Ending, NewGeneration } from "./generation.ts";

type Subject = Pick<NewGeneration, "id" | "accountId" | "model" | "provider">;

export interface GenerationEvents {
  succeeded(generation: Subject, ending: Ending, seconds: number): void;
  failed(generation: Subject, error: ProviderError): void;
  /** Nobody knows whether the provider has billed it; the resolver takes over. */
  outcomeUnknown(generation: Subject, error: ProviderError): void;
  /** A model is asked for that no configured provider makes. */
  noProvider(model: string, variables: readonly string[]): void;
  /** What the provider made could not be hosted. */
  notStored(generation: Subject, error: unknown): void;
  /** Billing was not reached; the row remembers what to book. */
  notSettled(id: string, error: unknown): void;
  resolved(id: string, ending: Ending): void;
  /** The answer of this generation was given again under its Idempotency-Key. */
  replayed(generation: Subject): void;
  resumed(generation: Subject): void;
  notResolved(id: string, error: unknown): void;
  /** A hold had no row: its process died before anything was sent. */
  holdReleased(id: string): void;
  leasesNotRenewed(error: unknown): void;
  roundFailed(error: unknown): void;
}

export function createGenerationEvents(log: Logger, metrics: Registry): GenerationEvents {
  const { generations, duration, resolutions, replays, trouble } = createCounters(metrics);
  const facts = ({ id, accountId, model, provider }: Subject) => ({
    requestId: id,
    accountId,
    model,
    provider,
  });
  return {
    succeeded: (generation, { charge, cost }, seconds) => {
      generations.inc({ provider: generation.provider, outcome: "succeeded" });
      duration.observe({ provider: generation.provider }, seconds);
      const amounts = { charge: String(charge), cost: formatPicoUsd(cost) };
      log.info({ ...facts(generation), ...amounts }, "generation succeeded");
    },
    failed: (generation, error) => {
      generations.inc({ provider: generation.provider, outcome: error.kind });
      const details = { ...facts(generation), kind: error.kind, err: error };
      if (error.kind === "misconfigured") {
        log.error(details, "a provider refuses us; check its key, its account and the catalogue");
      } else log.warn(details, "generation failed");
    },
    outcomeUnknown: (generation, error) => {
      generations.inc({ provider: generation.provider, outcome: "unknown" });
      log.warn(
        { ...facts(generation), kind: error.kind, err: error },
        "the outcome of a generation is unknown",
      );
    },
    noProvider: (model, variables) => {
      trouble.inc({ what: "no_provider" });
      log.error({ model, variables }, "no provider of this model is configured; set one of the variables");
    },
    notStored: (generation, error) => {
      trouble.inc({ what: "not_stored" });
      log.error({ ...facts(generation), err: error }, "generated media could not be stored");
    },
    notSettled: (requestId, error) => {
      trouble.inc({ what: "not_settled" });
      log.error({ requestId, err: error }, "a generation is not settled yet; it will be tried again");
    },
    resolved: (requestId, { state, charge, cost, errorKind }) => {
      resolutions.inc({ result: errorKind ?? state });
      const amounts = { charge: String(charge), cost: formatPicoUsd(cost) };
      log.info({ requestId, state, errorKind, ...amounts }, "an open generation was resolved");
    },
    replayed: (generation) => {
      replays.inc();
      log.info(facts(generation), "the answer of a generation was given again");
    },
    resumed: (generation) => log.info(facts(generation), "a generation of another process is resumed"),
    notResolved: (requestId, error) => {
      trouble.inc({ what: "not_resolved" });
      log.warn({ requestId, err: error }, "an open generation could not be resolved now");
    },
    holdReleased: (requestId) => {
      resolutions.inc({ result: "not_sent" });
      log.info({ requestId }, "a hold without a generation was released");
    },
    leasesNotRenewed: (error) => log.warn({ err: error }, "leases could not be renewed"),
    roundFailed: (error) => log.warn({ err: error }, "a round of resolving open holds failed"),
  };
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
      help: "Time from a request to its settled answer",
      labelNames: ["provider"],
      buckets: [0.5, 1, 2, 5, 10, 20, 40, 80, 160, 320],
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
      help: "Answers that were given again under their Idempotency-Key",
      registers,
    }),
    trouble: new Counter({
      name: "media_trouble_total",
      help: "What an operator should look at, by kind",
      labelNames: ["what"],
      registers,
    }),
  };
}
