// A generation as the log keeps it. Its state says how the work ended; `booked_at` says whether the money has followed.
//   running → succeeded | failed | blocked, or → unknown → failed
import type { PicoUsd } from "@gr/money";
import type { Bill, Ending, FoundBill, Kinds, Order, Route } from "@gr/paid-request";
import type { Price } from "@gr/proto/catalog";
import type { JobKind } from "../providers/provider.ts";
import type { ResponseFormat } from "../request/media-fields.ts";
import type { FileFormat } from "../storage/media-name.ts";
import type { Shape } from "./meters.ts";
import type { SavedParts } from "./run-parts.ts";

export type State = "running" | "unknown" | "succeeded" | "failed" | "blocked";

export interface GenerationRequest extends Shape {
  /** Absent for b64_ephemeral, of which nothing is kept. */
  readonly prompt?: string;
  readonly n: number;
  readonly output_format: FileFormat;
  readonly response_format: ResponseFormat;
}

export interface MediaOrder extends Order {
  readonly kind: JobKind;
  readonly request: GenerationRequest;
  /** List price. Rounded up to credits it is the hold, and the charge if the generation succeeds. */
  readonly price: PicoUsd;
  /** What it was priced by. Undefined where it was read from its row: then only today's price is at hand. */
  readonly rule?: Price | undefined;
  /** Names under which the outputs will be hosted; empty when nothing is to be kept. */
  readonly outputs: readonly string[];
  /** Its caller does not wait for it, and may give it up. */
  readonly asynchronous: boolean;
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

/** A video is stored as it comes, never whole in memory; pictures, and what must not be kept, are here. */
export type MadeFile = ({ readonly bytes: Buffer } | { readonly storedAs: string }) & {
  /** A small picture of it; not of what must not be kept. */
  readonly preview?: Buffer | undefined;
};

export interface MediaProduct {
  /** Who made it. */
  readonly route: Route;
  readonly files: readonly MadeFile[];
  /** Names under which they are hosted; fewer than the order's when fewer were made. */
  readonly outputs: readonly string[];
  /** Names of the thumbnails and posters that there are. */
  readonly previews: readonly string[];
  /** Unix milliseconds. */
  readonly finishedAt: number;
  /** From asking the provider until the last of its jobs had succeeded. */
  readonly providerMs: number;
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
  /** Its caller wants nothing of it any more: while it runs, it is to be given up. */
  readonly deleted: boolean;
  readonly ended: Ended | null;
}

export interface Ended {
  readonly ending: Ending;
  /** Unix milliseconds. */
  readonly finishedAt: number;
}
