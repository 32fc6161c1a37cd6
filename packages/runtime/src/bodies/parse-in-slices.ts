// parseInSlices is JSON.parse for long bodies, with the same values and the same refusals. It pauses after each slice,
// so its caller may stop there. The text must have passed json-guard.ts: nesting, names and numbers are short.
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const SPACE = 0x20;
const LOWER_U = 0x75;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** Bytes of a long string that are decoded at a time. */
const PIECE = 64 * 1024;
/** Cost between two pauses: bytes, plus this many for each value. */
const SLICE = 1024 * 1024;
const BYTES_PER_VALUE = 256;

type Container = unknown[] | Record<string, unknown>;

/**
 * Pauses (yields) about every millisecond.
 * @param json valid UTF-8
 * @returns the value
 * @throws SyntaxError
 */
export function* parseInSlices(json: Buffer): Generator<undefined, unknown> {
  const parser = new Parser(json);
  while (!parser.runSlice()) yield;
  return parser.value;
}

/** Tokens that may follow. "more" is a comma or the end of the container. */
type Expected = "value" | "value or end" | "name" | "name or end" | "colon" | "more" | "nothing";

class Parser {
  value: unknown;
  readonly #json: Buffer;
  readonly #open: Container[] = [];
  /** Current name of each open object; the innermost is the last. */
  readonly #names: string[] = [];
  #at = 0;
  #expected: Expected = "value";
  /** Pieces of the string that is being read, and whether it is a name. */
  #text: string | undefined;
  #isName = false;
  #budget = 0;

  constructor(json: Buffer) {
    this.#json = json;
  }

  /** @returns true after the end of the text */
  runSlice(): boolean {
    this.#budget = SLICE;
    while (this.#budget > 0) {
      if (this.#text !== undefined) {
        this.#piece(this.#text);
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
    if (byte === QUOTE) {
      this.#at += 1;
      this.#text = "";
      this.#isName = false;
    } else if (byte === OPEN_BRACE) this.#enter({}, "name or end");
    else if (byte === OPEN_BRACKET) this.#enter([], "value or end");
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
    this.#at += 1;
    this.#text = "";
    this.#isName = true;
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
    this.#at += 1;
    this.#put(this.#open.pop());
  }

  #put(value: unknown): void {
    const container = this.#open.at(-1);
    this.#expected = container === undefined ? "nothing" : "more";
    if (container === undefined) this.value = value;
    else if (Array.isArray(container)) container.push(value);
    else container[this.#names.pop() as string] = value;
  }

  /** Reads on in a string: to its end, or a piece of it. */
  #piece(before: string): void {
    const json = this.#json;
    const start = this.#at;
    const full = start + PIECE;
    let end = start;
    let isEscaped = false;
    for (let byte = json[end]; byte !== QUOTE; byte = json[end]) {
      if (byte === undefined || byte < SPACE) throw this.#unexpected();
      // Neither an escape nor a character may be cut in two.
      if (end >= full && (byte & 0xc0) !== 0x80) break;
      if (byte === BACKSLASH) {
        isEscaped = true;
        end += json[end + 1] === LOWER_U ? 6 : 2;
      } else end += 1;
    }
    const spelt = json.toString("utf8", start, end);
    const text = before + (isEscaped ? (JSON.parse(`"${spelt}"`) as string) : spelt);
    this.#budget -= end - start;
    this.#at = end;
    if (json[end] !== QUOTE) {
      this.#text = text;
      return;
    }
    this.#at += 1;
    this.#text = undefined;
    if (this.#isName) this.#endName(text);
    else this.#put(text);
  }

  #endName(name: string): void {
    this.#names.push(name);
    this.#expected = "colon";
  }

  #unexpected(): SyntaxError {
    return new SyntaxError(`unexpected byte at ${this.#at}`);
  }
}

function isSpace(byte: number): boolean {
  return byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function endsScalar(byte: number): boolean {
  return byte <= SPACE || byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET;
}
