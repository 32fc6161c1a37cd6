// Material reads contents for values from a message: its numbers, its names, and facts about its pictures.
import type { Material } from "./json-example.ts";
import type { Picture } from "./picture-facts.ts";

const LONGEST_TEXT = 4_000;
const MOST_OF_EACH = 20;

export function materialOf(message: string, pictures: readonly Picture[]): Material {
  const text = message.slice(0, LONGEST_TEXT);
  return {
    text,
    names: namesIn(text),
    numbers: (text.match(/(?<![\w.])-?\d{1,12}(?:\.\d{1,6})?(?![\w])/g) ?? [])
      .slice(0, MOST_OF_EACH)
      .map(Number),
    facts: factsOf(pictures),
  };
}

/** Returns quoted texts, else capitalized words inside of a sentence: Paris, San Francisco. */
function namesIn(text: string): string[] {
  const quoted = [...text.matchAll(/["“”]([^"“”]{1,80})["“”]/g)].map(([, name = ""]) => name);
  const capitals =
    text.replaceAll(/ +/g, " ").match(/(?<=[\p{L}\p{N},;:)] )\p{Lu}[\p{L}'-]+(?: \p{Lu}[\p{L}'-]+)*/gu) ?? [];
  return (quoted.length > 0 ? quoted : capitals.filter((name) => name.length > 1)).slice(0, MOST_OF_EACH);
}

function factsOf(pictures: readonly Picture[]): Map<string, string | number> {
  const seen = pictures.find(({ look }) => look !== undefined)?.look;
  if (seen === undefined) return new Map();
  return new Map<string, string | number>([
    ["color", seen.color],
    ["width", seen.width],
    ["height", seen.height],
    ["format", seen.format],
  ]);
}
