// Paths of the data folders that the catalogue reads at run time.
// A bundle is one file in src/, so the paths are relative to src/ and no module of a folder computes them.
import { join } from "node:path";

export const SEED_DIRECTORY = join(import.meta.dirname, "../seed");
export const TEXT_PRICE_DIRECTORY = join(import.meta.dirname, "../text-prices");
