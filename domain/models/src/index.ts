// What a model of the catalogue costs and accepts. The catalogue lists it and the services that serve it charge it,
// so both must mean the same.
export { type AskedTogether, acceptsTogether, type DefaultValues, defaultsOf } from "./accepted.ts";
export { acceptedInputs, needsImage, TAKES_IMAGES } from "./inputs.ts";
export {
  type ImageMeters,
  isExact,
  priceOf,
  priceOfImageRequest,
  priceOfImages,
  priceOfTokens,
  priceOfUse,
  priceOfVideoRequest,
  type Quote,
  type Reported,
  type TokenMeters,
  type VideoMeters,
} from "./price.ts";
export { charactersOf, MOST_PROMPT_CHARACTERS } from "./prompt.ts";
export { PROVIDER_ABILITIES, type ProviderAbility } from "./provider-ability.ts";
export { acceptsSize, makesSize, parseSize, type Size } from "./size.ts";
export { dearestTokenPrice, tokenPriceAt } from "./token-price.ts";
