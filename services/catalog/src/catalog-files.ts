// What the command line needs of the catalogue without a running one: reading and checking files, and what a model costs. No
// database, no settings.

export { typicalPriceOf } from "./model-pricing.ts";
export { readOwnCatalog } from "./own-catalog.ts";
export { readCatalogFolder } from "./own-folder.ts";
export { readSeed, readSeedFiles, SEED_DIRECTORY } from "./seed.ts";
