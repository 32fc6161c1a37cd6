// Posted owns the shape of the answer to one operation, in the terms of the RPC service.
import type { Level } from "@gr/ledger";
import type { Credits, PicoUsd } from "@gr/money";
import type { OutcomeCode } from "@gr/proto/billing";
import type { Period } from "../accounts/spender.ts";
import type { Operation } from "./operation.ts";

export interface Refusal {
  readonly inFlight: boolean;
  readonly available: Credits;
  /** Of a refusal for the cap; zero for a budget above the spender. */
  readonly cap: Credits;
  readonly period: Period | undefined;
  /** Of the budget above the spender that refuses. */
  readonly level: Level | undefined;
  /** Of a refusal for the cap or for the limit of free requests: Unix milliseconds; 0 = never. */
  readonly resetsAt: bigint;
  /** Unix milliseconds, when the spender has expired. */
  readonly expiresAt: bigint;
  /** Nothing but the suspension of its account keeps the spender from spending. */
  readonly suspended: boolean;
}

/** Refusal without details. */
export const NO_REFUSAL: Refusal = {
  inFlight: false,
  available: 0n,
  cap: 0n,
  period: undefined,
  level: undefined,
  resetsAt: 0n,
  expiresAt: 0n,
  suspended: false,
};

export interface Posted {
  readonly code: OutcomeCode;
  readonly refusal?: Refusal;
  /** The charged hold that has the key. */
  readonly earlierHoldId?: string;
  /** Size of a hold that may be larger than was asked for at least. */
  readonly held?: Credits;
  readonly loss?: Loss;
}

/** Change of our losses by this operation, and by no earlier copy of it. */
export interface Loss {
  /** Cost of a request, or of one attempt, that failed. */
  readonly failed: PicoUsd;
  /** Cost that was found after the booking, or for a hold without a found outcome. */
  readonly late: PicoUsd;
  /** Credits of a hold that this operation freed without a found outcome. */
  readonly abandoned: Credits | undefined;
}

export interface OperationWriter {
  /** @returns an answer for each operation, in order */
  post(operations: readonly Operation[], signal?: AbortSignal): Promise<Posted[]>;
}
