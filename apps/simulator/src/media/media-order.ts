// What a provider's wire format hands to the room of media: everything that was asked for, and what it costs there.
import type { StatedUpstream } from "../bill/bill.ts";
import type { PicoUsd } from "../bill/prices.ts";
import type { PictureFormat } from "../drawing/picture.ts";

/** What a model does instead of its work, whatever the prompt. */
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
  /** More than 0. */
  readonly seconds: number;
}

export interface Billed {
  readonly picoUsd: PicoUsd;
  /** What the provider counts, where it does. */
  readonly inputTokens?: number;
  readonly outputTokens?: number;
}

export interface MediaOrder {
  /** What the job is called, where its caller says so; else the room names it. */
  readonly jobId?: string;
  /** As the bill names it. */
  readonly model: string;
  /** Upstream whose statement has the cost; undefined for the others. */
  readonly upstream?: StatedUpstream;
  /** What the bill calls the request: the caller's own id where it sent one. */
  readonly requestId: string;
  readonly prompt: string;
  readonly size: MediaSize;
  readonly wanted: PicturesWanted | VideoWanted;
  /** Files that came with the request, in their order. */
  readonly inputs: readonly Buffer[];
  readonly fault?: MediaFault | undefined;
  /** By the provider's own rules, for so many of what was wanted. Called once, at the end of the work. */
  readonly bill: (made: number) => Billed;
}
