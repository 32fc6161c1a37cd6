// A hold as it is listed: credits reserved for one request, resolved once.
import type { Credits, PicoUsd } from "@gr/money";
import type { HoldTag } from "../writer/operation.ts";

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
  /** Of a leased hold whose answer was kept: what it is to be captured with. */
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
  /** Of a hold that comes before the first of the page. */
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
  /** Open holds past their deadline that nobody else has leased; oldest deadline first. With what was kept of them. */
  leaseExpired(lease: Lease): Promise<Hold[]>;
  countOpen(): Promise<OpenHolds[]>;
}

/** Of one service. */
export interface OpenHolds {
  readonly service: string;
  readonly open: number;
  /** Since the earliest deadline; 0 when that is still to come. */
  readonly overdueSeconds: number;
}
