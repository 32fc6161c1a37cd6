// Lettering fits a text into a box: it folds missing characters, breaks lines, chooses the largest fitting size,
// and draws SVG paths. No character of the text ever reaches the markup, so nothing needs escaping.
import { FALLBACK_GLYPH, GLYPHS, type Glyph, GRID } from "./glyphs.ts";

/** A text set for drawing. `scale` is pixels per grid unit; the block is centred on x = 0 and starts at y = 0. */
export interface Lettering {
  readonly path: string;
  readonly scale: number;
  readonly height: number;
  readonly lines: readonly string[];
}

/** More characters than any picture can show; a longer prompt ends with an ellipsis. */
const LONGEST_TEXT = 2000;
const SMALLER = 0.9;

const FOLDED: ReadonlyMap<string, string> = new Map([
  ["‘", "'"],
  ["’", "'"],
  ["‚", ","],
  ["“", '"'],
  ["”", '"'],
  ["„", '"'],
  ["«", '"'],
  ["»", '"'],
  ["–", "-"],
  ["—", "-"],
  ["−", "-"],
  ["•", "*"],
  ["·", "."],
  ["×", "x"],
  ["÷", "/"],
  ["ß", "ss"],
  ["æ", "ae"],
  ["Æ", "AE"],
  ["ø", "o"],
  ["Ø", "O"],
  ["ł", "l"],
  ["Ł", "L"],
  ["đ", "d"],
  ["ı", "i"],
]);

/** Reduces a text to the font's characters: accents are dropped, typographic signs become plain ones. */
export function foldText(text: string): string {
  let folded = "";
  for (const character of text.normalize("NFKD").replace(/[\p{M}\p{Cf}]/gu, "")) {
    folded += FOLDED.get(character) ?? character;
  }
  return folded;
}

/** Sets `text` into a box of `width` × `height` pixels, between `largest` and `smallest` pixels per unit. */
export function setText(
  text: string,
  width: number,
  height: number,
  largest: number,
  smallest: number,
): Lettering {
  const short = text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}...` : text;
  const paragraphs = foldText(short)
    .split("\n")
    .map((line) => line.split(/\s+/u).filter((word) => word !== ""));
  let scale = largest;
  let lines = breakLines(paragraphs, width / scale);
  while (
    scale > smallest &&
    (blockHeight(lines.length) * scale > height || hasBrokenWord(lines, paragraphs))
  ) {
    scale = Math.max(smallest, scale * SMALLER);
    lines = breakLines(paragraphs, width / scale);
  }
  lines = cutLines(lines, Math.max(1, Math.floor(height / scale / GRID.lineHeight)), width / scale);
  return { path: drawLines(lines), scale, height: blockHeight(lines.length) * scale, lines };
}

function blockHeight(lines: number): number {
  return lines * GRID.lineHeight;
}

function glyphOf(character: string): Glyph {
  return GLYPHS.get(character) ?? FALLBACK_GLYPH;
}

/** The width of a line in grid units. */
function measure(line: string): number {
  let width = 0;
  for (const character of line) {
    width += character === " " ? GRID.space : glyphOf(character)[0] + GRID.letterGap;
  }
  return width;
}

function breakLines(paragraphs: readonly (readonly string[])[], room: number): string[] {
  const lines: string[] = [];
  for (const words of paragraphs) {
    let line = "";
    for (const word of words) {
      const longer = line === "" ? word : `${line} ${word}`;
      if (measure(longer) <= room) {
        line = longer;
        continue;
      }
      if (line !== "") lines.push(line);
      const pieces = breakWord(word, room);
      lines.push(...pieces.slice(0, -1));
      line = pieces.at(-1) ?? "";
    }
    if (line !== "") lines.push(line);
  }
  return lines;
}

function breakWord(word: string, room: number): string[] {
  const pieces: string[] = [];
  let piece = "";
  for (const character of word) {
    if (piece !== "" && measure(piece + character) > room) {
      pieces.push(piece);
      piece = "";
    }
    piece += character;
  }
  pieces.push(piece);
  return pieces;
}

/** Returns true if a word is split between lines: a smaller size is then more readable. */
function hasBrokenWord(lines: readonly string[], paragraphs: readonly (readonly string[])[]): boolean {
  let words = 0;
  let pieces = 0;
  for (const paragraph of paragraphs) words += paragraph.length;
  for (const line of lines) pieces += line.split(" ").length;
  return pieces > words;
}

function cutLines(lines: string[], most: number, room: number): string[] {
  if (lines.length <= most) return lines;
  const kept = lines.slice(0, most);
  let last = kept.at(-1) ?? "";
  while (last !== "" && measure(`${last}...`) > room) last = last.slice(0, -1);
  kept[kept.length - 1] = `${last.trimEnd()}...`;
  return kept;
}

function drawLines(lines: readonly string[]): string {
  const drawn: string[] = [];
  for (const [index, line] of lines.entries()) {
    let x = -(measure(line) - GRID.letterGap) / 2;
    const y = index * GRID.lineHeight + 3;
    for (const character of line) {
      if (character === " ") {
        x += GRID.space;
        continue;
      }
      const [width, path] = glyphOf(character);
      drawn.push(`<path transform="translate(${x.toFixed(2)} ${y})" d="${path}"/>`);
      x += width + GRID.letterGap;
    }
  }
  return drawn.join("");
}
