// What every module shares whose requests cost money: the claim of an Idempotency-Key, the settings of holds.
export { claimOf } from "./claim.ts";
export { holdConfig } from "./hold-config.ts";
