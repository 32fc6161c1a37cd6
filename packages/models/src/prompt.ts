// Prompt limits bound the length of a prompt.

/** Limit for images and videos of all models. */
export const MOST_PROMPT_CHARACTERS = 20_000;

/**
 * Returns the code points, the characters as people count them, emoji included. Texts far beyond all limits are not
 * counted exactly.
 */
export function charactersOf(text: string): number {
  if (text.length > 2 * MOST_PROMPT_CHARACTERS) return text.length;
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
