// Parts of the catalogue that the price tests read: the seed and the requests that each model accepts.
// No program imports this door.
export { requestsOf } from "./accepted-requests.ts";
export { offeredModels } from "./offer.ts";
export { loadSeed, SEED_DIRECTORY } from "./seed.ts";
