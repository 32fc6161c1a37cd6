// How long a prompt may be.

/** For images and videos, whatever the model. */
export const MOST_PROMPT_CHARACTERS = 20_000;

/** Code points: what a person would count, emoji included. Texts far beyond all limits are not walked through. */
export function charactersOf(text: string): number {
  if (text.length > 2 * MOST_PROMPT_CHARACTERS) return text.length;
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
