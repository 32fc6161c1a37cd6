// parseInSlices is JSON.parse for long bodies, with the same values and the same refusals, and with the layout of an object. It pauses
// after each slice, so its caller may stop there. The text must have passed json-guard.ts: nesting, names and numbers are short.
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const SPACE = 0x20;
const LAST_ASCII = 0x7f;
const LOWER_U = 0x75;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** Bytes of a long string that are decoded at a time; of a cut one, the only ones. */
const PIECE = 64 * 1024;
/** Bytes of ASCII without escapes that become a string in one step. The largest picture is one such run. */
const LONGEST_RUN = 32 * 1024 * 1024;
/** Cost between two pauses: bytes, plus this many for each value. */
const SLICE = 1024 * 1024;
const BYTES_PER_VALUE = 256;

type Container = unknown[] | Record<string, unknown>;

/** `cut`: only the beginning of a long string, for readers of short fields: a string costs as much memory as its bytes. */
export type LongStrings = "whole" | "cut";

/** Lengths of cut members before the cut, by their object. */
const lengths = new WeakMap<object, Map<string, number>>();

/** Returns the length of a member, also of a cut one; 0 if it is no string. */
export function stringLengthIn(object: Readonly<Record<string, unknown>>, name: string): number {
  const value = object[name];
  if (typeof value !== "string") return 0;
  return lengths.get(object)?.get(name) ?? value.length;
}

/** Positions of a member in the bytes; ends are exclusive. The key's span excludes its quotes. */
export interface Member {
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}

export interface ObjectLayout {
  /** Position of "{". */
  readonly open: number;
  /** Position of "}". */
  readonly close: number;
  /** Members in the order of the bytes, duplicates included. */
  readonly members: readonly Member[];
}

export interface ParsedJson {
  readonly value: unknown;
  /** Undefined if the value is no object. */
  readonly layout: ObjectLayout | undefined;
}

/**
 * Pauses (yields) about every millisecond.
 * @param json valid UTF-8
 * @throws SyntaxError
 */
export function* parseInSlices(
  json: Buffer,
  longStrings: LongStrings = "whole",
): Generator<undefined, ParsedJson> {
  const parser = new Parser(json, longStrings === "cut");
  while (!parser.runSlice()) yield;
  return parser;
}

/** Tokens that may follow. "more" is a comma or the end of the container. */
type Expected = "value" | "value or end" | "name" | "name or end" | "colon" | "more" | "nothing";

class Parser implements ParsedJson {
  value: unknown;
  layout: { open: number; close: number; members: Member[] } | undefined;
  readonly #json: Buffer;
  readonly #open: Container[] = [];
  /** Current name of each open object; the innermost is the last. */
  readonly #names: string[] = [];
  #at = 0;
  #expected: Expected = "value";
  /** The string that is being read, up to its current run; undefined outside of strings. */
  #text: string | undefined;
  #isName = false;
  /** Begin of the current run of ASCII without escapes. */
  #run: number | undefined;
  readonly #cuts: boolean;
  /** Length of the omitted parts. */
  #omitted = 0;
  #budget = 0;
  /** Positions of the current member of the outermost object. */
  #keyStart = 0;
  #keyEnd = 0;
  #valueStart = 0;

  constructor(json: Buffer, cuts: boolean) {
    this.#json = json;
    this.#cuts = cuts;
  }

