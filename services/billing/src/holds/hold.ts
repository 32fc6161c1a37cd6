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
