// Refuses JSON in which an object has a member twice. Of such two one reader takes the last, as JSON.parse does, and
// another the first, so nobody can say what was asked for. Runs before the parser and leaves to it what is no JSON.
import { ServiceError } from "@gr/proto";
import { z } from "zod";

/** Nobody nests so deep on purpose, and parsers take most time and memory for depth. */
const DEEPEST = 1_000;
/** Of names that a client has invented, an error repeats this much. */
const LONGEST_PATH = 200;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** An object or array that has begun and not ended. */
interface Level {
  /** Undefined for arrays. */
  readonly names: Set<string> | undefined;
  /** The member or element that the scan is in. */
  at: string | number;
}

/** @throws ServiceError invalid_json: a member is repeated (`param` is its path), or the nesting is too deep to parse. */
export function refuseRepeatedMembers(json: Buffer): void {
  const repeated = repeatedMember(json);
  if (repeated === undefined) return;
  const param = z.core.toDotPath(repeated).slice(0, LONGEST_PATH);
  throw new ServiceError("invalid_json", `The body has the field "${param}" twice.`, { param });
}

/** Where the first repetition is, such as ["messages", 1, "role"]; undefined without one. */
function repeatedMember(json: Buffer): (string | number)[] | undefined {
  const levels: Level[] = [];
  let level: Level | undefined;
  let keyIsNext = false;
  for (let at = 0; at < json.length; at += 1) {
    switch (json[at]) {
      case QUOTE: {
        const end = endOfString(json, at);
        if (keyIsNext && level?.names !== undefined) {
          level.at = nameOf(json, at, end);
          if (level.names.has(level.at)) return levels.map((each) => each.at);
          level.names.add(level.at);
          keyIsNext = false;
        }
        at = end;
        break;
      }
      case OPEN_BRACE:
      case OPEN_BRACKET:
        if (levels.length === DEEPEST) throw tooDeep();
        keyIsNext = json[at] === OPEN_BRACE;
        level = keyIsNext ? { names: new Set(), at: "" } : { names: undefined, at: 0 };
        levels.push(level);
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        levels.pop();
        level = levels.at(-1);
        keyIsNext = false;
        break;
      case COMMA:
        keyIsNext = level?.names !== undefined;
        if (typeof level?.at === "number") level.at += 1;
        break;
      default:
    }
  }
  return undefined;
}

/** Position of the closing quote of the string that opens at `open`, or of the end when there is none. */
function endOfString(json: Buffer, open: number): number {
  for (let from = open + 1; ; ) {
    const quote = json.indexOf(QUOTE, from);
    if (quote < 0) return json.length;
    // `from` never lies behind a backslash that escapes it, so the run of backslashes decides.
    let backslashes = 0;
    while (quote - backslashes > from && json[quote - backslashes - 1] === BACKSLASH) backslashes += 1;
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

function tooDeep(): ServiceError {
  return new ServiceError("invalid_json", `The body is nested more than ${DEEPEST} levels deep.`);
}
