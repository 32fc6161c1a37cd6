// Options of paid requests: the ports of a service, and its settings.
import type { Billing, RouteHealth } from "@gr/clients";
import type { Timer } from "@gr/runtime";
import type { AttemptNames } from "./attempt-span.ts";
import type { SearchPauses } from "./bill-search.ts";
import type { Kinds, LookUp, PaidRequestEvents, RequestRecord } from "./ports.ts";

export interface PaidRequestsOptions<K extends Kinds> {
  /** Name under which holds are placed and leased. */
  readonly service: string;
  readonly billing: Billing;
  readonly record: RequestRecord<K>;
  readonly lookUp: LookUp<K>;
  readonly events: PaidRequestEvents<K>;
  readonly clock: Timer;
  /** Names of the attempts in traces; absent: attempts have no spans. */
  readonly attempts?: AttemptNames<K>;
  /** Counts the ends of attempts by provider; absent: they are not counted. */
  readonly health?: Pick<RouteHealth, "record">;
  readonly settings: PaidRequestSettings;
}

/** Durations are milliseconds. */
export interface PaidRequestSettings {
  /** Requests that may run at a time. */
  readonly mostRunning: number;
  /** Time after the deadline during which a provider may still book a request. */
  readonly graceMs: number;
  /** Pause between two rounds that resolve open requests. */
  readonly resolveEveryMs: number;
  /** Time for which a leased hold belongs to this process alone. */
  readonly leaseMs: number;
  /** Pause between two renewals, which protect running requests from other processes. */
  readonly renewEveryMs: number;
  /**
   * Remaining time of a running hold after its renewal, which happens once less than half of it remains; absent if work
   * never outlasts its deadline.
   */
  readonly holdForMs?: number;
  readonly searchPauses?: SearchPauses;
}
