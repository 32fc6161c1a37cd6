// Functions of the catalogue for the command line, without a running catalogue: read and check files, price a model.
// They need no database and no settings.

export { typicalPriceOf } from "./model-pricing.ts";
export { readOwnCatalog } from "./own-catalog.ts";
export { readCatalogFolder } from "./own-folder.ts";
export { readSeed, readSeedFiles, SEED_DIRECTORY } from "./seed.ts";
