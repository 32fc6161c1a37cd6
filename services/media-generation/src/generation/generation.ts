// A generation as the log keeps it. Its state says how the work ended; `booked_at` says whether the money has followed.
//   running → succeeded | failed | blocked, or → unknown → failed
import type { PicoUsd } from "@gr/money";
import type { Bill, Ending, FoundBill, Kinds, Order, Route } from "@gr/paid-request";
import type { JobKind } from "../providers/provider.ts";
import type { OutputFormat, Quality, ResponseFormat } from "../request/image-request.ts";
import type { ImageFile } from "../storage/image-file.ts";
import type { SavedParts } from "./run-parts.ts";

export type State = "running" | "unknown" | "succeeded" | "failed" | "blocked";

export interface GenerationRequest {
  /** Absent for b64_ephemeral, of which nothing is kept. */
  readonly prompt?: string;
  readonly n: number;
  readonly size?: string;
  readonly quality?: Quality;
  readonly output_format: OutputFormat;
  readonly response_format: ResponseFormat;
}

export interface MediaOrder extends Order {
  readonly kind: JobKind;
  readonly request: GenerationRequest;
  /** List price. Rounded up to credits it is the hold, and the charge if the generation succeeds. */
  readonly price: PicoUsd;
  /** Names under which the outputs will be hosted; empty when nothing is to be kept. */
  readonly outputs: readonly string[];
  /** Unix milliseconds. */
  readonly createdAt: number;
}

/** What the library of paid requests deals with here. */
export interface MediaKinds extends Kinds {
  order: MediaOrder;
  product: MediaProduct;
  bill: Bill;
  found: FoundBill;
}

export interface MediaProduct {
  /** Who made it. */
  readonly route: Route;
  readonly files: readonly ImageFile[];
  /** Names under which they are hosted; fewer than the order's when fewer were made. */
  readonly outputs: readonly string[];
  /** Unix milliseconds. */
  readonly finishedAt: number;
}

/** A row of the log. */
export interface Generation {
  readonly order: MediaOrder;
  /** Whom the current attempt goes to. */
  readonly route: Route;
  readonly state: State;
  /** What the provider needs in order to be asked again; null when there is nothing to ask for. */
  readonly operations: SavedParts | null;
  readonly unbilledLookUps: number;
  readonly ended: Ended | null;
}

export interface Ended {
  readonly ending: Ending;
  /** Unix milliseconds. */
  readonly finishedAt: number;
}
