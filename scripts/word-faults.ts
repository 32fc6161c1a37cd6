// Word faults are the measurable part of our wording rules: nouns without a name, vague verbs, long sentences.
// A comment names its subject; the nouns below hide it. So does a string that people read: a description, an error, a
// text of a page.
// Code inside a text (`name`, fences, links) is not counted.
import jsTokens from "js-tokens";

const NOUNS = /^(what|whatever|who|whoever|whose|whom)$/i;
const OPENERS = 3;
const VERBS = new Set(
  [
    "give gives gave given giving take takes took taken taking bring brings brought bringing",
    "tell tells told telling say says said saying hear hears heard hearing know knows knew known knowing",
    "make makes made making go goes went gone going come comes came coming stand stands stood standing",
    "lie lies lay lain lying leave leaves left leaving",
  ].flatMap((line) => line.split(" ")),
);
const LONGEST_SENTENCE = 35;
export const NOUNS_PER_1000 = 2;
export const VERBS_PER_1000 = 3;
export const MEAN_SENTENCE = 15;

export interface WordFault {
  /** Of the file, from 1. */
  readonly line: number;
  readonly rule: "noun" | "opener" | "verb" | "sentence" | "string";
  readonly text: string;
}

export interface WordFigures {
  /** Words of comments and documents. */
  readonly words: number;
  readonly sentences: number;
  /** Words of strings for people. */
  readonly stringWords: number;
  readonly faults: readonly WordFault[];
}

interface TextPart {
  readonly line: number;
  readonly text: string;
}

/** Measures the comments of a source file, or the text of a Markdown file. @param file its name decides the syntax */
export function wordFigures(file: string, source: string): WordFigures {
  if (file.endsWith(".json")) return stringFigures(describedStrings(source));
  const isText = file.endsWith(".md");
  const parts = isText ? markdownParts(source) : commentParts(file, source);
  const faults: WordFault[] = [];
  let words = 0;
  let sentences = 0;
  for (const { line, text } of parts) {
    let first = !isText;
    for (const sentence of sentencesOf(text)) {
      const found = wordsOf(sentence);
      words += found.length;
      if (found.length > 0) sentences += 1;
      if (found.length > LONGEST_SENTENCE) faults.push({ line, rule: "sentence", text: sentence });
      for (const [index, word] of found.entries()) {
        const rule = faultOf(word, first && index < OPENERS);
        if (rule !== undefined) faults.push({ line, rule, text: sentence });
      }
      first = false;
    }
  }
  const strings = stringFigures(/\.tsx?$/.test(file) && !isTest(file) ? sourceStrings(file, source) : []);
  return { words, sentences, stringWords: strings.stringWords, faults: [...faults, ...strings.faults] };
}

const isTest = (file: string) => /\.test\.tsx?$|(^|\/)test\//.test(file);

function stringFigures(parts: readonly TextPart[]): WordFigures {
  const faults: WordFault[] = [];
  let stringWords = 0;
  for (const { line, text } of parts) {
    const found = wordsOf(withoutCode(text));
    stringWords += found.length;
    for (const word of found) if (NOUNS.test(word)) faults.push({ line, rule: "string", text });
  }
  return { words: 0, sentences: 0, stringWords, faults };
}

