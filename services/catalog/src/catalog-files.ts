// What the command line needs of the catalogue without a running one: reading and checking files, and what a model costs. No
// database, no settings.

export { readOwnCatalog } from "./files/own-catalog.ts";
export { readSeed, readSeedFiles, SEED_DIRECTORY } from "./files/seed.ts";
export { typicalPriceOf } from "./prices/model-pricing.ts";
export { readCatalogFolder } from "./sources/own-folder.ts";
