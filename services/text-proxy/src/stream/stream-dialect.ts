// StreamDialect is the common interface of both APIs' streams, with a fast search for events that can matter.
import type { TokenMeters } from "@gr/models";
import type { PicoUsd } from "@gr/money";
import type { ServiceError } from "@gr/proto";
import type { UpstreamKind } from "@gr/text-upstream";
import type { Splice } from "../json/json-splice.ts";
import type { Usage } from "../upstream/usage.ts";

/** Meaning of one event for the money. */
export type Verdict =
  | { readonly type: "plain" }
  /** A comment or an event without data. */
  | { readonly type: "empty" }
  /** A usage, which may be the last one. */
  | { readonly type: "usage"; readonly usage: Usage }
  /** The end of all events that matter. A usage within this event is the last one. */
  | { readonly type: "final"; readonly usage: Usage | undefined; readonly outputBytes: number | undefined }
  | {
      readonly type: "failed";
      /** Message in words of this module, for the log: the upstream's words may quote the prompt. */
      readonly problem: string;
      readonly usage: Usage | undefined;
      readonly own: boolean;
      /** HTTP status in the words of the error, as gateways send it after the start of their answer. */
      readonly status?: number | undefined;
    };

export const PLAIN: Verdict = { type: "plain" };
export const EMPTY: Verdict = { type: "empty" };

/** Facts about the stream that an event of our own needs. */
export interface StreamSoFar {
  /** The first block with data; undefined before it. */
  readonly first: Buffer | undefined;
  /** The last block that was sent on. */
  readonly last: Buffer | undefined;
}

export interface StreamDialect {
  /** A block of events without any of these cannot matter. */
  readonly markers: readonly Buffer[];
  /** True if a stream that ends without a final event is complete. */
  readonly endsWithUsage: boolean;
  read(event: Buffer, kind: UpstreamKind): Verdict;
  /** Changes to a final event without a usage; none if the API sends the usage in a separate event. */
  addUsage(event: Buffer, usage: string): readonly Splice[];
  /** The event that carries a usage of our own. */
  usageEvent(soFar: StreamSoFar, meters: TokenMeters, cost: PicoUsd): Buffer;
  /** Returns the event that ends a stream early. @param usage our own, if the client pays for the delivered part */
  failureEvent(soFar: StreamSoFar, error: ServiceError, usage?: string): Buffer;
  /** Returns the upstream's finish reason within a block of events; empty if there is none. */
  finishReason(block: Buffer): string;
  /** Returns the event for a continuation by another upstream. @param attempt its number */
  continuedEvent(soFar: StreamSoFar, attempt: number): Buffer;
  /** Returns the upstream's id of the generation from its first event; empty if there is none. */
  generationId(soFar: StreamSoFar): string;
}

const COLON = 0x3a;
const SPACE = 0x20;
const LETTER_N = 0x6e;

/** Returns true if a block can hold an event that matters: a marker occurs, and not as a key with the value null. */
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
