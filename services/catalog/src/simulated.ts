// Parts of the catalogue that the price tests read: the seed and the requests that each model accepts.
// No program imports this door.

export { loadSeed, SEED_DIRECTORY } from "./files/seed.ts";
export { offeredModels } from "./offer/offer.ts";
export { requestsOf } from "./prices/accepted-requests.ts";
