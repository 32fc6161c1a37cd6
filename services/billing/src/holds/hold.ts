// A hold as it is listed: credits reserved for one request, resolved once.

import type { HoldTag } from "@gr/ledger";
import type { Credits, PicoUsd } from "@gr/money";

export type HoldState = "open" | "captured" | "released";

export interface Hold extends HoldTag {
  readonly id: string;
  readonly accountId: string;
  readonly spenderId: string;
  readonly credits: Credits;
  readonly state: HoldState;
  /** Zero while open. */
  readonly charge: Credits;
  /** Of the current attempt; zero while open. */
  readonly cost: PicoUsd;
  /** From 1. */
  readonly attempt: number;
  readonly placedAt: Date;
  readonly deadlineAt: Date;
  /** Amounts of the capture of a leased hold with a kept answer. */
  readonly kept: KeptCharge | undefined;
}

export interface KeptCharge {
  readonly credits: Credits;
  readonly cost: PicoUsd;
}

export interface HoldFilter {
  readonly accountId: string | undefined;
  readonly state: HoldState | undefined;
  readonly limit: number;
  /** Id of the last hold before the page. */
  readonly after: string | undefined;
}

export interface HoldPage {
  readonly holds: readonly Hold[];
  readonly hasMore: boolean;
}

export interface Lease {
  /** Module that placed the holds. */
  readonly service: string;
  readonly limit: number;
  readonly leaseMs: bigint;
}

export interface HoldStore {
  /** Oldest first. */
  list(filter: HoldFilter): Promise<HoldPage>;
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
