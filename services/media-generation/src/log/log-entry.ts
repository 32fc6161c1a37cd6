// LogEntry is a job of this service in its client's view: the request, the attempts, the outcome, the charge.
// It never contains our cost.
import type { Credits, PicoUsd } from "@gr/money";
import type { Reason } from "@gr/proto";
import type { RequestState } from "@gr/request-record";
import type { AttemptTrace, GenerationRequest, MediaOrder } from "../generation/generation.ts";
import { previewNameOf } from "../storage/media-name.ts";

export interface LogEntry extends Pick<MediaOrder, "id" | "accountId" | "keyId" | "kind" | "model"> {
  readonly status: RequestState;
  readonly request: GenerationRequest;
  /** Names of the files: existing, expected or deleted. */
  readonly outputs: readonly string[];
  /** Names of the thumbnails and posters: existing or deleted. */
  readonly previews: readonly string[];
  /** Error that the client received; undefined while the request runs, and after a success. */
  readonly error: { readonly reason: Reason; readonly message: string } | undefined;
  /** A provider has accepted its jobs. False of an ended request whose provider answers at once. */
  readonly isAccepted: boolean;
  /** Whole percent of a running request, if its provider reports it. */
  readonly progress: number | undefined;
  /** Provider of the last attempt, or of the running one. */
  readonly provider: string;
  /** Ended attempts, oldest first; empty for rows of versions before 0.3. */
  readonly attempts: readonly AttemptTrace[];
  readonly priceVersion: string;
  /** Price of the whole request. */
  readonly price: PicoUsd;
  /** Undefined for a running request. */
  readonly charge: Credits | undefined;
  /** Unix milliseconds. */
  readonly createdAt: number;
  /** Undefined for a running request. */
  readonly finishedAt: number | undefined;
  /** The client deleted the files and the prompt. */
  readonly deleted: boolean;
  /** The retention period is over, and the files were deleted. */
  readonly expired: boolean;
}

/** Returns the preview of a file of the entry; undefined if there is none. */
export function previewOf({ previews }: LogEntry, name: string): string | undefined {
  return previews.find((preview) => preview === previewNameOf(name));
}

/** Names of the files that the client can fetch. */
export function filesOf({ status, deleted, expired, outputs }: LogEntry): readonly string[] {
  return status === "succeeded" && !deleted && !expired ? outputs : [];
}
