// Text faults that a word in a message requests, of any model and in either API. README.md lists their bills.
import type { TextFault, TextModel } from "./models.ts";

/** Fault instead of an answer, or within an answer. */
export interface TextFaults {
  readonly fault: TextFault | "rate-limited" | undefined;
  /** Number of tokens before a reset. */
  readonly tokensBeforeReset: number;
  /** The arguments of calls, and values for schemas, end early: they are no JSON. */
  readonly badJson: boolean;
}

const TOKENS_BEFORE_RESET = 3;
const WORDS: readonly (readonly [word: string, fault: NonNullable<TextFaults["fault"]>])[] = [
  ["#fail", "error"],
  ["#429", "rate-limited"],
  ["#hang", "hang"],
  ["#reset", "reset"],
  ["#no-usage", "no-usage"],
];

/** The model's own fault has priority. */
export function readFaults(model: TextModel, message: string): TextFaults {
  const words = new Set(message.match(/#[a-z0-9-]+/g));
  const after = /#reset=(\d{1,5})(?!\d)/.exec(message)?.[1];
  return {
    fault: model.fault ?? WORDS.find(([word]) => words.has(word))?.[1],
    tokensBeforeReset: after === undefined ? TOKENS_BEFORE_RESET : Number(after),
    badJson: words.has("#bad-json"),
  };
}