const wordsOf = (text: string) => text.match(/[\p{L}\p{N}]+(?:['’.-][\p{L}\p{N}]+)*/gu) ?? [];

function faultOf(word: string, opens: boolean): WordFault["rule"] | undefined {
  if (NOUNS.test(word)) return opens ? "opener" : "noun";
  return VERBS.has(word.toLowerCase()) ? "verb" : undefined;
}

/** A sentence ends with a full stop, a question mark, or a colon or semicolon before a space. */
function sentencesOf(text: string): string[] {
  return text
    .split(/(?<=[.?!;])\s+(?=[\p{Lu}\p{N}`"'([])|\n{2,}|\s\|\s/u)
    .map((sentence) => sentence.replace(/\s+/g, " ").trim())
    .filter((sentence) => sentence !== "");
}

function withoutCode(text: string): string {
  return text
    .replace(/`[^`\n]*`/g, "X")
    .replace(/\]\([^)\n]*\)/g, "]")
    .replace(/https?:\/\/\S+/g, "X");
}

/** Each paragraph, list item and table row alone. */
function markdownParts(source: string): TextPart[] {
  const parts: TextPart[] = [];
  let open: { line: number; lines: string[] } | undefined;
  let fenced = false;
  const close = () => {
    if (open !== undefined) parts.push({ line: open.line, text: withoutCode(open.lines.join("\n")) });
    open = undefined;
  };
  for (const [index, line] of source.split("\n").entries()) {
    if (/^\s*(```|~~~)/.test(line)) {
      fenced = !fenced;
      close();
      continue;
    }
    if (fenced || line.startsWith("    ")) continue;
    if (line.trim() === "" || /^\s*([-*|#>]|\d+\.)\s?/.test(line)) close();
    if (line.trim() === "" || /^[\s|:-]+$/.test(line)) continue;
    open ??= { line: index + 1, lines: [] };
    open.lines.push(line.replace(/^\s*(?:[-*|#>]+|\d+\.)\s?/, ""));
  }
  close();
  return parts;
}

/** Adjacent line comments are one comment, and so is a block comment. A tag begins a sentence. */
function commentParts(file: string, source: string): TextPart[] {
  const comments = /\.[cm]?[jt]sx?$/.test(file) ? scriptComments(source) : lineComments(file, source);
  const parts: TextPart[] = [];
  let last = -1;
  for (const { line, text, block } of comments) {
    const body = withoutCode(text).replace(/@(?:param\s+\S+|returns|throws\s+\S+|\w+)/g, "\n\n");
    const before = parts.at(-1);
    if (!block && before !== undefined && last === line - 1) {
      parts[parts.length - 1] = { line: before.line, text: `${before.text}\n${body}` };
    } else parts.push({ line, text: body });
    last = block ? -1 : line;
  }
  return parts;
}

interface Comment extends TextPart {
  readonly block: boolean;
}

function scriptComments(source: string): Comment[] {
  const found: Comment[] = [];
  let line = 1;
  for (const { type, value } of jsTokens(source, { jsx: true })) {
    if (type === "SingleLineComment" && !isDirective(value)) {
      found.push({ line, text: value.replace(/^\/\/+\s?/, ""), block: false });
    }
    if (type === "MultiLineComment") {
      const text = value.slice(2, -2).replace(/^[ \t]*\*+[ \t]?/gm, "");
      found.push({ line, text: text.replace(/^\*/, ""), block: true });
    }
    line += value.split("\n").length - 1;
  }
  return found;
}

const isDirective = (comment: string) => /^\/\/\s*(biome-ignore|@ts-|#region|eslint)/.test(comment);

function lineComments(file: string, source: string): Comment[] {
  const mark = file.endsWith(".sql") ? /(?:^|\s)--\s?(.*)$/ : /(?:^|\s)\/\/\s?(.*)$/;
  return source.split("\n").flatMap((text, index) => {
    const found = mark.exec(text)?.[1];
    return found === undefined ? [] : [{ line: index + 1, text: found, block: false }];
  });
}

/** Members of an API description that people read. */
function describedStrings(source: string): TextPart[] {
  return source.split("\n").flatMap((line, index) => {
    const text = /^\s*"(?:description|summary)": (".*"),?$/.exec(line)?.[1];
    return text === undefined ? [] : [{ line: index + 1, text: JSON.parse(text) as string }];
  });
}

/** A call or a member before a string that people read: `.describe("…")`, `description: "…"`, an error's message. */
const BEFORE_STRING =
  /(?:\.describe\(|const(?:message|text)=|\b(?:description|summary|error|message):|ServiceError\([^,()]*,)$/;

/** Strings of descriptions and errors, and texts of pages. Parts that `+` joins are each a part. */
function sourceStrings(file: string, source: string): TextPart[] {
  const parts: TextPart[] = [];
  const tokens = file.endsWith("x") ? jsTokens(source, { jsx: true }) : jsTokens(source);
  let line = 1;
  let before = "";
  let joins = false;
  for (const { type, value } of tokens) {
    const isString = type === "StringLiteral" || /^(NoSubstitution)?Template/.test(type);
    const isContinued = joins && (before.endsWith("+") || /^Template(Middle|Tail)$/.test(type));
    const isOfPage = type === "JSXText" || (type === "JSXString" && value.includes(" "));
    if (isOfPage || (isString && (isContinued || BEFORE_STRING.test(before)))) {
      parts.push({ line, text: value.replace(/^["'`}]|["'`]$|\$\{$/g, "") });
      joins = isString;
    } else if (type !== "WhiteSpace" && type !== "LineTerminatorSequence" && !/Comment$/.test(type)) {
      joins = joins && (value === "+" || !/[,;]/.test(value));
      before = `${before}${value}`.slice(-80);
    }
    line += value.split("\n").length - 1;
  }
  return parts;
}
