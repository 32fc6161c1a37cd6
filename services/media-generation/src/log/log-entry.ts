// A generation as whoever asked for it sees it in the log: what was asked, what became of it, what it cost. Never who made
// it, nor what that cost us.
import type { Credits, PicoUsd } from "@gr/money";
import type { Reason } from "@gr/proto";
import type { GenerationRequest, MediaOrder } from "../generation/generation.ts";
import type { JobKind } from "../providers/provider.ts";
import { previewNameOf } from "../storage/media-name.ts";

/**
 * - running: somebody works on it, or its charge is not committed yet
 * - succeeded: its files are there and paid for
 * - failed, blocked (by moderation): its caller was told an error, and pays nothing
 * - cancelled: its caller gave it up in time, and pays nothing
 */
export const STATUSES = ["running", "succeeded", "failed", "blocked", "cancelled"] as const;
export type Status = (typeof STATUSES)[number];

export const KINDS = ["image", "video"] as const satisfies readonly JobKind[];

export interface LogEntry extends Pick<MediaOrder, "id" | "accountId" | "keyId" | "kind" | "model"> {
  readonly status: Status;
  readonly request: GenerationRequest;
  /** Names of the files that there are, may come to be, or were removed. */
  readonly outputs: readonly string[];
  /** Names of the thumbnails and posters that there are, or were. */
  readonly previews: readonly string[];
  /** What its caller was told; undefined while it runs, and when it has succeeded. */
  readonly error: { readonly reason: Reason; readonly message: string } | undefined;
  /** Whole percent, while it runs, where its provider says. */
  readonly progress: number | undefined;
  readonly priceVersion: string;
  /** What the price makes of all that was asked for. */
  readonly price: PicoUsd;
  /** Undefined while it runs. */
  readonly charge: Credits | undefined;
  /** Unix milliseconds. */
  readonly createdAt: number;
  /** Undefined while it runs. */
  readonly finishedAt: number | undefined;
  /** Its caller had its files and its prompt removed. */
  readonly deleted: boolean;
  /** Its files had been kept long enough, and were removed. */
  readonly expired: boolean;
}

/** Of a file of the entry; undefined when there is none. */
export function previewOf({ previews }: LogEntry, name: string): string | undefined {
  return previews.find((preview) => preview === previewNameOf(name));
}

/** Names of the files that it has for its caller. */
export function filesOf({ status, deleted, expired, outputs }: LogEntry): readonly string[] {
  return status === "succeeded" && !deleted && !expired ? outputs : [];
}
