// The port that every image and video provider implements. A job is submitted once and then polled until its outputs
// are there; a provider that answers at once simply has nothing to poll. Adapters know wire formats, nothing else:
// no prices, no holds, no storage, no retries.
import type { TokenMeters } from "@gr/models";
import type { PicoUsd } from "@gr/money";

/** What an adapter must be able to remember across a restart, and nothing secret. */
export type Operation = Readonly<Record<string, string | number | boolean | null>>;

export interface ImageJob {
  readonly kind: "image";
  /** Our id of the request, sent along so that either side can find it in its logs. */
  readonly requestId: string;
  /** The model's name at the provider. */
  readonly model: string;
  readonly prompt: string;
  /** 1 to 10; an adapter whose provider makes fewer at once fans out. */
  readonly count: number;
  /** WIDTHxHEIGHT; absent when the model takes no size. */
  readonly size?: string;
  /** Absent when the model takes no quality. */
  readonly quality?: "low" | "medium" | "high";
}

/** Video joins here as a second kind. */
export type MediaJob = ImageJob;

export interface MediaOutput {
  /** As the provider made it; nobody has looked inside yet. */
  readonly bytes: Buffer;
}

/** What the provider says it used or billed. Absent parts were not reported. */
export interface ReportedUsage {
  readonly tokens?: TokenMeters;
  readonly billed?: PicoUsd;
}

export type Progress =
  | { readonly state: "pending"; readonly operation: Operation; readonly pollAfterMs: number }
  | {
      readonly state: "succeeded";
      /** Exactly as many as the job asked for. */
      readonly outputs: readonly MediaOutput[];
      readonly usage?: ReportedUsage;
    };

/**
 * All methods but `cancel` reject with ProviderError and with nothing else; its kind says whether the job failed,
 * was blocked, or may still be running. All of them end soon after the signal is aborted.
 */
export interface MediaProvider {
  /** As the catalogue's routes name it. */
  readonly name: string;
  /** Starts a job. Called at most once per request: it may be billed from here on. */
  submit(job: MediaJob, signal: AbortSignal): Promise<Progress>;
  /** Asks how a job is doing; may be called again after a restart, by another process. */
  poll(operation: Operation, signal: AbortSignal): Promise<Progress>;
  /** Asks the provider to give a job up. No promise that it will; never rejects for a job that has ended. */
  cancel(operation: Operation, signal: AbortSignal): Promise<void>;
  /**
   * What the provider billed for a request of ours, undefined when it knows of no bill (yet). Absent for providers
   * that cannot be asked.
   */
  readonly lookUp?: (requestId: string, signal: AbortSignal) => Promise<PicoUsd | undefined>;
}
