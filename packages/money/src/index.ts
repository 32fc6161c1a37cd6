// The two money units, both integers in a bigint, and the only places where text or numbers become money.
// No Number arithmetic: a decimal becomes an integer by reading its digits.
export { ceilDiv } from "./ceil-div.ts";
export {
  CREDITS_PER_USD,
  type Credits,
  creditsOf,
  formatCredits,
  limitOfUsd,
  MAX_CREDITS,
  parseCredits,
} from "./credits.ts";
export { parseDecimal } from "./decimal.ts";
export { larger, smaller } from "./min-max.ts";
export {
  chargeOf,
  formatPicoUsd,
  LARGEST_COST,
  PICO_PER_CREDIT,
  PICO_PER_USD,
  type PicoUsd,
  parsePicoUsd,
} from "./pico-usd.ts";
