// Words in a prompt that let any model of any provider fail. README.md lists their effects.

const WORDS = [
  "#429",
  "#5xx-once",
  "#expired-url",
  "#fail",
  "#hang",
  "#nsfw",
  "#nsfw-output",
  "#partial",
  "#slow",
  "#timeout-after-accept",
] as const;

export type PromptWord = (typeof WORDS)[number];

const WORD = new RegExp(`(?:${WORDS.join("|")})(?![\\w-])`, "g");

export function wordsIn(prompt: string): ReadonlySet<PromptWord> {
  return new Set((prompt.match(WORD) ?? []).flatMap((found) => WORDS.find((word) => word === found) ?? []));
}
