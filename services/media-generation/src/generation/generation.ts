// A generation as the log keeps it. Its state says how the work ended, `settled` whether the money has followed.
//   running → succeeded | failed | blocked, or → unknown → failed
import type { Credits, PicoUsd } from "@gr/money";
import type { Operation } from "../providers/provider.ts";
import type { OutputFormat, Quality, ResponseFormat } from "../request/image-request.ts";

export type OpenState = "running" | "unknown";
export type FinalState = "succeeded" | "failed" | "blocked";

export interface GenerationRequest {
  /** Absent for b64_ephemeral, of which nothing is kept. */
  readonly prompt?: string;
  readonly n: number;
  readonly size?: string;
  readonly quality?: Quality;
  readonly output_format: OutputFormat;
  readonly response_format: ResponseFormat;
}

export interface NewGeneration {
  readonly id: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly model: string;
  readonly provider: string;
  readonly upstreamModel: string;
  readonly request: GenerationRequest;
  readonly priceVersion: string;
  /** List price, and what it makes in credits: the hold, and the charge if it succeeds. */
  readonly price: PicoUsd;
  readonly hold: Credits;
  /** Names under which outputs will be hosted. */
  readonly outputs: readonly string[];
  /** Unix milliseconds. */
  readonly deadlineAt: number;
}

export interface Generation extends NewGeneration {
  readonly state: OpenState | FinalState;
  readonly operation: Operation | null;
  readonly ending: Ended | null;
  readonly unbilledLookups: number;
}

/** How a generation ended, and what must be booked for it: a charge when it succeeded, a release otherwise. */
export interface Ending {
  readonly state: FinalState;
  readonly charge: Credits;
  readonly cost: PicoUsd;
  readonly errorKind: string | null;
  readonly errorMessage: string | null;
}

/** The times are those of the row, so that whoever reads it later gives the same answer. */
export interface Ended extends Ending, Times {}

/** Unix milliseconds, by the database's clock. */
export interface Times {
  readonly createdAt: number;
  readonly finishedAt: number;
}

/** The error kind of a generation of which nobody can tell what became. */
export const UNRESOLVED = "unresolved";
