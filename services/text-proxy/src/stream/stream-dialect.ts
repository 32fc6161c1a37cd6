// What the two APIs have in common as streams, and the cheap search that decides whether an event can matter at all.
import type { TokenMeters } from "@gr/models";
import type { PicoUsd } from "@gr/money";
import type { ServiceError } from "@gr/proto";
import type { UpstreamKind } from "@gr/text-upstream";
import type { Splice } from "../json/json-splice.ts";
import type { Usage } from "../upstream/usage.ts";

/** What one event means for the money. */
export type Verdict =
  | { readonly type: "plain" }
  /** A comment or an event without data. */
  | { readonly type: "empty" }
  /** A usage that may be the last one. */
  | { readonly type: "usage"; readonly usage: Usage }
  /** Nothing that matters follows; a usage of its own, if it has one, is the last. */
  | { readonly type: "final"; readonly usage: Usage | undefined; readonly outputBytes: number | undefined }
  | {
      readonly type: "failed";
      /** Words of this module, for the log: the upstream's own may quote the prompt. */
      readonly problem: string;
      readonly usage: Usage | undefined;
      readonly own: boolean;
      /** The HTTP status that the error has in its words, as gateways give it once their answer has begun. */
      readonly status?: number | undefined;
    };

export const PLAIN: Verdict = { type: "plain" };
export const EMPTY: Verdict = { type: "empty" };

/** What is known of the stream when an event of our own must be made. */
export interface StreamSoFar {
  /** The first block that had data; undefined before it. */
  readonly first: Buffer | undefined;
  /** The last block that was passed on. */
  readonly last: Buffer | undefined;
}

export interface StreamDialect {
  /** A block of events without any of these cannot matter. */
  readonly markers: readonly Buffer[];
  /** Whether the stream is whole when it ends without a final event. */
  readonly endsWithUsage: boolean;
  read(event: Buffer, kind: UpstreamKind): Verdict;
  /** Changes to the final event when it came without a usage; none when the API has an event apart for it. */
  addUsage(event: Buffer, usage: string): readonly Splice[];
  /** The event that carries a usage of our own. */
  usageEvent(soFar: StreamSoFar, meters: TokenMeters, cost: PicoUsd): Buffer;
  /** The event that ends a stream before its end. @param usage of ours, when the client pays for what it got */
  failureEvent(soFar: StreamSoFar, error: ServiceError, usage?: string): Buffer;
  /** Why the upstream ended its answer, as a block of its events says it; empty when it does not. */
  finishReason(block: Buffer): string;
  /** Says that the answer goes on from another upstream. @param attempt its number */
  continuedEvent(soFar: StreamSoFar, attempt: number): Buffer;
  /** The upstream's id of the generation, as its first event says it; empty when it does not. */
  generationId(soFar: StreamSoFar): string;
}

const COLON = 0x3a;
const SPACE = 0x20;
const LETTER_N = 0x6e;

/** Whether a block can hold an event that matters: one of the markers occurs, other than as a key whose value is null. */
export function matters(block: Buffer, markers: readonly Buffer[]): boolean {
  for (const marker of markers) {
    for (let at = block.indexOf(marker); at >= 0; at = block.indexOf(marker, at + 1)) {
      if (!isNullMember(block, at + marker.length)) return true;
    }
  }
  return false;
}

function isNullMember(block: Buffer, afterKey: number): boolean {
  let at = afterKey;
  while (block[at] === SPACE) at += 1;
  if (block[at] !== COLON) return false;
  at += 1;
  while (block[at] === SPACE) at += 1;
  return block[at] === LETTER_N;
}
