// JsonGuard refuses JSON while it arrives. It refuses unbounded costs (nesting, values, names, numbers), and ambiguous
// objects: with a repeated member, of which JSON.parse uses the last and other readers the first, or with __proto__.
// Every byte is read once. Invalid JSON is the parser's task.
import { ServiceError } from "@gr/proto";
import { z } from "zod";

/** Limits far beyond the requests of any client library, long histories and deep schemas of tools included. */
export const JSON_LIMITS = {
  /** Arrays and objects within each other. */
  depth: 128,
  /** Members of objects and elements of arrays, together. */
  values: 100_000,
  /** Members of one object. */
  members: 20_000,
  /** Bytes of a member's name, as it is spelt. */
  nameBytes: 10_000,
  /** Bytes of a number. */
  numberBytes: 1_000,
} as const;

/** Longest part of a client's own names in an error, in characters. */
const LONGEST_PATH = 200;

/**
 * Length from which the end of a string is searched natively; for shorter strings the byte-by-byte search is faster.
 */
const SHORT_STRING = 32;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const SPACE = 0x20;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

const NOTHING = Buffer.alloc(0);

/** An object that has begun and not ended. */
interface OpenObject {
  /** Name of the current member; undefined before the first. */
  name: string | undefined;
  /** Names of earlier members, created at the second one. */
  earlier: Set<string> | undefined;
}

/** An open container; for an array, the index of the current element. */
type Level = OpenObject | number;

/** @throws ServiceError invalid_json; `param` is the path of a member that is there twice, or is __proto__. */
export function guardJson(json: Buffer): void {
  new JsonGuard().push(json);
}

export interface JsonRules {
  /** Limit of values, as in JSON_LIMITS. */
  readonly values: number;
  /** Members with the name of an earlier one. */
  readonly repeated: "refused" | "accepted";
}

export const OF_REQUESTS: JsonRules = { values: JSON_LIMITS.values, repeated: "refused" };

/** Place of a string that is a value. */
export interface StringPlace {
  /** Arrays and objects around it. */
  readonly depth: number;
  /** Name of the outermost object's member that it is in; undefined in an array. */
  readonly field: string | undefined;
  /** Name of the member that it is the value of; undefined for an element of an array. */
  readonly name: string | undefined;
}

/** Receives the strings of a JSON text that are values while the guard passes over them. */
export interface StringWatcher {
  /** The bytes of `chunk` in a string, as they are spelt. @param isLast the string ends there */
  string(place: StringPlace, chunk: Buffer, from: number, to: number, isLast: boolean): void;
}

export class JsonGuard {
  readonly #watcher: StringWatcher | undefined;
  readonly #rules: JsonRules;
  readonly #levels: Level[] = [];
  #values = 0;
  #keyIsNext = false;
  #inString = false;
  /** True if the first byte of the next chunk is escaped by a backslash. */
  #escaped = false;
  /** The string is the name of a member of this object. */
  #named: OpenObject | undefined;
  /** Part of the name in earlier chunks. */
  #nameBefore: Buffer | undefined;
  #numberBytes = 0;

  constructor(rules = OF_REQUESTS, watcher?: StringWatcher) {
    this.#rules = rules;
    this.#watcher = watcher;
  }

