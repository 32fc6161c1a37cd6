// How a mutant changes a file: one place, which must be there exactly once.
import { fileURLToPath } from "node:url";
import type { Mutant } from "./mutant.ts";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export function pathOf({ file }: Mutant, root: string = ROOT): string {
  return `${root}${file}`;
}

/** @throws Error when the place is not there, or not only once: then the mutant has to follow the code */
export function patched(source: string, { file, find, replace }: Mutant): string {
  const places = source.split(find).length - 1;
  if (places !== 1) throw new Error(`${file} has ${places} places of: ${find}`);
  return source.replace(find, () => replace);
}
