// Faults of text that a message asks for by a word, of any model and in either API. README.md says what each is billed.
import type { TextFault, TextModel } from "./models.ts";

/** What a request does instead of answering, or how its answer is spoilt. */
export interface TextFaults {
  readonly fault: TextFault | "rate-limited" | undefined;
  /** Of a reset: the tokens made before it. */
  readonly tokensBeforeReset: number;
  /** The arguments of calls, and values for schemas, break off: they are no JSON. */
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

/** The model's own fault comes first. */
export function readFaults(model: TextModel, message: string): TextFaults {
  const words = new Set(message.match(/#[a-z0-9-]+/g));
  const after = /#reset=(\d{1,5})(?!\d)/.exec(message)?.[1];
  return {
    fault: model.fault ?? WORDS.find(([word]) => words.has(word))?.[1],
    tokensBeforeReset: after === undefined ? TOKENS_BEFORE_RESET : Number(after),
    badJson: words.has("#bad-json"),
  };
}
