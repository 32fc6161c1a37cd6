// Changes single values in JSON bytes and copies every other byte unchanged.
import { findMember, type ObjectLayout } from "./json-members.ts";

/** Replaces the bytes from `start` to `end` (exclusive) with `text`. */
export interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Sets a member of an object to a value that is already JSON: replaces it, or adds it as the last one. */
export function setMember(json: Buffer, object: ObjectLayout, name: string, value: string): Splice {
  const member = findMember(json, object, name);
  if (member !== undefined) return { start: member.valueStart, end: member.valueEnd, text: value };
  const last = object.members.at(-1);
  const at = last?.valueEnd ?? object.close;
  return { start: at, end: at, text: `${last === undefined ? "" : ","}"${name}":${value}` };
}

/** Applies splices that do not overlap; those at the same place keep their order. */
export function applySplices(bytes: Buffer, splices: readonly Splice[]): Buffer {
  if (splices.length === 0) return bytes;
  const ordered = splices.length === 1 ? splices : splices.toSorted((a, b) => a.start - b.start);
  let length = bytes.length;
  for (const { start, end, text } of ordered) length += Buffer.byteLength(text) - (end - start);
  const changed = Buffer.allocUnsafe(length);
  let from = 0;
  let to = 0;
  for (const { start, end, text } of ordered) {
    to += bytes.copy(changed, to, from, start);
    to += changed.write(text, to);
    from = end;
  }
  bytes.copy(changed, to, from);
  return changed;
}