  /** @returns true after the end of the text */
  runSlice(): boolean {
    this.#budget = SLICE;
    while (this.#budget > 0) {
      if (this.#text !== undefined) {
        this.#piece();
        continue;
      }
      const from = this.#at;
      this.#skipSpace();
      this.#budget -= this.#at - from + BYTES_PER_VALUE;
      const byte = this.#json[this.#at];
      if (byte === undefined) {
        if (this.#expected !== "nothing") throw new SyntaxError("the text ends too early");
        return true;
      }
      // The pause may be within whitespace.
      if (byte > SPACE) this.#token(byte);
    }
    return false;
  }

  #skipSpace(): void {
    const end = Math.min(this.#json.length, this.#at + SLICE);
    while (this.#at < end && isSpace(this.#json[this.#at] as number)) this.#at += 1;
    const byte = this.#json[this.#at];
    if (byte !== undefined && byte <= SPACE && !isSpace(byte)) throw this.#unexpected();
  }

  #token(byte: number): void {
    switch (this.#expected) {
      case "value or end":
        if (byte === CLOSE_BRACKET) this.#close();
        else this.#begin(byte);
        break;
      case "value":
        this.#begin(byte);
        break;
      case "name or end":
        if (byte === CLOSE_BRACE) this.#close();
        else this.#beginName(byte);
        break;
      case "name":
        this.#beginName(byte);
        break;
      case "colon":
        if (byte !== COLON) throw this.#unexpected();
        this.#at += 1;
        this.#expected = "value";
        break;
      case "more":
        this.#more(byte);
        break;
      default:
        throw this.#unexpected();
    }
  }

  #begin(byte: number): void {
    if (this.#open.length === 1) this.#valueStart = this.#at;
    if (byte === QUOTE) this.#beginString(false);
    else if (byte === OPEN_BRACE) {
      if (this.#open.length === 0) this.layout = { open: this.#at, close: this.#at, members: [] };
      this.#enter({}, "name or end");
    } else if (byte === OPEN_BRACKET) this.#enter([], "value or end");
    else this.#scalar();
  }

  #enter(container: Container, expected: Expected): void {
    this.#at += 1;
    this.#open.push(container);
    this.#expected = expected;
  }

  /** A number, true, false or null. */
  #scalar(): void {
    let end = this.#at;
    for (let byte = this.#json[end]; byte !== undefined && !endsScalar(byte); byte = this.#json[end])
      end += 1;
    if (end === this.#at) throw this.#unexpected();
    const value: unknown = JSON.parse(this.#json.toString("latin1", this.#at, end));
    this.#at = end;
    this.#put(value);
  }

  #beginName(byte: number): void {
    if (byte !== QUOTE) throw this.#unexpected();
    this.#beginString(true);
  }

  #beginString(isName: boolean): void {
    this.#at += 1;
    this.#text = "";
    this.#omitted = 0;
    this.#isName = isName;
    if (isName && this.#open.length === 1) this.#keyStart = this.#at;
  }

  #more(byte: number): void {
    const isArray = Array.isArray(this.#open.at(-1));
    if (byte === (isArray ? CLOSE_BRACKET : CLOSE_BRACE)) this.#close();
    else if (byte === COMMA) {
      this.#at += 1;
      this.#expected = isArray ? "value" : "name";
    } else throw this.#unexpected();
  }

  #close(): void {
    if (this.layout !== undefined && this.#open.length === 1) this.layout.close = this.#at;
    this.#at += 1;
    this.#put(this.#open.pop());
  }

  #put(value: unknown): void {
    const container = this.#open.at(-1);
    this.#expected = container === undefined ? "nothing" : "more";
    if (container === undefined) this.value = value;
    else if (Array.isArray(container)) container.push(value);
    else {
      const name = this.#names.pop() as string;
      container[name] = value;
      if (this.#open.length === 1) this.#addMember();
      if (this.#omitted > 0 && typeof value === "string") recordLength(container, name, value, this.#omitted);
    }
  }

  #addMember(): void {
    const [keyStart, keyEnd, valueStart] = [this.#keyStart, this.#keyEnd, this.#valueStart];
    this.layout?.members.push({ keyStart, keyEnd, valueStart, valueEnd: this.#at });
  }

  /** Reads on in a string: to its end, or a piece of it. */
  #piece(): void {
    const json = this.#json;
    const start = this.#at;
    const full = start + PIECE;
    let end = start;
    let isEscaped = false;
    let bits = 0;
    for (let byte = json[end]; byte !== QUOTE; byte = json[end]) {
      if (byte === undefined || byte < SPACE) throw this.#unexpected();
      // Neither an escape nor a character may be cut in two.
      if (end >= full && (byte & 0xc0) !== 0x80) break;
      bits |= byte;
      if (byte === BACKSLASH) {
        isEscaped = true;
        end += json[end + 1] === LOWER_U ? 6 : 2;
      } else end += 1;
    }
    this.#budget -= end - start;
    this.#at = end;
    if (isEscaped || bits > LAST_ASCII) {
      this.#endRun(start);
      const spelt = json.toString("utf8", start, end);
      this.#add(isEscaped ? (JSON.parse(`"${spelt}"`) as string) : spelt);
    } else {
      this.#run ??= start;
      if (end - this.#run >= LONGEST_RUN) this.#endRun(end);
    }
    if (json[end] === QUOTE) this.#endString();
  }

  #endString(): void {
    this.#endRun(this.#at);
    if (this.#isName && this.#open.length === 1) this.#keyEnd = this.#at;
    this.#at += 1;
    const text = this.#text as string;
    this.#text = undefined;
    if (this.#isName) this.#endName(text);
    else this.#put(text);
    this.#omitted = 0;
  }

  /** Adds the run to the string, in one step: many short strings would be copied by the garbage collector. */
  #endRun(end: number): void {
    const from = this.#run;
    if (from === undefined) return;
    this.#run = undefined;
    const text = this.#text as string;
    const room = this.#cuts ? Math.max(0, PIECE - text.length) : LONGEST_RUN + PIECE;
    const to = Math.min(end, from + room);
    this.#text = text + this.#json.toString("latin1", from, to);
    this.#omitted += end - to;
  }

  #add(more: string): void {
    const text = this.#text as string;
    if (this.#cuts && text.length >= PIECE) this.#omitted += more.length;
    else this.#text = text + more;
  }

  #endName(name: string): void {
    this.#names.push(name);
    this.#expected = "colon";
  }

  #unexpected(): SyntaxError {
    return new SyntaxError(`unexpected byte at ${this.#at}`);
  }
}

function recordLength(object: object, name: string, shown: string, omitted: number): void {
  const known = lengths.get(object) ?? new Map<string, number>();
  lengths.set(object, known.set(name, shown.length + omitted));
}

function isSpace(byte: number): boolean {
  return byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function endsScalar(byte: number): boolean {
  return byte <= SPACE || byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET;
}
