// Generation is a row of the log. Its state is the end of the work; `booked_at` is the time of its booking.
// running → succeeded | failed | blocked, or → unknown → failed
import type { ResponseFormat } from "@gr/identity";
import type { PicoUsd } from "@gr/money";
import type { Bill, Ending, FoundBill, Kinds, Order, Route } from "@gr/paid-request";
import type { Price } from "@gr/proto/catalog";
import type { JobKind } from "../providers/provider.ts";
import type { FileFormat } from "../storage/media-name.ts";
import type { Shape } from "./meters.ts";
import type { SavedParts } from "./run-parts.ts";

export type State = "running" | "unknown" | "succeeded" | "failed" | "blocked";

export interface GenerationRequest extends Shape {
  /** Absent for b64_ephemeral, which stores nothing. */
  readonly prompt?: string;
  readonly n: number;
  readonly output_format: FileFormat;
  readonly response_format: ResponseFormat;
}

/** An ended attempt, as the log has it. Times are whole milliseconds. */
export interface AttemptTrace extends Route {
  /** One word: delivered, or the reason of the failure. */
  readonly outcome: string;
  /** From the creation of the order to the begin of the attempt. */
  readonly beganMs: number;
  readonly tookMs: number;
  /** From the begin until the last of its jobs succeeded; absent if none did. */
  readonly madeMs?: number;
}

export interface MediaOrder extends Order {
  readonly kind: JobKind;
  readonly request: GenerationRequest;
  /** List price. Rounded up to credits it is the hold, and the charge if the generation succeeds. */
  readonly price: PicoUsd;
  /**
   * Price rule of the order. Undefined for an order that was read from its row: then only today's price is available.
   */
  readonly rule?: Price | undefined;
  /** Names of the future hosted files; empty if no file is to be stored. */
  readonly outputs: readonly string[];
  /** The client does not wait for the answer, and may cancel the generation. */
  readonly asynchronous: boolean;
  /** Address that receives a webhook about the end. Its row has it; an order that was read from its row does not. */
  readonly callbackUrl?: string | undefined;
  /** Unix milliseconds. */
  readonly createdAt: number;
  /** Ended attempts, oldest first. MediaWork adds each; the next change of the row stores them. */
  readonly attempts: AttemptTrace[];
}

/** Types of media generation for the library of paid requests. */
export interface MediaKinds extends Kinds {
  order: MediaOrder;
  product: MediaProduct;
  bill: Bill;
  found: FoundBill;
}

/**
 * A video streams into the storage and is never whole in memory. Pictures, and files that
 * must not be stored, are in memory.
 */
export type OutputFile = ({ readonly bytes: Buffer } | { readonly storedAs: string }) & {
  /** Thumbnail or poster; absent for files that must not be stored. */
  readonly preview?: Buffer | undefined;
};

/** Tokens as the provider counted them. */
export interface CountedTokens {
  /** All input tokens. */
  readonly input: number;
  readonly output: number;
  /** Part of the input tokens. */
  readonly image_input: number;
}

export interface MediaProduct {
  /** Route of the provider that generated it. */
  readonly route: Route;
  readonly files: readonly OutputFile[];
  /** Names of the hosted files: fewer than the order's if the provider generated fewer. */
  readonly outputs: readonly string[];
  /** Names of the existing thumbnails and posters. */
  readonly previews: readonly string[];
  /** Undefined if the provider counts none. */
  readonly tokens: CountedTokens | undefined;
  /** Unix milliseconds. */
  readonly finishedAt: number;
  /** Milliseconds from the call of the provider until the last of its jobs succeeded. */
  readonly providerMs: number;
}

/** A row of the log. */
export interface Generation {
  readonly order: MediaOrder;
  /** Route of the current attempt. */
  readonly route: Route;
  readonly state: State;
  /** The provider's state for further polls; null if there is no job to poll. */
  readonly operations: SavedParts | null;
  readonly unbilledLookUps: number;
  /** Undefined if the provider counted none, and before the end. */
  readonly tokens: CountedTokens | undefined;
  /** The client has deleted it. A running generation is to be cancelled. */
  readonly deleted: boolean;
  readonly ended: Ended | null;
}

export interface Ended {
  readonly ending: Ending;
  /** Unix milliseconds. */
  readonly finishedAt: number;
}