  /** Looks at the next bytes of one JSON text. @throws as guardJson */
  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) at = this.#inString ? this.#string(chunk, at) : this.#structure(chunk, at);
  }

  /** @returns where a string begins, behind its quote, or the end of the chunk */
  #structure(chunk: Buffer, from: number): number {
    for (let at = from; at < chunk.length; at += 1) {
      const byte = chunk[at] as number;
      switch (byte) {
        case QUOTE: {
          const level = this.#keyIsNext ? this.#levels.at(-1) : undefined;
          this.#named = typeof level === "object" ? level : undefined;
          this.#inString = true;
          this.#numberBytes = 0;
          return at + 1;
        }
        case OPEN_BRACE:
          this.#open({ name: undefined, earlier: undefined });
          break;
        case OPEN_BRACKET:
          this.#open(0);
          break;
        case CLOSE_BRACE:
        case CLOSE_BRACKET:
          this.#levels.pop();
          this.#keyIsNext = false;
          this.#numberBytes = 0;
          break;
        case COMMA:
          this.#next();
          break;
        default:
          if (byte <= SPACE || byte === COLON) this.#numberBytes = 0;
          else this.#number();
      }
    }
    return chunk.length;
  }

  #open(level: Level): void {
    if (this.#levels.length === JSON_LIMITS.depth) {
      throw tooMuch(`is nested more than ${JSON_LIMITS.depth} levels deep`);
    }
    this.#levels.push(level);
    this.#keyIsNext = typeof level === "object";
    this.#numberBytes = 0;
    this.#count();
  }

  #next(): void {
    const level = this.#levels.at(-1);
    this.#keyIsNext = typeof level === "object";
    if (typeof level === "number") this.#levels[this.#levels.length - 1] = level + 1;
    this.#numberBytes = 0;
    this.#count();
  }

  /** Each value but the outermost follows an opening or a comma; empty arrays and objects count as if they had one. */
  #count(): void {
    this.#values += 1;
    const { values } = this.#rules;
    if (this.#values > values) {
      throw tooMuch(`has more than ${values.toLocaleString("en")} values`);
    }
  }

  #number(): void {
    this.#numberBytes += 1;
    if (this.#numberBytes > JSON_LIMITS.numberBytes) {
      throw tooMuch(`has a number of more than ${JSON_LIMITS.numberBytes.toLocaleString("en")} digits`);
    }
  }

  /** @returns the position behind the string, or the end of the chunk */
  #string(chunk: Buffer, from: number): number {
    let at = from;
    if (this.#escaped) {
      this.#escaped = false;
      at += 1;
    }
    const end = endOfString(chunk, at);
    const isLast = end < chunk.length;
    if (this.#watcher !== undefined && this.#named === undefined) {
      this.#watcher.string(this.#place(), chunk, from, Math.min(end, chunk.length), isLast);
    }
    if (isLast) {
      this.#inString = false;
      if (this.#named !== undefined) this.#name(this.#named, this.#wholeName(chunk, from, end));
      this.#named = undefined;
      return end + 1;
    }
    // A backslash at the end of the chunk escapes the next byte.
    this.#escaped = end > chunk.length;
    if (this.#named !== undefined) this.#nameBefore = this.#nameSoFar(chunk, from, chunk.length);
    return chunk.length;
  }

  #place(): StringPlace {
    const [outermost, innermost] = [this.#levels[0], this.#levels.at(-1)];
    return { depth: this.#levels.length, field: nameIn(outermost), name: nameIn(innermost) };
  }

  /** Returns the name as spelt; most names are within one chunk. */
  #wholeName(chunk: Buffer, from: number, end: number): string {
    if (this.#nameBefore !== undefined) return this.#nameSoFar(chunk, from, end).toString();
    refuseLongName(end - from);
    return chunk.toString("utf8", from, end);
  }

  #nameSoFar(chunk: Buffer, from: number, end: number): Buffer {
    const before = this.#nameBefore ?? NOTHING;
    this.#nameBefore = undefined;
    refuseLongName(before.length + end - from);
    return Buffer.concat([before, chunk.subarray(from, end)]);
  }

  /** Moves on to the next member of the object. */
  #name(object: OpenObject, spelt: string): void {
    const name = readName(spelt);
    if (object.name !== undefined) {
      object.earlier ??= new Set();
      object.earlier.add(object.name);
    }
    if ((object.earlier?.size ?? 0) >= JSON_LIMITS.members) {
      throw tooMuch(`has an object with more than ${JSON_LIMITS.members.toLocaleString("en")} fields`);
    }
    object.name = name;
    this.#keyIsNext = false;
    const isRepeated = this.#rules.repeated === "refused" && object.earlier?.has(name) === true;
    if (isRepeated || name === "__proto__") throw unclear(this.#levels.map(placeIn), isRepeated);
  }
}

function refuseLongName(bytes: number): void {
  if (bytes <= JSON_LIMITS.nameBytes) return;
  throw tooMuch(`has a field whose name is longer than ${JSON_LIMITS.nameBytes.toLocaleString("en")} bytes`);
}

function tooMuch(what: string): ServiceError {
  return new ServiceError("invalid_json", `The body ${what}.`);
}

function unclear(path: (string | number)[], isRepeated: boolean): ServiceError {
  const param = z.core.toDotPath(path).slice(0, LONGEST_PATH);
  const message = isRepeated
    ? `The body has the field "${param}" twice.`
    : `The body has the field "${param}", a name that no field may have.`;
  return new ServiceError("invalid_json", message, { param });
}

function nameIn(level: Level | undefined): string | undefined {
  return typeof level === "object" ? level.name : undefined;
}

function placeIn(level: Level): string | number {
  return typeof level === "number" ? level : (level.name ?? "");
}

/** Position of the closing quote of the string that opens at `open`; at or behind the end when there is none. */
export function endOfJsonString(json: Buffer, open: number): number {
  return endOfString(json, open + 1);
}

/** @param from position within a string, not of an escaped byte; @returns as endOfJsonString */
function endOfString(json: Buffer, from: number): number {
  let at = from;
  for (let byte = json[at]; byte !== undefined && byte !== QUOTE; byte = json[at]) {
    if (at - from > SHORT_STRING) return endOfLongString(json, at);
    at += byte === BACKSLASH ? 2 : 1;
  }
  return at;
}

/** @param at as `from` of endOfString */
function endOfLongString(json: Buffer, at: number): number {
  for (let from = at; ; ) {
    const quote = json.indexOf(QUOTE, from);
    const end = quote < 0 ? json.length : quote;
    let backslashes = 0;
    while (end - backslashes > at && json[end - backslashes - 1] === BACKSLASH) backslashes += 1;
    const isEscaped = backslashes % 2 === 1;
    if (quote < 0) return isEscaped ? end + 1 : end;
    if (!isEscaped) return quote;
    from = quote + 1;
  }
}

/** The name between two quotes, whichever way it is spelt. */
function readName(spelt: string): string {
  if (!spelt.includes("\\")) return spelt;
  try {
    return JSON.parse(`"${spelt}"`) as string;
  } catch {
    // No string of JSON, so the whole is invalid and the parser reports it.
    return spelt;
  }
}
