// Refuses JSON that readers understand in two ways: an object with a member twice, of which one reader takes the last,
// as JSON.parse does, and another the first; and a member __proto__, which some make the object's prototype. Runs
// before the parser and leaves to it what is no JSON.
import { ServiceError } from "@gr/proto";
import { z } from "zod";

/** Of names that a client has invented, an error repeats this much. */
const LONGEST_PATH = 200;

/** From here on the end of a string is searched natively; shorter ones are faster byte by byte. */
const SHORT_STRING = 32;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** An object that has begun and not ended. */
interface OpenObject {
  /** Of the member that the scan is in; undefined before the first. */
  name: string | undefined;
  /** Made for the second member: bodies may be nested as deep as they are long. */
  earlier: Set<string> | undefined;
}

/** What has begun and not ended; of an array, the index of the element that the scan is in. */
type Level = OpenObject | number;

interface UnclearMember {
  /** Such as ["messages", 1, "role"]. */
  readonly path: (string | number)[];
  readonly isRepeated: boolean;
}

/** @throws ServiceError invalid_json; `param` is the path of the member. */
export function refuseRepeatedMembers(json: Buffer): void {
  const unclear = firstUnclear(json);
  if (unclear === undefined) return;
  const param = z.core.toDotPath(unclear.path).slice(0, LONGEST_PATH);
  const message = unclear.isRepeated
    ? `The body has the field "${param}" twice.`
    : `The body has the field "${param}", a name that no field may have.`;
  throw new ServiceError("invalid_json", message, { param });
}

function firstUnclear(json: Buffer): UnclearMember | undefined {
  const levels: Level[] = [];
  let keyIsNext = false;
  for (let at = 0; at < json.length; at += 1) {
    switch (json[at]) {
      case QUOTE: {
        const end = endOfJsonString(json, at);
        const level = keyIsNext ? levels.at(-1) : undefined;
        if (typeof level === "object") {
          const name = nameOf(json, at, end);
          const isRepeated = !isNew(name, level);
          if (isRepeated || name === "__proto__") return { path: levels.map(placeIn), isRepeated };
          keyIsNext = false;
        }
        at = end;
        break;
      }
      case OPEN_BRACE:
        levels.push({ name: undefined, earlier: undefined });
        keyIsNext = true;
        break;
      case OPEN_BRACKET:
        levels.push(0);
        keyIsNext = false;
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        levels.pop();
        keyIsNext = false;
        break;
      case COMMA: {
        const level = levels.at(-1);
        keyIsNext = typeof level === "object";
        if (typeof level === "number") levels[levels.length - 1] = level + 1;
        break;
      }
      default:
    }
  }
  return undefined;
}

/** Goes on to the next member of the object. */
function isNew(name: string, object: OpenObject): boolean {
  if (object.name !== undefined) {
    object.earlier ??= new Set();
    object.earlier.add(object.name);
  }
  object.name = name;
  return object.earlier?.has(name) !== true;
}

function placeIn(level: Level): string | number {
  return typeof level === "number" ? level : (level.name ?? "");
}

/** Position of the closing quote of the string that opens at `open`; at or behind the end when there is none. */
export function endOfJsonString(json: Buffer, open: number): number {
  let at = open + 1;
  for (let byte = json[at]; byte !== undefined && byte !== QUOTE; byte = json[at]) {
    if (at - open > SHORT_STRING) return endOfLongString(json, at);
    at += byte === BACKSLASH ? 2 : 1;
  }
  return at;
}

/** @param at within the string, and not at what a backslash escapes */
function endOfLongString(json: Buffer, at: number): number {
  for (let from = at; ; ) {
    const quote = json.indexOf(QUOTE, from);
    if (quote < 0) return json.length;
    let backslashes = 0;
    while (quote - backslashes > at && json[quote - backslashes - 1] === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return quote;
    from = quote + 1;
  }
}

/** The name between two quotes, whichever way it is spelt. */
function nameOf(json: Buffer, open: number, close: number): string {
  const spelt = json.toString("utf8", open + 1, close);
  if (!spelt.includes("\\")) return spelt;
  try {
    return JSON.parse(`"${spelt}"`) as string;
  } catch {
    // Not a string of JSON, so the whole is no JSON and the parser says so.
    return spelt;
  }
}
