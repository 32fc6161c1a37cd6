// StrayNames are set variables that are no setting and nearly have the name of one. Such a variable has no effect, so its
// operator learns of it.
import { closest, distance } from "fastest-levenshtein";
import type { Environment } from "./config.ts";

/** Shorter names, such as HOST and PORT, are near to names that have nothing to do with the router. */
const SHORTEST = 9;
const MOST_EDITS = 2;

/** Returns a sentence for each stray name. @param settings names of all variables with an effect */
export function strayNames(settings: Iterable<string>, env: Environment): string[] {
  const known = new Set(settings);
  const names = [...known].filter((name) => name.length >= SHORTEST);
  return Object.entries(env).flatMap(([name, value]) => {
    if (!value || known.has(name) || names.length === 0 || name.length < SHORTEST - MOST_EDITS) return [];
    const nearest = closest(name.toUpperCase(), names);
    if (distance(name.toUpperCase(), nearest) > MOST_EDITS) return [];
    return [`${name} is no setting and has no effect; did you mean ${nearest}?`];
  });
}
