// What the life of paid requests is given by a service: its ports, and its settings.
import type { Billing } from "@gr/clients";
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
  /** How its attempts are called in traces; absent: they have no spans. */
  readonly attempts?: AttemptNames<K>;
  readonly settings: PaidRequestSettings;
}

/** Milliseconds, where nothing else is said. */
export interface PaidRequestSettings {
  /** Requests that may run at a time. */
  readonly mostRunning: number;
  /** How long after its last moment a provider may still book a request. */
  readonly graceMs: number;
  /** Between two rounds that resolve what was left open. */
  readonly resolveEveryMs: number;
  /** How long a leased hold is nobody else's. */
  readonly leaseMs: number;
  /** Between two rounds that keep what runs from being resolved by others. */
  readonly renewEveryMs: number;
  /**
   * A hold of a running request is made to last so much longer than now, whenever less than half of that is left; absent
   * where work never outlasts its deadline.
   */
  readonly holdForMs?: number;
  readonly searchPauses?: SearchPauses;
}
