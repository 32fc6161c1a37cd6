// A generation as whoever asked for it sees it in the log: what was asked, what became of it, what it cost. Never who made
// it, nor what that cost us.
import type { Credits } from "@gr/money";
import type { Reason } from "@gr/proto";
import type { GenerationRequest, MediaOrder } from "../generation/generation.ts";
import type { JobKind } from "../providers/provider.ts";

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
  /** What its caller was told; undefined while it runs, and when it has succeeded. */
  readonly error: { readonly reason: Reason; readonly message: string } | undefined;
  /** Undefined while it runs. */
  readonly charge: Credits | undefined;
  /** Unix milliseconds. */
  readonly createdAt: number;
  /** Undefined while it runs. */
  readonly finishedAt: number | undefined;
  /** Its caller had its files and its prompt removed. */
  readonly deleted: boolean;
}

/** Names of the files that it has for its caller. */
export function filesOf({ status, deleted, outputs }: LogEntry): readonly string[] {
  return status === "succeeded" && !deleted ? outputs : [];
}
