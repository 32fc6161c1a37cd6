// Functions of the catalogue for the command line, without a running catalogue: read and check files, price a model.
// They need no database and no settings.

export { readOwnCatalog } from "./files/own-catalog.ts";
export { readSeed, readSeedFiles, SEED_DIRECTORY } from "./files/seed.ts";
export { typicalPriceOf } from "./prices/model-pricing.ts";
export { readCatalogFolder } from "./sources/own-folder.ts";
