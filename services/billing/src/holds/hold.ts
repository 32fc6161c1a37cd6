// Hold owns the shape of the services on holds: credits reserved for one request, resolved once.
import type {
  HoldOperation,
  HoldState,
  Id,
  Keep,
  Lease as LeaseOperation,
  Hold as LedgerHold,
  Outcome,
} from "@gr/ledger";

export type { HoldState } from "@gr/ledger";

/** The account is empty if the caller does not name it; that of a place never is. */
export type PostedOperation = Exclude<HoldOperation, Keep | LeaseOperation>;

export interface OperationWriter {
  /** @returns an answer for each operation, in order */
  post(operations: readonly PostedOperation[], signal?: AbortSignal): Promise<Outcome[]>;
}

/** A hold of an account. Kept amounts are those of the capture of an open hold. */
export interface Hold extends LedgerHold {
  readonly accountId: Id;
  readonly spenderId: Id;
}

export interface HoldFilter {
  readonly accountId: string | undefined;
  readonly state: HoldState | undefined;
  readonly limit: number;
  /** Id of the last hold before the page. */
  readonly after: string | undefined;
}

export interface Lease {
  /** Module that placed the holds. */
  readonly service: string;
  readonly limit: number;
  readonly leaseMs: bigint;
}

export interface HoldStore {
  /** Oldest first. */
  list(filter: HoldFilter): Promise<{ readonly holds: readonly Hold[]; readonly hasMore: boolean }>;
  /** Open holds past their deadline that nobody else has leased; oldest deadline first. Each has its kept amounts. */
  leaseExpired(lease: Lease): Promise<Hold[]>;
  countOpen(): Promise<OpenHolds[]>;
}

/** Of one service. */
export interface OpenHolds {
  readonly service: string;
  readonly open: number;
  /** Seconds since the earliest deadline; 0 before it. */
  readonly overdueSeconds: number;
}
