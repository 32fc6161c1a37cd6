// Finds the members of a JSON object in its bytes, without decoding, for changes without re-serialising. The bytes
// must be text that JSON.parse has accepted: then every span is exact, with any whitespace and escapes. Other bytes
// throw an error. No read is beyond their end.
import { endOfJsonString, type Member, type ObjectLayout } from "@gr/runtime";

export type { Member, ObjectLayout };

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const SPACE = 0x20;

/** Finds the members of the object that begins at `from`, whitespace aside. @throws RangeError when none does */
export function scanObject(json: Buffer, from = 0): ObjectLayout {
  const open = skipSpace(json, from);
  if (json[open] !== OPEN_BRACE) throw new RangeError(`no JSON object begins at byte ${from}`);
  const members: Member[] = [];
  let at = skipSpace(json, open + 1);
  while (json[at] !== CLOSE_BRACE) {
    if (json[at] === COMMA) at = skipSpace(json, at + 1);
    if (json[at] !== QUOTE) throw new RangeError(`no key begins at byte ${at}`);
    const keyStart = at + 1;
    const afterKey = endOfString(json, at);
    // A colon and whitespace separate key and value.
    const valueStart = skipSpace(json, skipSpace(json, afterKey) + 1);
    const valueEnd = endOfValue(json, valueStart);
    members.push({ keyStart, keyEnd: afterKey - 1, valueStart, valueEnd });
    at = skipSpace(json, valueEnd);
  }
  return { open, close: at, members };
}

/** Returns the member that JSON.parse would use under this name: the last one. The name must be ASCII. */
export function findMember(json: Buffer, { members }: ObjectLayout, name: string): Member | undefined {
  for (let index = members.length - 1; index >= 0; index -= 1) {
    const member = members[index];
    if (member !== undefined && keyIs(json, member, name)) return member;
  }
  return undefined;
}

/** The source text of a member's value. */
export function valueText(json: Buffer, { valueStart, valueEnd }: Member): string {
  return json.toString("utf8", valueStart, valueEnd);
}

function keyIs(json: Buffer, { keyStart, keyEnd }: Member, name: string): boolean {
  const length = keyEnd - keyStart;
  if (length < name.length) return false;
  if (length === name.length) {
    for (let index = 0; index < length; index += 1) {
      if (json[keyStart + index] !== name.charCodeAt(index)) return false;
    }
    return true;
  }
  // A longer key can still be the name, if it is written with escapes.
  for (let at = keyStart; at < keyEnd; at += 1) {
    if (json[at] === BACKSLASH) return JSON.parse(`"${json.toString("utf8", keyStart, keyEnd)}"`) === name;
  }
  return false;
}

function skipSpace(json: Buffer, from: number): number {
  let at = from;
  // JSON's whitespace is space, tab, line feed and carriage return; no token begins with a lower byte.
  for (let byte = json[at]; byte !== undefined && byte <= SPACE; byte = json[at]) at += 1;
  return at;
}

function endOfValue(json: Buffer, start: number): number {
  const first = json[start];
  if (first === QUOTE) return endOfString(json, start);
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return endOfNested(json, start);
  let at = start;
  for (let byte = json[at]; byte !== undefined; byte = json[at]) {
    if (byte <= SPACE || byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET) break;
    at += 1;
  }
  if (at === start) throw new RangeError(`no value begins at byte ${start}`);
  return at;
}

function endOfNested(json: Buffer, start: number): number {
  let depth = 0;
  let at = start;
  for (let byte = json[at]; byte !== undefined; byte = json[at]) {
    if (byte === QUOTE) {
      at = endOfString(json, at);
      continue;
    }
    at += 1;
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth += 1;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth -= 1;
      if (depth === 0) return at;
    }
  }
  throw new RangeError(`the value at byte ${start} has no end`);
}

/** Position after the closing quote of the string with its opening quote at `open`. */
function endOfString(json: Buffer, open: number): number {
  const close = endOfJsonString(json, open);
  if (close >= json.length) throw new RangeError(`the string at byte ${open} has no end`);
  return close + 1;
}
