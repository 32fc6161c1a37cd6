// MediaOrder is a parsed request of any provider's wire format for MediaRoom: all
// parameters, and the provider's price.
import type { StatedUpstream } from "../bill/bill.ts";
import type { PicoUsd } from "../bill/prices.ts";
import type { PictureFormat } from "../drawing/picture.ts";

/** Fault of a model, for any prompt. */
export type MediaFault = "error" | "blocked" | "hang";

export interface MediaSize {
  readonly width: number;
  readonly height: number;
}

export interface PicturesWanted {
  readonly kind: "image";
  readonly count: number;
  readonly format: PictureFormat;
  /** 0 to 100, for jpeg and webp; 100 when absent. */
  readonly compression?: number;
  readonly transparent?: boolean;
}

export interface VideoWanted {
  readonly kind: "video";
  /** Length, above 0. */
  readonly seconds: number;
}

export interface Billed {
  readonly picoUsd: PicoUsd;
  /** Tokens, if the provider counts them. */
  readonly inputTokens?: number;
  readonly outputTokens?: number;
}

export interface MediaOrder {
  /** Id of the job, if the client sets it; else the room creates one. */
  readonly jobId?: string;
  /** Name of the model on the bill. */
  readonly model: string;
  /** Upstream with the cost on its statement; undefined for the others. */
  readonly upstream?: StatedUpstream;
  /** Id of the request on the bill: the client's own if it sent one. */
  readonly requestId: string;
  readonly prompt: string;
  readonly size: MediaSize;
  readonly wanted: PicturesWanted | VideoWanted;
  /** Files of the request, in their order. */
  readonly inputs: readonly Buffer[];
  readonly fault?: MediaFault | undefined;
  /** Price by the provider's own rules for this number of results. Called once, at the end of the work. */
  readonly bill: (pictures: number) => Billed;
}
