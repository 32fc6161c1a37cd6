// One operation on one hold, as callers post it. The ledger of steps and the tables before it have the same fields.
import type { HoldTag, Outcome } from "@gr/ledger";
import type { Credits, PicoUsd } from "@gr/money";

/** "abandon" is a release that gives up on finding out what the upstream did; "next" begins the next attempt. */
export type OperationKind = "place" | "capture" | "release" | "abandon" | "extend" | "next";

/** An Idempotency-Key that a place claims; SHA-256 both. */
export interface Claim {
  /** Of the endpoint and the key. */
  readonly key: Buffer;
  /** Of what the client asked for. */
  readonly fingerprint: Buffer;
}

/** What an operation does not have is null. */
export interface Operation {
  readonly kind: OperationKind;
  /** Lower-case UUID, as are the others. */
  readonly holdId: string;
  /** Null: the operation is not a place, and its caller does not name the account. */
  readonly accountId: string | null;
  /** place */
  readonly spenderId: string | null;
  /** place: the person of a web token. */
  readonly personId?: string | undefined;
  /** place, extend: of the hold; capture: the charge; otherwise 0. */
  readonly credits: Credits;
  /** place, extend: as large the hold may become where enough is free. */
  readonly most: Credits | null;
  /** capture, release, abandon; next: of the attempt that failed. */
  readonly cost: PicoUsd | null;
  /** place, extend, next: Unix milliseconds. */
  readonly deadlineAt: bigint | null;
  /** place; next, where only provider and upstream model count. */
  readonly tag: HoldTag | null;
  /** next: number of the attempt that begins, from 2. */
  readonly attempt: number | null;
  /** next, of an attempt that has begun already: whose cost it is. Only the provider counts. */
  readonly billedBy: HoldTag | null;
  /** place, when the client sent an Idempotency-Key */
  readonly claim: Claim | null;
}

export interface OperationWriter {
  /** @returns an answer for each operation, in order */
  post(operations: readonly Operation[], signal?: AbortSignal): Promise<Outcome[]>;
}
